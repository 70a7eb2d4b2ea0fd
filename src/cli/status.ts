/**
 * `status`: the last run and the next one, and for each merchant what is proven, missing and open; for people and for
 * alerts.
 */
import type { Command } from 'commander';
import { jobs } from '../../jobs/all.ts';
import { mostSevere, UsageError, type ExitCode } from '../run/verdict/exit-codes.ts';
import { ageOf } from '../run/age.ts';
import { backfillsExitCode } from '../run/backfill/progress.ts';
import { merchantsNotRead } from '../run/chosen-merchants.ts';
import { overviewOf } from '../run/health.ts';
import type { LastRuns } from '../run/last-runs.ts';
import type { NextRun } from '../run/schedule/next-run.ts';
import { isAlerting } from '../run/alerts/open.ts';
import { reasonOf, type KnownRun, runEnd } from '../run/run-state.ts';
import { notReadLines, remarksOf, zoneRemark } from '../run/status-remarks.ts';
import { statusesOf, statusExitCode } from '../run/status.ts';
import { undelivered } from '../store/alerts/outbox.ts';
import { deliverAtEnd, runWatchdog } from './alerting.ts';
import { collect } from './collect.ts';
import { createLog, platformSettings, printParts, withApp } from './context.ts';
import { noticeDocument } from './output/run-document.ts';
import { StatusText } from './output/status-text.ts';
import { lines } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';

/** Reads an age such as `26h` as ms. Throws `UsageError`. */
function parseAge(text: string): number {
  const ageMs = ageOf(text);
  if (ageMs !== null) return ageMs;
  throw new UsageError(`--max-age ${text} is no age; write a number and m, h or d, like 90m, 26h or 2d.`);
}

const HELP = `
Ends with 4 where data is or may be missing: a merchant's last successful run is older than --max-age, the schedule's last run
failed (or was killed) and no later run repeated it, a range requested with --from and --to is not read completely, a
slice of a backfill has failed, entries are held (\`daybook amendments\`), or a merchant that is active or has a ledger here has no token.
Else with 3 where something needs attention: an open break, an unreadable entry. Else with 0.

With --alert, a missed, failed or killed run raises an alert (DAYBOOK_ALERT_URL, DAYBOOK_ALERT_MAIL_TO), repeated once a
day. Without --max-age, a daily run counts as missed two hours after the longest interval of DAYBOOK_SCHEDULE_NIGHTLY.

Examples:
  daybook status --max-age 26h || page-someone
  daybook status --alert`;

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description(
      'the last run and the next; per merchant: which days are proven, what is missing, what is open',
    )
    .option('--max-age <age>', 'exit 4 when a merchant’s last successful run is older, like 26h')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--alert', 'send alerts of what is wrong; needs alerts to be set up; for a cron job')
    .option('--all', 'a line for each merchant, however many there are')
    .addHelpText('after', HELP)
    .action(async ({ maxAge, merchant, all = false, alert = false }: StatusFlags, self: Command) => {
      const settings = platformSettings(self);
      const maxAgeMs = maxAge === undefined ? null : parseAge(maxAge);
      await withApp(settings, async ({ database, now }) => {
        const { db } = database;
        if (alert) await raiseAlerts({ database, now, settings }, maxAgeMs);
        const undeliveredAlerts = isAlerting(settings) ? await undelivered(db) : null;
        const overview = await overviewOf(db, { settings, jobs, now: now() });
        const { runs, nextRun: next, queue, backfills, newSince } = overview;
        const leftOut = await merchantsNotRead(settings, db);
        const notRead = leftOut.filter((one) => merchant.length === 0 || merchant.includes(one));
        const merchants = chosenOf([...new Set([...overview.merchants, ...leftOut])].sort(), merchant);
        const times = timesOf(settings);
        const zoneText = zoneRemark(settings.platform.timeZoneProof);
        const lastRun = runs.last && { ...runs.last, reason: overview.lastReason };
        const text = new StatusText({ times, merchants: merchants.length, maxAge, all });
        const exitCodes: ExitCode[] = [statusExitCode([], runs, notRead), backfillsExitCode(backfills)];
        const parts = statusesOf(db, merchants, { zone: times.zone, now: now(), maxAgeMs, newSince });
        const textAndParts = async function* () {
          for await (const statuses of parts) {
            text.add(statuses);
            exitCodes.push(statusExitCode(statuses, runs));
            yield statuses.map((status) => ({
              ...status,
              notices: status.notices.map(noticeDocument),
              timeZoneProof: settings.platform.timeZoneProof,
              lastRun,
              isRead: !notRead.includes(status.merchantNo),
              nextRun: next,
              backfills,
              ...(queue !== undefined && { queue }),
              ...(undeliveredAlerts !== null && { alerts: undeliveredAlerts }),
            }));
          }
        };
        await printParts(self, {
          parts: textAndParts(),
          text: () =>
            lines(
              runsText(runs, next, times),
              ...notReadLines(notRead),
              ...remarksOf(overview, undeliveredAlerts, times.zone),
              '',
              text.toString(),
              zoneText !== null && `\n${zoneText}`,
              `\n${times.note}`,
            ),
          exitCode: () => mostSevere(exitCodes),
        });
      });
    });
}

interface StatusFlags {
  readonly maxAge?: string;
  readonly merchant: readonly string[];
  readonly all?: boolean;
  readonly alert?: boolean;
}

/** Raises what is wrong and sends what is due. Throws `UsageError` where no alerts are set up. */
async function raiseAlerts(app: Parameters<typeof deliverAtEnd>[0], maxAgeMs: number | null): Promise<void> {
  if (!isAlerting(app.settings))
    throw new UsageError('--alert needs a target for alerts: set DAYBOOK_ALERT_URL.');
  await runWatchdog(app, { maxAgeMs, always: true });
  await deliverAtEnd(app, createLog(app.settings.logLevel));
}

/** Those of the merchants that are asked for; all where none is. Throws `UsageError`. */
function chosenOf(every: readonly string[], asked: readonly string[]): readonly string[] {
  const unknown = asked.find((merchantNo) => !every.includes(merchantNo));
  if (unknown !== undefined)
    throw new UsageError(
      `no ledger of merchant ${unknown} is read; \`daybook merchants list\` shows whose are.`,
    );
  return asked.length === 0 ? every : every.filter((merchantNo) => asked.includes(merchantNo));
}

function runsText({ last, notMadeUpFor }: LastRuns, next: NextRun | null, times: Times): string {
  const runLine = (run: KnownRun): string => {
    const reason = reasonOf(run);
    const at = run.finishedAt ?? run.startedAt;
    return `run ${run.id}, ${run.command}, ${times.at(at)}, ${runEnd(run)}${reason === null ? '' : `: ${reason}`}`;
  };
  const others = notMadeUpFor.filter(({ id }) => id !== last?.id);
  return lines(
    `last run: ${last === null ? 'none yet' : runLine(last)}`,
    ...others.map((run) => `failed and not repeated: ${runLine(run)}`),
    next !== null && `next of the schedule: ${next.job}, ${times.at(next.at)}`,
    (others.length > 0 || (last !== null && reasonOf(last) !== null)) &&
      'see `daybook runs ID` for all of it',
  );
}
