/** `run`, and its stages as commands of their own: `sync`, `reconcile`, `publish`. */
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { dayOf } from '../ledger/business-day.ts';
import { chosenMerchants, merchantsNotRead } from '../run/chosen-merchants.ts';
import { runDeps, type PlatformApp } from '../run/app.ts';
import { accountDayKey, accountDaysTouched, type RunCommand, type RunReport } from '../run/report.ts';
import { LONG_RUN_DAYS } from '../run/backfill/backfills.ts';
import { executeRun } from '../run/run.ts';
import { listAccountDays } from '../store/account-days.ts';
import { deliverAtEnd, reportThrown } from './alerting.ts';
import { platformSettings, stopSignal, print, withPlatform } from './context.ts';
import { createProgressLine } from './output/progress-line.ts';
import { currenciesOf, merchantsOf, rangeOf, withRangeFlags, type RangeFlags } from './range-flags.ts';
import { runDocument, runText } from './output/run-text.ts';

const ABOUT: Readonly<Record<RunCommand, string>> = {
  run: 'read the ledger, prove it, publish statements: yesterday and the lookback, or --from to --to',
  sync: 'only read the ledger into the database',
  reconcile: 'only prove the balance chain of what is stored, reading again where it breaks',
  publish: 'only publish the statements that are due',
};

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
  publish: `--repair compares all published days, or those from --from to --to.\n${BREAKS_COUNT}`,
};

interface RunFlags extends RangeFlags {
  readonly repair?: boolean;
}

export function addRunCommands(program: Command): void {
  for (const command of Object.keys(ABOUT) as RunCommand[]) {
    const described = withRangeFlags(program.command(command).description(ABOUT[command]));
    if (command === 'publish')
      described.option('--repair', 'read every published file, and write again what is missing or altered');
    described
      .addHelpText(
        'after',
        `\n${AFTER[command]}\n\nExample:\n  daybook ${command} --from 2026-03-01 --to 2026-03-31 --merchant 10001`,
      )
      .action(async (flags: RunFlags, self: Command) => {
        const settings = platformSettings(self);
        const isNightlyRun = isOfNight(command, flags);
        await withPlatform(
          settings,
          async (app, log) => {
            try {
              const report = await runOnce(command, flags, app, log);
              log.info({ run: report.runId, command, exitCode: report.exitCode }, 'run ended');
              print(self, {
                document: runDocument(report),
                text: await reportText(report, app),
                exitCode: report.exitCode,
              });
            } catch (error) {
              if (isNightlyRun) await reportThrown(app, error, log);
              throw error;
            } finally {
              await deliverAtEnd(app, log);
            }
          },
          { tellsFailure: isNightlyRun },
        );
      });
  }
}

/** Whether it is a full nightly run, so that an alert is raised if it cannot start. */
const isOfNight = (command: RunCommand, { from, to, merchant, currency }: RunFlags): boolean =>
  command === 'run' && from === undefined && to === undefined && merchant.length + currency.length === 0;

async function runOnce(
  command: RunCommand,
  flags: RunFlags,
  app: PlatformApp,
  log: Logger,
): Promise<RunReport> {
  const range = rangeOf(flags, app.settings.platform.timeZone, app.now());
  const currencies = currenciesOf(flags);
  const asked = merchantsOf(flags);
  const merchants = await chosenMerchants(app, asked);
  const notRead = asked === null ? await merchantsNotRead(app.settings, app.database.db) : [];
  const progress = createProgressLine();
  try {
    return await executeRun(
      {
        ...{ command, range, merchants, currencies, repairs: flags.repair ?? false },
        isByName: asked !== null,
        notRead,
      },
      {
        ...runDeps(app, stopSignal(), progress.show),
        onTrouble: (merchantNo, error) => {
          log.debug(
            { merchantNo, stack: error instanceof Error ? error.stack : String(error) },
            'a stage failed',
          );
        },
      },
    );
  } finally {
    progress.clear();
  }
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
