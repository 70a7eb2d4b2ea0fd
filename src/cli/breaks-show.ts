/** `breaks show`: one break as a case, with everything known about it and what the platform answers now. */
import type { Command } from 'commander';
import { readQuarantined } from '../platform/quarantined.ts';
import { askAboutBreak, type Asked } from '../run/breaks/break-answer.ts';
import { breakCase, type BreakCase } from '../run/breaks/break-case.ts';
import { messageToPlatform } from '../run/breaks/break-message.ts';
import { chosenMerchants } from '../run/chosen-merchants.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { openPlatform, type App } from '../run/app.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import { caseText } from './output/break-case-text.ts';
import { breakIdOf } from './breaks-case.ts';
import { createLog, offlineSettings, print, withApp } from './context.ts';
import { createRetryLog } from './output/retry-log.ts';
import { timesOf } from './output/times.ts';

/** Short, as a page must load quickly, and most of it does not need the platform. */
const RETRIES_MAX = 1;

export function addShowCommand(breaks: Command): void {
  breaks
    .command('show')
    .argument('<id>', 'the break’s number')
    .option('--offline', 'do not ask the platform')
    .description('one break as a case: the rows around it, what else is known, and a message to the platform')
    .addHelpText('after', '\nExamples:\n  daybook breaks show 7\n  daybook breaks show 7 --offline --json')
    .action(async (text: string, { offline }: { readonly offline?: boolean }, self: Command) => {
      const id = breakIdOf(text);
      const settings = offlineSettings(self);
      const times = timesOf(settings);
      const { zone } = times;
      await withApp(settings, async (app) => {
        const { clockToleranceS } = settings;
        const found = await breakCase(app.database.db, id, { clockToleranceS, readQuarantined });
        if (found === null)
          throw new UsageError(`no break has the number ${id}; \`daybook breaks --all\` lists them.`);
        const asked = offline === true ? NOT_ASKED : await ask(found, app, settings);
        const answer = 'answer' in asked ? asked.answer : null;
        const message = messageToPlatform(found, answer, { zone, now: app.now() });
        print(self, {
          document: documentOf(found, asked, { message, zone }),
          text: caseText(found, asked, { message, times }),
        });
      });
    });
}

const NOT_ASKED: Asked = { failure: 'not asked, as --offline says' };

async function ask(found: BreakCase, app: App, settings: SettingsWithoutPlatform): Promise<Asked> {
  const { platform } = settings;
  if (platform === null) return { failure: 'not asked, as its settings are missing (PLATFORM_BASE_URL)' };
  const { db } = app.database;
  const retriesMax = Math.min(RETRIES_MAX, platform.retriesMax);
  const complete = { ...settings, platform: { ...platform, retriesMax } };
  const log = createLog(settings.logLevel);
  const client = openPlatform(complete, { onRetry: createRetryLog(log, () => performance.now()) });
  try {
    const access = async () =>
      (await chosenMerchants({ database: app.database, settings: complete }, [found.row.merchant_no]))[0]!;
    return await askAboutBreak({ db, reader: client.reader, access }, found.row);
  } finally {
    await client.close();
  }
}

const documentOf = (
  { row, state, takenBy, ...found }: BreakCase,
  asked: Asked,
  { message, zone }: { readonly message: string | null; readonly zone: string },
) => ({
  break: { ...row, state, taken_by: takenBy },
  timeZone: zone,
  ...found,
  platform: 'answer' in asked ? asked.answer : null,
  platformNotAsked: 'failure' in asked ? asked.failure : null,
  message,
});
