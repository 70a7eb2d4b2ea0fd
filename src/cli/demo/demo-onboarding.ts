/** `demo-onboarding`: shows the way from an application to the new merchant's first statement and a beneficiary. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { EVERY_ACCOUNT } from '../../ledger/account-filter.ts';
import { prepareRegistration } from '../../beneficiaries/check.ts';
import { registerBeneficiary } from '../../beneficiaries/register.ts';
import { addDays, dayOf } from '../../ledger/business-day.ts';
import { submitApplication } from '../../onboarding/submit.ts';
import { chosenMerchants, oneMerchant } from '../../run/chosen-merchants.ts';
import { runDeps } from '../../run/app.ts';
import { executeReferenceRun, listName, referenceWork } from '../../run/reference-run.ts';
import { executeRun } from '../../run/run.ts';
import { sumOfSync } from '../../sync/sync-report.ts';
import type { Sandbox } from '../../sandbox/server.ts';
import { applicationById } from '../../store/onboarding/applications.ts';
import { listBeneficiaries } from '../../store/beneficiaries/beneficiaries.ts';
import { listNotifications } from '../../store/notifications/notifications.ts';
import { newNotifySecret } from '../../store/notifications/notify-path.ts';
import { packageFile } from '../../host/package-file.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { listStatements } from '../../store/statements/statements.ts';
import { print, type GlobalFlags } from '../context.ts';
import { demoSettings, SCENARIO, SETTINGS_FILE, until, withServing, type Stage } from './demo-stage.ts';
import { counted } from '../output/text.ts';

const config = (name: string): string => packageFile(`config/${name}`);
const APPLICATION = config('application.example.yaml');
const BENEFICIARY = config('beneficiary.example.yaml');
const DAYS = 3;

export function addDemoOnboardingCommand(program: Command): void {
  program
    .command('demo-onboarding')
    .description('an application, its approval, the first statement and a beneficiary, against the sandbox')
    .action(async (_flags: object, self: Command) => {
      const { json } = self.optsWithGlobals<GlobalFlags>();
      const step: Step = (text) => json !== true && void process.stdout.write(`${text}\n`);
      const { createSandbox } = await import('../../sandbox/server.ts');
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
  const { settings, now } = app;
  const { db } = app.database;
  const sent = await submitApplication(
    { file: parse(readFileSync(APPLICATION, 'utf8')) as unknown, replaces: null },
    {
      db,
      client: app.applications,
      secretKeys: settings.secretKeys,
      rules: {
        codeLists: settings.platform.codeLists,
        filePaths: settings.platform.filePaths,
        isLocalFile: existsSync,
        today: now().toISOString().slice(0, 10),
      },
      referralChannel: settings.platform.referralChannel,
      publicUrl: settings.publicUrl,
      holder: thisHolder(),
      now,
      newOrderNo: () => `DEMO${randomBytes(12).toString('hex')}`,
      newSecret: newNotifySecret,
      signal,
    },
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
  const { walletMethods, filePaths } = settings.platform;
  const file = parse(readFileSync(BENEFICIARY, 'utf8')) as unknown;
  const merchant = await oneMerchant(app, undefined);
  const registration = await prepareRegistration(db, file, {
    walletMethods,
    filePaths,
    isLocalFile: existsSync,
    today: now().toISOString().slice(0, 10),
  });
  const { beneficiary } = await registerBeneficiary(
    {
      db,
      client: app.beneficiaries,
      secretKeys: settings.secretKeys,
      publicUrl: settings.publicUrl,
      holder: thisHolder(),
      now,
      signal,
    },
    merchant,
    registration,
  );
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

const command = (rest: string): string => `  npx daybook ${rest} --config ${SETTINGS_FILE}`;
const NEXT = [
  'What to type next:',
  ...['onboard list', 'beneficiary status', 'notifications --all', 'merchants list', 'statements list'].map(
    command,
  ),
].join('\n');
