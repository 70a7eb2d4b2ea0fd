/**
 * `status`: the last run and the next one, and for each merchant what is proven, missing and open; for people and for
 * alerts. `metrics`: the state as text for Prometheus.
 */
import type { Command } from 'commander';
import { jobs } from '../../jobs/all.ts';
import {
  ageOf,
  First,
  StatusLists,
  type StatusList,
  notReadLines,
  remarksOf,
  zoneRemark,
  CheckedBeyond,
} from '../run/status-text.ts';
import { alertsOf, type AlertingApp, type Alerts } from '../run/alerts.ts';
import { unmailedOf } from '../run/statement-mail.ts';
import { backfillsExitCode } from '../run/backfills.ts';
import { merchantsNotRead } from '../run/chosen-merchants.ts';
import { overviewOf } from '../run/health.ts';
import { type LastRuns, reasonOf, type KnownRun, runEnd } from '../run/run-state.ts';
import type { NextRun } from '../run/schedule/due.ts';
import { statusesOf, statusExitCode, type MerchantStatus } from '../run/status.ts';
import { mostSevere, UsageError } from '../run/verdict/exit-codes.ts';
import { notAppliedResults } from '../store/fleet-counts.ts';
import { collect, createLog, platformSettings, printParts, withApp } from './context.ts';
import { noticeDocument } from './output/run-text.ts';
import { pageBehind, pageOf, withPageFlags, type PageFlags } from './flags.ts';
import { lines, counted, longTable, nextLine, timesOf, type Times } from './output/text.ts';

/** Reads an age such as `26h` as ms. Throws `UsageError`. */
function parseAge(text: string): number {
  const ageMs = ageOf(text);
  if (ageMs !== null) return ageMs;
  throw new UsageError(`--max-age ${text} is no age; write a number and m, h or d, like 90m, 26h or 2d.`);
}

const HELP = `
Ends with 4 where data is or may be missing: a merchant's last successful run is older than --max-age, the schedule's last run
failed (or was killed) and no later run repeated it, a range requested with --from and --to is not read completely, a
slice of a backfill has failed, entries are held (\`daybook amendments\`), an account is silent for longer than ever before, or a merchant that is active or has a ledger here has no token.
Else with 3 where something needs attention: an open break, an unreadable entry. Else with 0.

With --alert, a missed, failed or killed run raises an alert (DAYBOOK_ALERT_URL, DAYBOOK_ALERT_MAIL_TO), repeated once a
day. Without --max-age, a nightly run counts as missed when a merchant's last successful run is older than the longest
interval of DAYBOOK_SCHEDULE_NIGHTLY plus two hours.

Examples:
  daybook status --max-age 26h || page-someone
  daybook status --alert`;

export function statusCommand(command: Command): void {
  withPageFlags(command, 'no')
    .option('--max-age <age>', 'exit 4 when a merchant’s last successful run is older, like 26h')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--open', 'only merchants of which something is missing or needs attention')
    .option('--alert', 'send alerts of what is wrong; needs alerts to be set up; for a cron job')
    .option('--all', 'a line for each merchant, however many there are')
    .addHelpText('after', HELP)
    .action(async (flags: StatusFlags, self: Command) => {
      const { maxAge, merchant, all = false, alert = false, open = false } = flags;
      const place = pageOf(flags, true);
      const settings = platformSettings(self);
      const maxAgeMs = maxAge === undefined ? null : parseAge(maxAge);
      await withApp(settings, async ({ database, database: { db }, now }) => {
        const alerts = await alertsOf(settings);
        if (alert) await alertNow(alerts, { database, now, settings }, maxAgeMs);
        const undelivered = alerts && (await alerts.undelivered(db));
        const unmailed = await unmailedOf(db, settings);
        const inbox = await notAppliedResults(db);
        const overview = await overviewOf(db, { settings, jobs, now: now() });
        const { runs, nextRun: next, queue, backfills, newSince } = overview;
        const leftOut = await merchantsNotRead(settings, db);
        const notRead = leftOut.filter((one) => merchant.length === 0 || merchant.includes(one));
        const chosen = chosenOf([...new Set([...overview.merchants, ...leftOut])].sort(), merchant);
        const { shown: merchants, next: nextPlace } = pageBehind(chosen, (merchantNo) => merchantNo, place);
        const times = timesOf(settings);
        const zoneText = zoneRemark(settings.platform.timeZoneProof);
        const text = new StatusText({ times, merchants: merchants.length, maxAge, all });
        const exitCodes = [statusExitCode([], runs, notRead), backfillsExitCode(backfills), inbox.exitCode];
        const parts = statusesOf(db, merchants, { zone: times.zone, now: now(), maxAgeMs, newSince });
        const textAndParts = async function* () {
          for await (const statuses of parts) {
            const shown = open ? statuses.filter(hasSomethingToSay) : statuses;
            text.add(shown);
            exitCodes.push(statusExitCode(statuses, runs));
            yield shown.map((status) => ({
              ...status,
              notices: status.notices.map(noticeDocument),
              timeZoneProof: settings.platform.timeZoneProof,
              lastRun: runs.last && { ...runs.last, reason: overview.lastReason },
              isRead: !notRead.includes(status.merchantNo),
              nextRun: next,
              backfills,
              ...(queue !== undefined && { queue }),
              ...(undelivered && { alerts: undelivered }),
              ...(unmailed && { statementMail: unmailed }),
            }));
          }
        };
        await printParts(self, {
          parts: textAndParts(),
          text: () =>
            lines(
              runsText(runs, next, times),
              ...notReadLines(notRead),
              ...remarksOf(overview, undelivered, unmailed, times.zone),
              inbox.count > 0 && `${counted(inbox.count, 'result')} need a person: \`daybook notifications\``,
              '',
              text.toString(),
              nextLine(merchants.length, 'merchant', nextPlace),
              zoneText !== null && `\n${zoneText}`,
              `\n${times.note}`,
            ),
          exitCode: () => mostSevere(exitCodes),
        });
      });
    });
}

/** Throws `UsageError` where no alerts are set up. */
async function alertNow(alerts: Alerts | null, app: AlertingApp, maxAgeMs: number | null): Promise<void> {
  if (alerts === null) throw new UsageError('--alert needs a target for alerts: set DAYBOOK_ALERT_URL.');
  await alerts.checkNow(app, createLog(app.settings.logLevel), maxAgeMs);
}

interface StatusFlags extends PageFlags {
  readonly open?: boolean;
  readonly maxAge?: string;
  readonly merchant: readonly string[];
  readonly all?: boolean;
  readonly alert?: boolean;
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

function runsText({ last, notMadeUpFor, failedJobs }: LastRuns, next: NextRun | null, times: Times): string {
  const runLine = (run: KnownRun): string => {
    const reason = reasonOf(run);
    const at = run.finishedAt ?? run.startedAt;
    return `run ${run.id}, ${run.command}, ${times.at(at)}, ${runEnd(run)}${reason === null ? '' : `: ${reason}`}`;
  };
  const others = [...notMadeUpFor, ...failedJobs].filter(({ id }) => id !== last?.id);
  return lines(
    `last run: ${last === null ? 'none yet' : runLine(last)}`,
    ...others.map((run) => `failed and not repeated: ${runLine(run)}`),
    next !== null && `next of the schedule: ${next.job}, ${times.at(next.at)}`,
    (others.length > 0 || (last !== null && reasonOf(last) !== null)) &&
      'see `daybook runs ID` for all of it',
  );
}

/** Up to so many merchants, each has a line. Of more, so many that have something to say. */
const MERCHANTS_SHOWN_MAX = 20;
/** Shown where no merchant has anything to say. */
const FIRST_SHOWN = 5;
const NOTHING_OPEN = 'of these merchants nothing is missing, and nothing needs attention';
const NO_MERCHANT =
  'no merchant yet: set PLATFORM_MERCHANT_NO, or add one with `daybook merchants add --merchant-no NO --token-stdin`';

interface StatusTextOptions {
  readonly times: Times;
  /** How many statuses will come. */
  readonly merchants: number;
  /** As the person wrote it. */
  readonly maxAge: string | undefined;
  /** Whether each merchant gets a line, however many there are. */
  readonly all: boolean;
}

export class StatusText {
  readonly #options: StatusTextOptions;
  readonly #merchants = new First<MerchantStatus>(FIRST_SHOWN);
  readonly #shown: First<MerchantStatus>;
  readonly #lists: StatusLists;
  readonly #checked = new CheckedBeyond();
  readonly #totals = { neverRead: 0, tooOld: 0, openBreaks: 0, quarantined: 0 };

  constructor(options: StatusTextOptions) {
    this.#options = options;
    this.#lists = new StatusLists(options.times.zone);
    this.#shown = new First(options.all ? Infinity : MERCHANTS_SHOWN_MAX);
  }

  add(statuses: readonly MerchantStatus[]): void {
    for (const status of statuses) {
      const { lastGoodRunAt } = status;
      this.#merchants.add(status);
      if (this.#showsEach || hasSomethingToSay(status)) this.#shown.add(status);
      this.#lists.add(status);
      this.#checked.add(status);
      this.#totals.neverRead += Number(lastGoodRunAt === null);
      this.#totals.tooOld += Number(status.tooOld);
      this.#totals.openBreaks += status.openBreaks;
      this.#totals.quarantined += status.quarantined;
    }
  }

  toString(): string {
    if (this.#options.merchants === 0) return NO_MERCHANT;
    const shown = this.#shown.items.length > 0 ? this.#shown.items : this.#merchants.items;
    if (shown.length === 0) return NOTHING_OPEN;
    return lines(
      !this.#showsEach && this.#totalsText(),
      this.#table(shown),
      !this.#showsEach && this.#restText(shown.length),
      ...this.#checked.lines(),
      ...this.#lists.of(shown).flatMap(listText),
    );
  }

  get #showsEach(): boolean {
    return this.#options.all || this.#options.merchants <= MERCHANTS_SHOWN_MAX;
  }

  #totalsText(): string {
    const { neverRead, tooOld, openBreaks, quarantined } = this.#totals;
    const { maxAge, merchants } = this.#options;
    return lines(
      [
        counted(merchants, 'merchant'),
        `${this.#shown.count.toLocaleString('en')} with something to say`,
        `${neverRead.toLocaleString('en')} never read well`,
        ...(maxAge === undefined ? [] : [`${tooOld.toLocaleString('en')} older than ${maxAge}`]),
        counted(openBreaks, 'open break'),
        counted(quarantined, 'unreadable entry', 'unreadable entries'),
      ].join(', '),
      '',
    );
  }

  /** What the table leaves out, and how to see it. */
  #restText(shown: number): string {
    const rest = this.#shown.count > shown ? this.#shown.count - shown : this.#options.merchants - shown;
    const what = this.#shown.count > shown ? 'more with something to say' : 'more without anything to say';
    return `and ${rest.toLocaleString('en')} ${what}: \`--all\` shows each merchant, \`--merchant NO\` one`;
  }

  #table(shown: readonly MerchantStatus[]): string {
    const { times, maxAge } = this.#options;
    return longTable(shown, {
      merchant: ({ merchantNo }) => merchantNo,
      'last successful run': ({ lastGoodRunAt }) => times.at(lastGoodRunAt) || 'never',
      '?proven from': ({ provenFrom }) => provenFrom ?? 'nothing yet',
      'proven through': ({ provenThrough }) => provenThrough ?? 'nothing yet',
      '>open breaks': ({ openBreaks }) => openBreaks,
      '>quarantined': ({ quarantined }) => quarantined,
      [maxAge === undefined ? '' : 'age']: ({ tooOld }) => (tooOld ? `older than ${maxAge ?? ''}` : ''),
    });
  }
}

/** Whether a person would miss this merchant if its line were left out. */
const hasSomethingToSay = (status: MerchantStatus): boolean =>
  status.lastGoodRunAt === null ||
  status.tooOld ||
  status.openBreaks + status.quarantined > 0 ||
  status.missing.length + status.requested.length + status.notices.length + status.adjustments.length > 0 ||
  status.olderDays?.isHeld === false;

/** After an empty line, a list under its heading. */
const listText = ({ heading, items, more }: StatusList): string[] => [
  `\n${heading}`,
  ...items.map((text) => `  ${text}`),
  ...(more === 0 ? [] : [`  and ${more.toLocaleString('en')} more`]),
];
