/**
 * `status`: the last run and the next one, and for each merchant what is proven, missing and open; for people and for
 * alerts.
 */
import type { Command } from 'commander';
import type { Kysely } from 'kysely';
import { jobs } from '../../jobs/all.ts';
import { glanceAtQueue } from '../queue/glance.ts';
import { gravest, UsageError } from '../run/verdict/exit-codes.ts';
import { checkedText } from '../run/checked.ts';
import { clockNews } from '../run/clock-text.ts';
import { backfillsExitCode, backfillStatuses } from '../run/backfill/progress.ts';
import { lastRunsOf, type LastRuns } from '../run/last-runs.ts';
import { reasonsOfNotices } from '../run/verdict/notice-reasons.ts';
import { nextRun, type NextRun } from '../run/schedule/next-run.ts';
import { TIME_ZONE_ON_TRUST } from '../run/report.ts';
import { reasonOf, type KnownRun } from '../run/run-state.ts';
import { statusExitCode, statusOf, type MerchantStatus } from '../run/status.ts';
import type { Settings } from '../settings/settings.ts';
import { activeMerchants } from '../store/merchants.ts';
import type { OlderDaysComparison } from '../store/older-days.ts';
import type { DB } from '../store/engine/schema.ts';
import { platformSettings, print, withApp } from './context.ts';
import { queueText } from './output/queue-text.ts';
import { backfillText, failureTexts } from './output/backfill-text.ts';
import { noticeDocument } from './output/run-document.ts';
import { requestedText, spanText } from './output/run-text.ts';
import { runEnd } from './runs.ts';
import { lines, table } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const MISSING_SHOWN_MAX = 10;

/** Reads an age such as `26h` as ms. Throws `UsageError`. */
function parseAge(text: string): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit ?? ''];
  if (count === undefined || unitMs === undefined) {
    throw new UsageError(`--max-age ${text} is no age; write a number and m, h or d, like 90m, 26h or 2d.`);
  }
  return Number(count) * unitMs;
}

const HELP = `
Ends with 4 where data is or may be missing: a merchant's last good run is older than --max-age, the schedule's last run
did not end well (or was killed) and none made up for it, a range asked for with --from and --to is not read whole, or a
slice of a backfill has failed.
Else with 3 where something needs a person: an open break, an unreadable entry. Else with 0.

Example, for an alert:
  daybook status --max-age 26h || page-someone`;

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description(
      'the last run and the next; per merchant: which days are proven, what is missing, what is open',
    )
    .option('--max-age <age>', 'exit 4 when a merchant’s last good run is older, like 26h')
    .addHelpText('after', HELP)
    .action(async ({ maxAge }: { readonly maxAge?: string }, self: Command) => {
      const settings = platformSettings(self);
      const maxAgeMs = maxAge === undefined ? null : parseAge(maxAge);
      await withApp(settings, async ({ database: { db }, now }) => {
        const merchants = await readMerchants(db, settings);
        const times = timesOf(settings);
        const { zone } = times;
        const statuses = await statusOf(db, merchants, { zone, now: now(), maxAgeMs });
        const runs = await lastRunsOf(db, {
          ledgerJobs: jobs.filter(({ isLedger }) => isLedger).map(({ name }) => name),
          otherJobs: jobs.filter(({ isLedger }) => !isLedger).map(({ name }) => name),
          merchants,
          now: now(),
        });
        const scheduled = jobs.map(({ name, when }) => ({ job: name, when: when(settings.schedule) }));
        const next = nextRun(scheduled, settings.schedule.zone, now());
        const queue = settings.workers === 'queue' ? await glanceAtQueue(db) : undefined;
        const backfills = await backfillStatuses(db, { isOpen: true });
        const lastRun = runs.last && { ...runs.last, reason: reasonOf(runs.last) };
        print(self, {
          document: statuses.map((status) => ({
            ...status,
            notices: status.notices.map(noticeDocument),
            timeZoneProof: settings.platform.timeZoneProof,
            lastRun,
            nextRun: next,
            backfills,
          })),
          text: lines(
            runsText(runs, next, times),
            queue !== undefined && queueText(queue),
            ...backfills.flatMap((one) => [backfillText(one), ...failureTexts(one, times)]),
            clockText(runs),
            '',
            statusText(statuses, times, maxAge),
            settings.platform.timeZoneProof === 'trusted' && `\n${TIME_ZONE_ON_TRUST}`,
            `\n${times.note}`,
          ),
          exitCode: gravest([statusExitCode(statuses, runs), backfillsExitCode(backfills)]),
        });
      });
    });
}

/** The merchants whose ledgers are read: the active ones in the database, and the one in the settings. */
async function readMerchants(db: Kysely<DB>, { platform }: Settings): Promise<string[]> {
  const stored = await activeMerchants(db);
  const own = platform.merchant;
  return [...new Set([...stored, ...(own === null ? [] : [own.merchantNo])])].sort();
}

function runsText({ last, notMadeUpFor }: LastRuns, next: NextRun | null, times: Times): string {
  const told = (run: KnownRun): string => {
    const reason = reasonOf(run);
    const at = run.finishedAt ?? run.startedAt;
    return `run ${run.id}, ${run.command}, ${times.at(at)}, ${runEnd(run)}${reason === null ? '' : `: ${reason}`}`;
  };
  const others = notMadeUpFor.filter(({ id }) => id !== last?.id);
  return lines(
    `last run: ${last === null ? 'none yet' : told(last)}`,
    ...others.map((run) => `not made up for: ${told(run)}`),
    next !== null && `next of the schedule: ${next.job}, ${times.at(next.at)}`,
    (others.length > 0 || (last !== null && reasonOf(last) !== null)) &&
      'see `daybook runs ID` for all of it',
  );
}

/** What the last run found about the platform's clock, if it is off. */
function clockText({ last }: LastRuns): string | null {
  const [platformBehindMs, platformAheadMs] = ['platformBehindMs', 'platformAheadMs'].map((figure) =>
    Number(last?.figures[figure] ?? 0),
  );
  const news = clockNews({ platformBehindMs: platformBehindMs!, platformAheadMs: platformAheadMs! });
  return news === null ? null : `seen by run ${last!.id}: ${news}`;
}

/** One line if it is the same for all merchants, as it mostly is. */
function checkedLines(statuses: readonly MerchantStatus[]): string[] {
  const read = statuses.filter(({ lastGoodRunAt }) => lastGoodRunAt !== null);
  const byText = Map.groupBy(read, ({ checked }) => checkedText(checked));
  return [...byText].map(([text, own]) => {
    const of = byText.size === 1 ? '' : ` of ${own.map(({ merchantNo }) => merchantNo).join(', ')}`;
    return `checked${of} beyond the days read, by the last good run: ${text}`;
  });
}

function statusText(statuses: readonly MerchantStatus[], times: Times, maxAge: string | undefined): string {
  if (statuses.length === 0)
    return 'no merchant yet: set PLATFORM_MERCHANT_NO, or add one with `daybook merchants add`';
  const missing = statuses.flatMap(({ merchantNo, missing: spans }) =>
    spans.map((span) => `  ${merchantNo} ${spanText(span, times.zone)}: ${span.why}`),
  );
  const requested = statuses.flatMap((status) => status.requested);
  // A notice about two merchants is in the status of both.
  const notices = new Set(
    statuses.flatMap((status) => reasonsOfNotices(status.notices)).map(({ what }) => what),
  );
  const olderDays = statuses.flatMap(({ merchantNo, olderDays: older }) =>
    older === null ? [] : [`  ${merchantNo} ${olderDaysText(older, times)}`],
  );
  return lines(
    table(
      [
        'merchant',
        'last good run',
        '?proven from',
        'proven through',
        '>open breaks',
        '>quarantined',
        maxAge === undefined ? '' : 'age',
      ],
      statuses.map((status) => [
        status.merchantNo,
        status.lastGoodRunAt === null ? 'never' : times.at(status.lastGoodRunAt),
        status.provenFrom ?? 'nothing yet',
        status.provenThrough ?? 'nothing yet',
        status.openBreaks,
        status.quarantined,
        status.tooOld ? `older than ${maxAge ?? ''}` : '',
      ]),
    ),
    ...checkedLines(statuses),
    olderDays.length > 0 && '\nolder days, compared with the platform:',
    ...olderDays,
    requested.length > 0 &&
      '\nasked for, and not proven whole yet (the nightly run reads on; `daybook runs forget-range ID` gives one up):',
    ...requested.slice(0, MISSING_SHOWN_MAX).map((range) => `  ${requestedText(range, times.zone)}`),
    requested.length > MISSING_SHOWN_MAX && `  and ${requested.length - MISSING_SHOWN_MAX} more`,
    notices.size > 0 && '\nnoticed in the last 31 days, each reported once:',
    ...[...notices].slice(0, MISSING_SHOWN_MAX).map((what) => `  ${what}`),
    notices.size > MISSING_SHOWN_MAX && `  and ${notices.size - MISSING_SHOWN_MAX} more`,
    missing.length > 0 && '\nmissing:',
    ...missing.slice(0, MISSING_SHOWN_MAX),
    missing.length > MISSING_SHOWN_MAX && `  and ${missing.length - MISSING_SHOWN_MAX} more`,
  );
}

/** `2026-01-01 to 2026-02-28: total of 1234 held at ..., 300 of 1234 entries re-read since ...`. */
function olderDaysText(
  { from, to, total, isHeld, lookedAt, round }: OlderDaysComparison,
  times: Times,
): string {
  const held = isHeld ? 'held' : 'did not hold';
  return (
    `${from} to ${to}: total of ${total} ${held} at ${times.at(lookedAt)}, ` +
    `${round.read} of ${round.of} entries re-read since ${times.at(round.beganAt)}`
  );
}
