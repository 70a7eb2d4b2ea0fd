/** `plan`: shows what `run` with the same flags would do, and writes nothing. */
import type { Command } from 'commander';
import { chosenMerchants, merchantsNotRead } from '../run/chosen-merchants.ts';
import { notReadLines } from '../run/status-remarks.ts';
import { clockNews } from '../run/clock-text.ts';
import { EXIT, mostSevere } from '../run/verdict/exit-codes.ts';
import { runDeps } from '../run/app.ts';
import { daysName } from '../run/verdict/judge.ts';
import { planRun, type PlanReport } from '../run/plan.ts';
import { sumOfSync } from '../run/stages/sync-tally.ts';
import { platformSettings, stopSignal, print, withPlatform } from './context.ts';
import { createProgressLine } from './output/progress-line.ts';
import { currenciesOf, merchantsOf, rangeOf, withRangeFlags, type RangeFlags } from './range-flags.ts';
import { syncDocument } from './output/run-document.ts';
import { plannedDaysText } from './output/plan-days-text.ts';
import { extendedLookbackText } from '../run/lateness-text.ts';
import { breakText, breakTexts } from './output/run-text.ts';
import { lines, table } from './output/text.ts';

const HELP = `
With several merchants, \`run\` may make a few calls more or fewer. The time zone is proven by the newest entries, in
the order in which the merchants are answered.

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
    plannedDaysText(daysChanged),
    ...breakTexts(report.breaksOpened, zone).map((text) => `\nwould be found: ${text}`),
    ...report.breaksHealed.map((row) => `\nwould be healed: ${breakText(row, zone)}`),
    ...report.troubles.map(({ merchantNo, message }) => `\n${merchantNo} cannot be worked out: ${message}`),
    report.breaksOpened.length + report.breaksHealed.length > 0 && `\ntimes are of ${zone}`,
    '\nnothing was written',
  );
}
