/** `plan`: shows what `run` with the same flags would do, and writes nothing. */
import type { Command } from 'commander';
import type { SeenFigures } from '../reconcile/reconcile.ts';
import { sumOfSync } from '../sync/sync-report.ts';
import { runDeps } from '../run/app.ts';
import { chosenMerchants, merchantsNotRead } from '../run/chosen-merchants.ts';
import { clockNews } from '../run/verdict/merchant-reasons.ts';
import { extendedLookbackText, notReadLines } from '../run/status-text.ts';
import { type PlannedDay, planRun, type PlanReport } from '../run/plan.ts';
import { EXIT, mostSevere } from '../run/verdict/exit-codes.ts';
import { daysName } from '../run/verdict/judge.ts';
import { platformSettings, stopSignal, print, withPlatform } from './context.ts';
import { createProgressLine } from './output/progress-line.ts';
import { syncDocument, breakText, breakTexts } from './output/run-text.ts';
import { lines, table, counted } from './output/text.ts';
import { currenciesOf, merchantsOf, rangeOf, withRangeFlags, type RangeFlags } from './range-flags.ts';

const HELP = `
With several merchants, \`run\` may make a few calls more or fewer: how many calls prove the time zone depends on which
merchants the platform answers first.

Example:
  daybook plan --from 2026-03-01 --to 2026-03-31`;

export function addPlanCommand(program: Command): void {
  withRangeFlags(program.command('plan'))
    .description(
      'what `run` with these flags would do, writing nothing: calls, and days that change, before and after',
    )
    .addHelpText('after', HELP)
    .action(async (flags: RangeFlags, self: Command) => {
      await withPlatform(platformSettings(self), async (app) => {
        const { timeZone } = app.settings.platform;
        const asked = merchantsOf(flags);
        const notRead = asked === null ? await merchantsNotRead(app.settings, app.database.db) : [];
        const request = {
          range: rangeOf(flags, timeZone, app.now()),
          currencies: currenciesOf(flags),
          merchants: await chosenMerchants(app, asked),
        };
        const progress = createProgressLine();
        const report = await planRun(request, runDeps(app, stopSignal(), progress.show)).finally(
          progress.clear,
        );
        const isComplete = report.sync.every(
          ({ report: { failure, uncertified, interrupted }, unsettled = [] }) =>
            failure === null && uncertified.length === 0 && unsettled.length === 0 && !interrupted,
        );
        print(self, {
          document: { ...report, sync: report.sync.map(syncDocument) },
          text: lines(planText(report, timeZone), ...notReadLines(notRead)),
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
    table(
      ['merchant', '>calls', '>new', '>amended', '>vanished', '>quarantined', '~cannot be read'],
      sync.map(({ merchantNo, report: read }) => [
        merchantNo,
        read.requests,
        read.inserted,
        read.amended,
        read.vanished,
        read.quarantined,
        read.failure?.message ?? read.uncertified.map(({ problem }) => problem).join(' '),
      ]),
    ),
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
  table(
    [
      ...['merchant', 'day', 'account', '?>credits', '?>debits', '>closing', 'verdict'],
      ...['>breaks', 'revision'],
    ],
    days.map(({ account: { merchantNo, currency }, day, after, revision: { after: number } }) => [
      merchantNo,
      day,
      currency,
      credits(after),
      debits(after),
      after.closing,
      after.verdict,
      after.breakCount,
      revision(number),
    ]),
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
