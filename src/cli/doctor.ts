/** `doctor`: checks settings, database, object store, platform and time zone, each with the mend. */
import type { Command } from 'commander';
import { chosenMerchants } from '../run/chosen-merchants.ts';
import { examine, examinedExitCode, finding, type Finding } from '../run/doctor.ts';
import type { Settings } from '../settings/settings.ts';
import { platformSettings, stopSignal, tell, withPlatform } from './context.ts';
import { lines } from './text.ts';

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check settings, database, object store, platform and time zone, each with the mend')
    .action(async (_flags: object, self: Command) => {
      const findings = await findingsOf(self);
      tell(self, {
        document: findings,
        text: lines(...findings.map(({ what, ok, detail }) => `${ok ? 'ok  ' : 'MEND'}  ${what}: ${detail}`)),
        exitCode: examinedExitCode(findings),
      });
    });
}

async function findingsOf(self: Command): Promise<Finding[]> {
  let settings: Settings | undefined;
  const findings = [
    await finding('settings', () => {
      settings = platformSettings(self);
      return Promise.resolve(`every value can be used; business days are of ${settings.platform.timeZone}`);
    }),
  ];
  if (settings === undefined) return findings;
  const checked = settings;
  // What opening the house throws is the database's or the object store's own sentence.
  const opened = await finding('database', async () => {
    let kind = '';
    await withPlatform(
      checked,
      async (house) => {
        kind = house.database.kind === 'postgres' ? 'PostgreSQL' : `embedded, in ${checked.dataDir}`;
        findings.push({ what: 'database', ok: true, detail: kind, exitCode: 0 });
        let merchants: Awaited<ReturnType<typeof chosenMerchants>> = [];
        findings.push(
          await finding('merchants', async () => {
            merchants = await chosenMerchants(house, []);
            return merchants.map(({ merchantNo }) => merchantNo).join(', ');
          }),
        );
        findings.push(...(await examine(house, merchants, stopSignal())));
      },
      true,
    );
    return kind;
  });
  if (!opened.ok) findings.push(opened);
  return findings;
}
