/**
 * `demo`, which is `npm start`: runs the nightly job against the sandbox with an embedded database, and shows the
 * result.
 */
import { pagesSlot } from '../../web/pages.ts';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { packageFile } from '../../host/files.ts';
import { EVERY_ACCOUNT } from '../../ledger/account-filter.ts';
import { addDays, dayOf } from '../../ledger/business-day.ts';
import { openPlatformApp, runDeps, type PlatformApp } from '../../run/app.ts';
import { chosenMerchants } from '../../run/chosen-merchants.ts';
import { withRequests } from '../../run/requests.ts';
import type { RunReport } from '../../run/report.ts';
import { executeRun } from '../../run/run.ts';
import { sumOfSync } from '../../sync/sync-report.ts';
import { listAccountDays, type AccountDayRow } from '../../store/account-days.ts';
import { readScenario, type Scenario } from './scenario.ts';
import { loadSettings } from '../../settings/load.ts';
import type { Settings } from '../../settings/settings.ts';
import type { ListenAddress } from '../../settings/values/addresses.ts';
import { listBreaks } from '../../store/breaks/breaks.ts';
import { addMerchant } from '../../store/merchants.ts';
import { listStatements } from '../../store/statements/statements.ts';
import { createLog, stopSignal, print, type GlobalFlags } from '../../cli/context.ts';
import { createProgressLine } from '../../cli/output/progress-line.ts';
import { runDocument, accountDaysTable, breakTexts } from '../../cli/output/run-text.ts';
import { counted, lines, timesOf } from '../../cli/output/text.ts';
import { PORT_DEFAULT } from './command.ts';

const SCENARIO = packageFile('config/sandbox.yaml');
const SETTINGS_FILE = '.daybook/demo.yaml';
const DATA_DIR = '.daybook/demo';
const DAYS = 7;

export function demoCommand(command: Command): void {
  command.action(async (_flags: object, self: Command) => {
    const scenario = readScenario(SCENARIO);
    const { createSandbox } = await import('./server.ts');
    const sandbox = createSandbox(scenario);
    const { url } = await sandbox.listen({ port: 0 });
    try {
      const settings = settingsForDemo(SETTINGS_FILE, () => settingsText(scenario), url);
      const app = await openPlatformApp(settings, { env: {} });
      try {
        const signal = stopSignal();
        const report = await runWeek(app, scenario, signal);
        const show = async (pagesUrl: string | null): Promise<void> =>
          print(self, { document: runDocument(report), text: await demoText(app, report, pagesUrl) });
        const isForPerson = process.stdout.isTTY && self.optsWithGlobals<GlobalFlags>().json !== true;
        const onNext = (pagesLink: string): void =>
          print(self, { document: { pagesLink }, text: `Pages, the next time: ${pagesLink}` });
        if (isForPerson) await showDemoPages(app, signal, show, onNext);
        else await show(null);
      } finally {
        await app.close();
      }
    } finally {
      await sandbox.close();
    }
  });
}

/** The address that `daybook sandbox` listens on. */
export const SANDBOX_URL = `http://127.0.0.1:${PORT_DEFAULT}`;

/**
 * Reads settings from the file at `path`; if there is none, writes it from `text` first. The platform is at `url`.
 * The environment is ignored, as it may belong to a real installation. Throws `SettingsInvalid`.
 */
export function settingsForDemo(path: string, text: () => string, url: string): Settings {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text(), { mode: 0o600 });
  }
  const settings = loadSettings({
    env: {},
    configPath: path,
    readFile: (file) => readFileSync(file, 'utf8'),
    needs: ['platform'],
  });
  return { ...settings, platform: { ...settings.platform, baseUrl: url } };
}

const settingsText = ({
  timeZone,
  now,
}: Scenario): string => `# Written by \`npm start\`; speaks to \`npx daybook sandbox\`.
platform:
  baseUrl: ${SANDBOX_URL}
  timeZone: ${timeZone}
daybook:
  now: ${now ?? ''}
  dataDir: ${DATA_DIR}
  pagesListen: ${DEMO_PAGES.host}:${DEMO_PAGES.port}
  secretKeys: demo:${randomBytes(32).toString('base64')}
`;

async function runWeek(app: PlatformApp, scenario: Scenario, signal: AbortSignal): Promise<RunReport> {
  const { settings, database, now } = app;
  for (const { merchantNo, token } of scenario.merchants) {
    await addMerchant(database.db, { merchantNo, token, secretKeys: settings.secretKeys, now: now() });
  }
  const to = addDays(dayOf(now().getTime(), settings.platform.timeZone), -1);
  const progress = createProgressLine();
  try {
    return await executeRun(
      {
        command: 'run',
        range: { from: addDays(to, 1 - DAYS), to },
        merchants: await chosenMerchants(app, null),
        currencies: null,
      },
      runDeps(app, signal, progress.show),
    );
  } finally {
    progress.clear();
  }
}

/** Sorted by account and then day, so that each opening stands below the closing before it. */
const byAccount = (days: readonly AccountDayRow[]): AccountDayRow[] =>
  [...days].sort(
    (a, b) =>
      compare(a.merchant_no, b.merchant_no) || compare(a.currency, b.currency) || compare(a.day, b.day),
  );

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function demoText(
  { database, settings }: PlatformApp,
  report: RunReport,
  pagesUrl: string | null,
): Promise<string> {
  const range = { ...EVERY_ACCOUNT, fromDay: report.from, toDay: report.to };
  const days = byAccount(await listAccountDays(database.db, range));
  const breaks = await listBreaks(database.db, range);
  const statements = await listStatements(database.db, range);
  const folder = relative('.', resolve(settings.dataDir, 'statements'));
  const read = sumOfSync(report.sync);
  const command = (rest: string) => `  npx daybook ${rest} --config ${SETTINGS_FILE}`;
  const some = statements.find(({ verdict }) => verdict === 'broken') ?? statements[0];
  return lines(
    `A week of ledger, ${report.from} to ${report.to}, of ${counted(report.sync.length, 'merchant')}, from the sandbox:`,
    `${counted(read.requests, 'call')}, ${counted(read.entries, 'entry', 'entries')} read, ` +
      `${counted(read.inserted, 'new one')} stored, ` +
      `${counted(report.publish?.published.length ?? 0, 'statement')} published, in ${(report.elapsedMs / 1_000).toFixed(1)} s.`,
    '',
    accountDaysTable(days),
    '',
    breaks.length === 0 ? 'No break.' : `${counted(breaks.length, 'break')} to check:`,
    ...breakTexts(
      [...breaks].sort((a, b) => a.id - b.id),
      settings.platform.timeZone,
    ),
    breaks.length > 0 && timesOf(settings).note,
    ...report.notes.filter((note) => !note.includes('daybook breaks')),
    '',
    'Statements:',
    ...statements.map(({ object_key }) => `  ${folder}/${object_key}`),
    '',
    'What to type next:',
    command('breaks'),
    some === undefined
      ? false
      : command(
          `statements get --merchant ${some.merchant_no} --currency ${some.currency} --day ${some.day} --stdout`,
        ),
    `  npx daybook verify ${folder}`,
    `  npx daybook sandbox                      (leave it running; then, in another terminal)`,
    command('plan --from 2026-02-01 --to 2026-02-28'),
    command('run --from 2026-02-01 --to 2026-02-28'),
    settings.pagesListen !== null && `${command('serve')}      (pages in the browser)`,
    pagesUrl !== null && `\nPages: ${pagesUrl}  (this link opens them once; Ctrl-C ends it)`,
  );
}

/** Where `npx daybook serve` with the demo's settings shows them, too. */
const DEMO_PAGES: ListenAddress = { host: '127.0.0.1', port: 8082 };

/** Calls `show` with the pages' address once they are served, and closes them after the signal. */
async function showDemoPages(
  app: PlatformApp,
  signal: AbortSignal,
  show: (url: string | null) => Promise<void>,
  onNext: (url: string) => void,
): Promise<void> {
  // Loading the server takes long, and a script has no use for it.
  const { listenOn, ListenRefused } = await import('../../web/server.ts');
  const pages = await (await pagesSlot.part()?.())?.shown({ ...app.settings, pagesListen: DEMO_PAGES }, app);
  if (pages === undefined) return show(null);
  const serving = { onRefusal: () => undefined };
  let server = pages.createServer(serving);
  const url = await listenOn(server, DEMO_PAGES).catch(async (error: unknown) => {
    if (!(error instanceof ListenRefused)) throw error;
    // Somebody else has the port.
    server = pages.createServer(serving);
    return listenOn(server, { ...DEMO_PAGES, port: 0 });
  });
  try {
    pages.link?.onNext((path) => onNext(url + path));
    await show(url + (pages.link?.path() ?? '/'));
    // No other process can open this database, so what is asked for on the pages is done here.
    const log = createLog(app.settings.logLevel, { answers: true });
    await withRequests(app, log, signal, async () => {
      if (!signal.aborted) await once(signal, 'abort');
    });
  } finally {
    server.server.closeAllConnections();
    await server.close();
  }
}
