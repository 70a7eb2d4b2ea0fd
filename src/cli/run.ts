/** `run`, its stages as commands of their own (`sync`, `reconcile`, `publish`), and `plan`: what `run` would do, writing nothing. */
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { dayOf } from '../ledger/business-day.ts';
import type { SeenFigures } from '../reconcile/reconcile.ts';
import { alertsOf } from '../run/alerts.ts';
import { statementMailOf } from '../run/statement-mail.ts';
import { runDeps, type PlatformApp } from '../run/app.ts';
import { LONG_RUN_DAYS } from '../run/slices.ts';
import { chosenMerchants, merchantsNotRead } from '../run/chosen-merchants.ts';
import { clockNews } from '../run/verdict/merchant-reasons.ts';
import { extendedLookbackText, notReadLines } from '../run/status-text.ts';
import { type PlannedDay, planRun, type PlanReport } from '../run/plan.ts';
import { accountDayKey, accountDaysTouched, type RunCommand, type RunReport } from '../run/report.ts';
import { executeRun } from '../run/run.ts';
import { EXIT, mostSevere, UsageError } from '../run/verdict/exit-codes.ts';
import type { Settings } from '../settings/settings.ts';
import { NOTHING_REPAIRED, previewRepair } from '../statements/repair-files.ts';
import { publishedSpan } from '../store/statements/stored-files.ts';
import { daysName } from '../run/verdict/judge.ts';
import { listAccountDays } from '../store/account-days.ts';
import { sumOfSync } from '../sync/sync-report.ts';
import { platformSettings, print, stopSignal, troubleLog, withPlatform } from './context.ts';
import { currenciesOf, merchantsOf, rangeOf, withDayFlags, withRangeFlags, type DayFlags } from './flags.ts';
import { createProgressLine } from './output/progress-line.ts';
import {
  breakText,
  breakTexts,
  comparedText,
  runDocument,
  runText,
  syncDocument,
} from './output/run-text.ts';
import { counted, lines, listTable, table } from './output/text.ts';

const BREAKS_COUNT = `Exit 3 while the chosen merchants and currencies have an open break or an unacknowledged unreadable entry, of any day.
\`daybook breaks resolve ID --note TEXT\` records the valid reason for the difference at a break.
\`daybook quarantine acknowledge ID --note TEXT\` records that an unreadable entry needs no more attention.`;
const ASKED_FOR = `Days requested with --from or --to stay requested until each is read completely. An open break does not matter for that.
The next run without dates takes over those that a failed or killed run left; \`daybook status\` lists them. More than ${LONG_RUN_DAYS} days are done in slices.
Slices that a failed or killed run leaves are a backfill, continued by \`daybook schedule\` or \`daybook backfill --now\`.`;
const AFTER: Readonly<Record<RunCommand, string>> = {
  run: `${ASKED_FOR}\n${BREAKS_COUNT}`,
  sync: `${ASKED_FOR}\n${BREAKS_COUNT}`,
  reconcile: BREAKS_COUNT,
  publish:
    `--repair compares all published days, or those from --from to --to. With --dry-run it ends with 4 if it would write files\n` +
    `again, and with 3 if some need a decision or are beyond repair.\n${BREAKS_COUNT}`,
};

interface RunFlags extends DayFlags {
  /** Of `publish` alone. */
  readonly currency?: readonly string[];
  readonly repair?: boolean;
  readonly dryRun?: boolean;
}

export const runCommand = (command: Command): void => ledgerCommand('run', command);
export const syncCommand = (command: Command): void => ledgerCommand('sync', command);
export const reconcileCommand = (command: Command): void => ledgerCommand('reconcile', command);
export const publishCommand = (command: Command): void => ledgerCommand('publish', command);

/** A run, or one of its stages. */
function ledgerCommand(name: RunCommand, command: Command): void {
  if (name !== 'publish') withDayFlags(command);
  else
    withRangeFlags(command)
      .option('--repair', 'read every published file, and write again what is missing or altered')
      .option('--dry-run', 'with --repair: only say what is missing or altered; nothing is written');
  command
    .addHelpText(
      'after',
      `\n${AFTER[name]}\n\nExample:\n  daybook ${name} --from 2026-03-01 --to 2026-03-31 --merchant 10001`,
    )
    .action(async (flags: RunFlags, self: Command) => {
      const settings = platformSettings(self);
      if (flags.dryRun === true) return previewPublished(flags, settings, self);
      const isNightlyRun = isOfNight(name, flags);
      const alerts = await alertsOf(settings);
      const mail = await statementMailOf(settings);
      await withPlatform(
        settings,
        async (app, log) => {
          try {
            const report = await runOnce(name, flags, app, log);
            log.info({ run: report.runId, command: name, exitCode: report.exitCode }, 'run ended');
            print(self, {
              document: runDocument(report),
              text: await reportText(report, app),
              exitCode: report.exitCode,
            });
          } catch (error) {
            if (isNightlyRun) await alerts?.reportThrown(app, error, log);
            throw error;
          } finally {
            await Promise.all([alerts?.deliverAtEnd(app, log), mail?.deliverAtEnd(app, log)]);
          }
        },
        { onFailure: isNightlyRun && alerts !== null ? alerts.reportNotStarted : null },
      );
    });
}

/** `publish --repair --dry-run`: compares, and says what a repair would do. No run is recorded. */
async function previewPublished(flags: RunFlags, settings: Settings, self: Command): Promise<void> {
  if (flags.repair !== true)
    throw new UsageError('--dry-run goes with --repair; `daybook plan` says what a run would publish.');
  await withPlatform(settings, async (app) => {
    const { range, merchants } = await askedOf(flags, app);
    const deps = runDeps(app, stopSignal());
    let report = NOTHING_REPAIRED;
    for (const { merchantNo } of merchants) {
      const span = await publishedSpan(deps.db, merchantNo, range);
      if (span === null) continue;
      const one = await previewRepair({ ...deps, merchantNo, fromDay: span.from, toDay: span.to });
      report = {
        compared: [...report.compared, ...one.compared],
        repaired: [...report.repaired, ...one.repaired],
        unrepaired: [...report.unrepaired, ...one.unrepaired],
      };
    }
    const { repaired, unrepaired } = report;
    print(self, {
      document: report,
      text: lines(
        comparedText(report, 'would be written again') || 'no statement is published in these days',
        ...repaired.map(({ key, damage }) => `would be written again: ${key} (${damage})`),
        ...unrepaired.map(({ key, damage, why }) => `${key} is ${damage}: ${why}`),
      ),
      exitCode: unrepaired.length > 0 ? EXIT.needsPerson : repaired.length > 0 ? EXIT.incomplete : EXIT.done,
    });
  });
}

/** Whether it is a full nightly run, so that an alert is raised if it cannot start. */
const isOfNight = (command: RunCommand, { from, to, merchant }: RunFlags): boolean =>
  command === 'run' && from === undefined && to === undefined && merchant.length === 0;

async function runOnce(
  command: RunCommand,
  flags: RunFlags,
  app: PlatformApp,
  log: Logger,
): Promise<RunReport> {
  const asked = await askedOf(flags, app);
  const progress = createProgressLine();
  try {
    const deps = { ...runDeps(app, stopSignal(), progress.show), onTrouble: troubleLog(log) };
    return await executeRun({ command, ...asked, repairs: flags.repair ?? false }, deps);
  } finally {
    progress.clear();
  }
}

/** What `run` and `plan` are asked for. `isByName`: merchants were named; else `notRead` has those that cannot be read. */
async function askedOf({ currency = [], ...flags }: RunFlags, app: PlatformApp) {
  const range = rangeOf(flags, app.settings.platform.timeZone, app.now());
  const currencies = currenciesOf({ currency });
  const asked = merchantsOf(flags);
  const merchants = await chosenMerchants(app, asked);
  const notRead = asked === null ? await merchantsNotRead(app.settings, app.database.db) : [];
  return { range, currencies, merchants, notRead, isByName: asked !== null };
}

/**
 * The report, with the figures of the days that the run changed in some way. A day that is not over is only shown if
 * it was asked for.
 */
async function reportText(report: RunReport, app: PlatformApp): Promise<string> {
  const { keys, accounts, days } = accountDaysTouched(report);
  const today = dayOf(app.now().getTime(), app.settings.platform.timeZone);
  const rows =
    days.length === 0
      ? []
      : await listAccountDays(app.database.db, { ...accounts, fromDay: days[0], toDay: days.at(-1) });
  return runText(report, {
    days: rows.filter(
      ({ merchant_no: merchantNo, currency, day }) =>
        keys.has(accountDayKey({ account: { merchantNo, currency }, day })) &&
        (day < today || day <= report.to),
    ),
    location: app.objects.location,
    zone: app.settings.platform.timeZone,
  });
}

const PLAN_HELP = `
With several merchants, \`run\` may make a few calls more or fewer: how many calls prove the time zone depends on which
merchants the platform answers first.

Example:
  daybook plan --from 2026-03-01 --to 2026-03-31`;

export function planCommand(command: Command): void {
  withDayFlags(command)
    .addHelpText('after', PLAN_HELP)
    .action(async (flags: DayFlags, self: Command) => {
      await withPlatform(platformSettings(self), async (app) => {
        const { notRead, range, currencies, merchants } = await askedOf(flags, app);
        const progress = createProgressLine();
        const report = await planRun(
          { range, currencies, merchants },
          runDeps(app, stopSignal(), progress.show),
        ).finally(progress.clear);
        const isComplete = report.sync.every(
          ({ report: { failure, uncertified, interrupted }, unsettled = [] }) =>
            failure === null && uncertified.length === 0 && unsettled.length === 0 && !interrupted,
        );
        print(self, {
          document: { ...report, sync: report.sync.map(syncDocument) },
          text: lines(planText(report, app.settings.platform.timeZone), ...notReadLines(notRead)),
          exitCode: mostSevere([
            isComplete && notRead.length === 0 ? EXIT.done : EXIT.incomplete,
            ...report.troubles.map(({ exitCode }) => exitCode),
          ]),
        });
      });
    });
}

function planText(report: PlanReport, zone: string): string {
  const { sync, daysChanged } = report;
  const unread = sync.filter(({ report: { failure } }) => failure !== null).length;
  const backlogDays = sync.flatMap(({ merchantNo, backlogDays: days }) =>
    days.length === 0 ? [] : [`${merchantNo} ${daysName(days)}`],
  );
  return lines(
    `run of ${report.from} to ${report.to} would make:`,
    listTable(sync, {
      merchant: ({ merchantNo }) => merchantNo,
      '>calls': ({ report: read }) => read.requests,
      '>new': ({ report: read }) => read.inserted,
      '>amended': ({ report: read }) => read.amended,
      '>vanished': ({ report: read }) => read.vanished,
      '>quarantined': ({ report: read }) => read.quarantined,
      '~cannot be read': ({ report: read }) =>
        read.failure?.message ?? read.uncertified.map(({ problem }) => problem).join(' '),
    }),
    clockNews(sumOfSync(sync)),
    extendedLookbackText(sync),
    backlogDays.length > 0 && `also read, from earlier requests: ${backlogDays.join('; ')}`,
    '',
    unread === 0 || daysChanged.length > 0 ? plannedDaysText(daysChanged) : false,
    unread > 0 && unknownText(unread, sync.length),
    ...breakTexts(report.breaksOpened, zone).map((text) => `\nnew (not recorded): ${text}`),
    ...report.breaksHealed.map((row) => `\nwould heal: ${breakText(row, zone)}`),
    ...report.troubles.map(
      ({ merchantNo, message }) => `\n${merchantNo}: the figures cannot be made: ${message}`,
    ),
    report.breaksOpened.length + report.breaksHealed.length > 0 && `\nTimes are in ${zone}.`,
    '\nnothing was written',
  );
}

const unknownText = (unread: number, all: number): string =>
  `The effect is unknown for ${unread} of ${counted(all, 'merchant')}: their reading failed. ` +
  'Check PLATFORM_BASE_URL and that the platform is up, then run `daybook plan` again.';

/** `width` is that of the terminal if left out. */
export function plannedDaysText(days: readonly PlannedDay[], width?: number): string {
  if (days.length === 0) return 'no account day would change';
  const fresh = days.filter(({ before }) => before === null);
  const changed = days.filter(({ before }) => before !== null);
  const withheld = days.filter((day) => day.withheld !== null);
  return lines(
    fresh.length > 0 && `${counted(fresh.length, 'account day')} would be new:`,
    fresh.length > 0 && freshTable(fresh, width),
    fresh.length > 0 && changed.length > 0 && '',
    changed.length > 0 && `${counted(changed.length, 'account day')} would change:`,
    changed.length > 0 && changedTable(changed, width),
    ...withheld.map((day) => `${nameOf(day)} would not be published: ${day.withheld!}`),
  );
}

const nameOf = ({ account: { merchantNo, currency }, day }: PlannedDay): string =>
  `${merchantNo} ${currency} ${day}`;

/** Sum and count of the credits or of the debits. */
const side = (total: string, count: number): string => `${total} (${count})`;
const credits = ({ creditTotal, creditCount }: SeenFigures): string => side(creditTotal, creditCount);
const debits = ({ debitTotal, debitCount }: SeenFigures): string => side(debitTotal, debitCount);
const revision = (number: number | null): string => (number === null ? 'none' : `r${number}`);

const freshTable = (days: readonly PlannedDay[], width?: number): string =>
  listTable(
    days,
    {
      merchant: ({ account }) => account.merchantNo,
      day: ({ day }) => day,
      account: ({ account }) => account.currency,
      '?>credits': ({ after }) => credits(after),
      '?>debits': ({ after }) => debits(after),
      '>closing': ({ after }) => after.closing,
      verdict: ({ after }) => after.verdict,
      '>breaks': ({ after }) => after.breakCount,
      revision: ({ revision: { after } }) => revision(after),
    },
    width,
  );

const changedTable = (days: readonly PlannedDay[], width?: number): string =>
  table(
    ['merchant', 'day', 'account', 'figure', '>now', '>then'],
    days.flatMap((day) =>
      changesIn(day).map((cells, at) => [
        ...(at === 0 ? [day.account.merchantNo, day.day, day.account.currency] : ['', '', '']),
        ...cells,
      ]),
    ),
    width,
  );

type Change = readonly [figure: string, now: string, then: string];

/** The figures that differ, and always the revision. If no figure differs, the rows of the statement do. */
function changesIn({ before: now, after: then, revision: { before, after } }: PlannedDay): Change[] {
  const spelled: Change[] = [
    ['opening', now!.opening, then.opening],
    ['credits', credits(now!), credits(then)],
    ['debits', debits(now!), debits(then)],
    ['closing', now!.closing, then.closing],
    ['verdict', now!.verdict, then.verdict],
    ['breaks', String(now!.breakCount), String(then.breakCount)],
  ];
  const moved = spelled.filter(([, one, other]) => one !== other);
  const rows: Change =
    before === null ? ['rows', 'not published', 'published'] : ['rows', 'as published', 'other content'];
  return [...(moved.length > 0 ? moved : [rows]), ['revision', revision(before), revision(after)]];
}
