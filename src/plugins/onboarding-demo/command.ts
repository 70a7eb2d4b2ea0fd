/** `demo-onboarding`: shows the way from an application to the new merchant's first statement and a beneficiary. */
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { EVERY_ACCOUNT } from '../../ledger/account-filter.ts';
import { prepareRegistration } from '../submissions/registration-check.ts';
import { registerBeneficiary } from '../submissions/register.ts';
import { addDays, dayOf } from '../../ledger/business-day.ts';
import { submitApplication } from '../submissions/submit.ts';
import { chosenMerchants, oneMerchant } from '../../run/chosen-merchants.ts';
import { openPlatformApp, runDeps, type PlatformApp } from '../../run/app.ts';
import { executeReferenceRun, listName, referenceWork } from '../reference/run.ts';
import { executeRun } from '../../run/run.ts';
import { sumOfSync } from '../../sync/sync-report.ts';
import type { ScenarioInput } from '../sandbox/scenario.ts';
import type { Sandbox } from '../sandbox/server.ts';
import type { Settings } from '../../settings/settings.ts';
import { applicationById } from '../submissions/applications.ts';
import { listBeneficiaries } from '../submissions/registrations.ts';
import { listNotifications } from '../submissions/notifications.ts';
import { packageFile } from '../../host/files.ts';
import { listStatements } from '../../store/statements/statements.ts';
import type { Serving } from '../submissions/serve.ts';
import { registerDeps, registrationRules } from '../submissions/beneficiary-command.ts';
import { print, stopSignal, type GlobalFlags } from '../../cli/context.ts';
import { submitDeps } from '../submissions/onboard-command.ts';
import { counted } from '../../cli/output/text.ts';
import { SANDBOX_URL, settingsForDemo } from '../sandbox/demo.ts';

const SETTINGS_FILE = '.daybook/demo-onboarding.yaml';
const DATA_DIR = '.daybook/demo-onboarding';
/** A review of the sandbox takes a second or less. */
const RESULT_MS_MAX = 20_000;
const CHECK_EVERY_MS = 50;

/** A platform without the demo's merchant: the application makes this merchant. */
const SCENARIO: ScenarioInput = {
  seed: 1101,
  timeZone: 'Asia/Shanghai',
  from: '2026-03-01',
  to: '2026-03-31',
  now: '2026-04-01T01:30:00+08:00',
  merchants: [{ merchantNo: 'SANDBOX-10001', token: 'made-up-token-of-10001', currencies: ['USD'] }],
};

const config = (name: string): string => packageFile(`config/${name}`);
const APPLICATION = config('application.example.yaml');
const BENEFICIARY = config('beneficiary.example.yaml');
const DAYS = 3;

export function demoOnboardingCommand(command: Command): void {
  command.action(async (_flags: object, self: Command) => {
    const { json } = self.optsWithGlobals<GlobalFlags>();
    const step: Step = (text) => json !== true && void process.stdout.write(`${text}\n`);
    const { createSandbox } = await import('../sandbox/server.ts');
    const sandbox = createSandbox(SCENARIO);
    const { url } = await sandbox.listen({ port: 0 });
    try {
      const output = await withServing(demoSettings(url), (stage) => onboard({ ...stage, sandbox }, step));
      print(self, { document: output, text: NEXT });
    } finally {
      await sandbox.close();
    }
  });
}

type Step = (text: string) => void;

async function onboard(stage: Stage & { readonly sandbox: Sandbox }, step: Step) {
  const { app, sandbox } = stage;
  const reference = await readReference(stage, step);
  const application = await apply(stage, step);
  const merchant = await oneMerchant(app, application.merchantNo ?? undefined);
  const statements = await firstStatements(stage, step);
  const beneficiary = await register(stage, step);
  await sandbox.settled();
  const notifications = await listNotifications(app.database.db, { all: true, limit: 10 });
  return { reference, application, merchantNo: merchant.merchantNo, statements, beneficiary, notifications };
}

async function readReference({ app, signal }: Stage, step: Step) {
  const { lists } = await executeReferenceRun(referenceWork(app, signal));
  const sizes = lists.map((list) => `${listName(list)} ${list.itemCount ?? 'not read'}`);
  step(`1. Reference data (sp2502)\n   ${sizes.join(', ')}\n`);
  return lists;
}

async function apply({ app, serving, signal }: Stage, step: Step) {
  const { db } = app.database;
  const sent = await submitApplication(
    { file: parse(readFileSync(APPLICATION, 'utf8')) as unknown, replaces: null },
    { ...submitDeps(app, signal), newOrderNo: () => `DEMO${randomBytes(12).toString('hex')}` },
  );
  step(
    `2. Application (sp1101) from ${relative('.', APPLICATION)}\n` +
      `   ${sent.state} as bizFlow ${sent.bizFlow ?? 'none'}: received, awaiting review\n`,
  );
  const decided = await until(async () => {
    const row = await applicationById(db, sent.id);
    return row?.state === 'accepted' ? undefined : (row ?? undefined);
  });
  step(
    `3. Result (sp3101), pushed to ${serving.url}/notify/onboarding/<secret>\n` +
      `   kept, answered with 200, then processed: ${decided.state}, merchant ${decided.merchantNo ?? 'none'}; its token ` +
      'is stored encrypted\n',
  );
  return decided;
}

async function firstStatements({ app, signal }: Stage, step: Step) {
  const { settings, database, now } = app;
  const to = addDays(dayOf(now().getTime(), settings.platform.timeZone), -1);
  const range = { from: addDays(to, 1 - DAYS), to };
  const report = await executeRun(
    { command: 'run', range, merchants: await chosenMerchants(app, null), currencies: null },
    runDeps(app, signal),
  );
  const statements = await listStatements(database.db, {
    ...EVERY_ACCOUNT,
    fromDay: range.from,
    toDay: range.to,
  });
  const { inserted } = sumOfSync(report.sync);
  const folder = relative('.', resolve(settings.dataDir, 'statements'));
  step(
    `4. Ledger (sp2404) of ${range.from} to ${range.to}\n` +
      `   the first call with the token succeeded, so the merchant joins the nightly job; ` +
      `${counted(inserted, 'entry', 'entries')} stored\n` +
      ['   first statements, proven and published:', ...statements.map(lineOf(folder)), ...report.notes].join(
        '\n     ',
      ) +
      '\n',
  );
  return statements;
}

const lineOf =
  (folder: string) =>
  ({ object_key, verdict }: { readonly object_key: string; readonly verdict: string }): string =>
    `${folder}/${object_key}  ${verdict}`;

async function register({ app, signal }: Stage, step: Step) {
  const { settings, database, now } = app;
  const { db } = database;
  const file = parse(readFileSync(BENEFICIARY, 'utf8')) as unknown;
  const merchant = await oneMerchant(app, undefined);
  const registration = await prepareRegistration(db, file, registrationRules(settings, now()));
  const { beneficiary } = await registerBeneficiary(registerDeps(app, signal), merchant, registration);
  step(
    `5. Beneficiary (sp1401) from ${relative('.', BENEFICIARY)}\n` +
      `   payeeId ${beneficiary.payeeId ?? 'not known yet'}, status ${beneficiary.status}: under review\n`,
  );
  const decided = await until(async () => {
    const [row] = await listBeneficiaries(db, beneficiary.id);
    return row?.status === '01' ? undefined : row;
  });
  step(
    `6. Result (sp3401), pushed to its own path\n   status ${decided.status}: ` +
      `${decided.status === '04' ? 'approved, it can be paid' : 'rejected'}\n`,
  );
  return decided;
}

interface Stage {
  readonly app: PlatformApp;
  readonly serving: Serving;
  readonly signal: AbortSignal;
}

/** Settings from `SETTINGS_FILE`, which is written if there is none. Deletes what an earlier demo stored. */
function demoSettings(url: string): Settings {
  rmSync(DATA_DIR, { recursive: true, force: true });
  return settingsForDemo(SETTINGS_FILE, settingsText, url);
}

const settingsText = (): string => `# Written by \`npm run demo:onboarding\`.
platform:
  baseUrl: ${SANDBOX_URL}
  timeZone: ${SCENARIO.timeZone ?? ''}
  referralChannel: A0001
daybook:
  now: ${SCENARIO.now ?? ''}
  dataDir: ${DATA_DIR}
  listen: 127.0.0.1:0
  referenceCountries: HK
  secretKeys: demo:${randomBytes(32).toString('base64')}
`;

/** Opens the app and serves its notifications on a free port, which is also the public address here. */
async function withServing<Result>(
  settings: Settings,
  work: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const app = await openPlatformApp(settings, { env: {} });
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopSignal(), stopping.signal]);
  try {
    const { serve } = await import('../submissions/serve.ts');
    const serving = await serve(app, settings, signal, {
      onRefusal: () => undefined,
      onProcessed: () => undefined,
      onFault: (error) => process.stderr.write(`processing failed: ${String(error)}\n`),
    });
    try {
      const reachable = { ...settings, publicUrl: serving.url };
      return await work({ app: { ...app, settings: reachable }, serving, signal });
    } finally {
      stopping.abort();
      await serving.ended;
    }
  } finally {
    await app.close();
  }
}

/** Calls `find` until it returns something. Throws after `RESULT_MS_MAX`. */
async function until<Found>(find: () => Promise<Found | undefined>): Promise<Found> {
  for (let waitedMs = 0; waitedMs < RESULT_MS_MAX; waitedMs += CHECK_EVERY_MS) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(CHECK_EVERY_MS);
  }
  throw new Error(`the sandbox pushed no result within ${RESULT_MS_MAX / 1_000} s`);
}

const command = (rest: string): string => `  npx daybook ${rest} --config ${SETTINGS_FILE}`;
const NEXT = [
  'What to type next:',
  ...['onboard list', 'beneficiary status', 'notifications --all', 'merchants list', 'statements list'].map(
    command,
  ),
].join('\n');
