/**
 * `doctor`: checks settings, schedule, signing key, alerts, database, object store, platform and time zone, and says how to
 * fix each.
 */
import type { Command } from 'commander';
import { openObjectStore } from '../objects/open.ts';
import { examine, examinedExitCode, finding, type Finding } from '../run/doctor.ts';
import { clockOf, openPlatform } from '../run/app.ts';
import type { Settings } from '../settings/settings.ts';
import { openDatabase } from '../store/engine/connection.ts';
import { createLog, platformSettings, stopSignal, print } from './context.ts';
import { createRetryLog } from './output/progress-line.ts';
import { scheduledJobs } from './schedule.ts';
import { lines } from './output/text.ts';

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'check settings, schedule, signing key, alerts, database, object store, platform and time zone, and show how to fix each',
    )
    .action(async (_flags: object, self: Command) => {
      const findings = await findingsOf(self);
      print(self, {
        document: findings,
        text: lines(...findings.map(({ what, ok, detail }) => `${ok ? 'ok  ' : 'FIX '}  ${what}: ${detail}`)),
        exitCode: examinedExitCode(findings),
      });
    });
}

async function findingsOf(self: Command): Promise<Finding[]> {
  let settings: Settings | undefined;
  const found = await finding('settings', () => {
    settings = platformSettings(self);
    const unchecked = settings.allowInsecure.includes('certificates')
      ? '; NODE_TLS_REJECT_UNAUTHORIZED=0 is allowed, so certificates may go UNCHECKED'
      : '';
    const openly = settings.allowInsecure.includes('alerts')
      ? '; alerts may go by plain http and by mail without TLS, allowed by DAYBOOK_ALLOW_INSECURE'
      : '';
    return Promise.resolve(
      `every value can be used; business days are of ${settings.platform.timeZone}${unchecked}${openly}`,
    );
  });
  return settings === undefined ? [found] : [found, ...(await examined(settings))];
}

async function examined(settings: Settings): Promise<Finding[]> {
  const log = createLog(settings.logLevel);
  const platform = openPlatform(settings, { onRetry: createRetryLog(log, () => performance.now()) });
  try {
    const patient = {
      settings,
      jobs: scheduledJobs(settings.schedule),
      openDatabase: () => openDatabase(settings),
      openObjects: () => openObjectStore({ ...settings, env: process.env }),
      reader: platform.reader,
      now: clockOf(settings),
    };
    return await examine(patient, stopSignal());
  } finally {
    await platform.close();
  }
}
