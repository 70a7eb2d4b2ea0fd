/** `run`, and its stages by themselves: `sync`, `reconcile`, `publish`. */
import type { Command } from 'commander';
import { chosenMerchants } from '../run/chosen-merchants.ts';
import { runDeps, type PlatformHouse } from '../run/house.ts';
import type { RunCommand, RunReport } from '../run/report.ts';
import { executeRun } from '../run/run.ts';
import { listAccountDays } from '../store/account-days.ts';
import { platformSettings, stopSignal, tell, withPlatform } from './context.ts';
import { createProgressLine } from './progress-line.ts';
import { currenciesOf, rangeOf, withRangeFlags, type RangeFlags } from './range-flags.ts';
import { runDocument } from './run-document.ts';
import { runText } from './run-text.ts';

const ABOUT: Readonly<Record<RunCommand, string>> = {
  run: 'read the ledger, prove it, publish statements: yesterday and the re-sweep, or --from to --to',
  sync: 'only read the ledger into the database',
  reconcile: 'only prove the balance chain of what is stored, reading again where it breaks',
  publish: 'only publish the statements that are due',
};

export function addRunCommands(program: Command): void {
  for (const command of Object.keys(ABOUT) as RunCommand[]) {
    withRangeFlags(program.command(command).description(ABOUT[command]))
      .addHelpText(
        'after',
        `\nExample:\n  daybook ${command} --from 2026-03-01 --to 2026-03-31 --merchant 10001`,
      )
      .action(async (flags: RangeFlags, self: Command) => {
        const settings = platformSettings(self);
        await withPlatform(settings, async (house, log) => {
          const report = await runOnce(command, flags, house);
          log.info({ run: report.runId, command, exitCode: report.exitCode }, 'run ended');
          tell(self, {
            document: runDocument(report),
            text: await reportText(report, flags, house),
            exitCode: report.exitCode,
          });
        });
      });
  }
}

async function runOnce(command: RunCommand, flags: RangeFlags, house: PlatformHouse): Promise<RunReport> {
  const range = rangeOf(flags, house.settings.platform.timeZone, house.now());
  const currencies = currenciesOf(flags);
  const merchants = await chosenMerchants(house, flags.merchant);
  const progress = createProgressLine();
  try {
    return await executeRun(
      { command, range, merchants, currencies },
      runDeps(house, stopSignal(), progress.show),
    );
  } finally {
    progress.clear();
  }
}

async function reportText(report: RunReport, flags: RangeFlags, house: PlatformHouse): Promise<string> {
  const days = await listAccountDays(house.database.db, {
    fromDay: report.from,
    toDay: report.to,
    ...(flags.currency.length > 0 ? { currencies: flags.currency } : {}),
  });
  return runText(report, {
    days: flags.merchant.length === 0 ? days : days.filter((row) => flags.merchant.includes(row.merchant_no)),
    location: house.objects.location,
    zone: house.settings.platform.timeZone,
  });
}
