/** Receipts and results in the forms that the sandbox plays, from `onboard submit` and `beneficiary register` to their end. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { ScenarioInput } from '../../src/plugins/sandbox/scenario.ts';
import { createSandbox, type Sandbox } from '../../src/plugins/sandbox/server.ts';
import { daybook, startDaybook, type Env, type Started } from '../cli/daybook.ts';
import { ENTERPRISE } from '../plugins/submissions/beneficiaries/files.ts';
import { KEYS } from '../plugins/submissions/notifications/support.ts';
import { application } from '../plugins/submissions/onboarding/applications.ts';
import { FROM, NIGHT, OTHER, scenario } from '../support/stage.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
let env: Env;
let serving: Started;
let sandbox: Sandbox | undefined;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-forms-'));
  env = {
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    PLATFORM_TIME_ZONE: 'Asia/Shanghai',
    DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
    DAYBOOK_NOW: NIGHT,
    DAYBOOK_LOG_LEVEL: 'silent',
  };
  serving = startDaybook(['serve', '--json'], { ...env, DAYBOOK_LISTEN: '127.0.0.1:0' });
  const { url } = JSON.parse(String((await once(serving.child.stdout!, 'data'))[0])) as { url: string };
  env = { ...env, DAYBOOK_PUBLIC_URL: url };
});
afterAll(async () => {
  serving.child.kill('SIGTERM');
  await serving.ended;
  await database.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => emptyTables(database.db));
afterEach(() => sandbox?.close());

async function play(latitude: ScenarioInput['latitude']): Promise<void> {
  sandbox = createSandbox({
    ...scenario({ to: FROM, merchants: [{ ...OTHER, currencies: ['USD'] }] }),
    ...{ reviews: { delayMs: 200 }, pushes: { retryMs: 20, retryMsMax: 100 }, latitude },
  });
  env = { ...env, PLATFORM_BASE_URL: (await sandbox.listen({ port: 0 })).url };
}

const run = async (args: readonly string[], more: Env = {}) => {
  const { code, stdout, stderr } = await daybook(args, { ...env, ...more });
  return {
    code,
    stdout,
    stderr,
    document: args.includes('--json') ? (JSON.parse(stdout) as Record<string, unknown>) : {},
  };
};

async function submitted(change: Readonly<Record<string, unknown>> = {}) {
  const file = join(folder, 'merchant.yaml');
  await writeFile(file, stringify(application(change)));
  return run(['onboard', 'submit', file, '--json']);
}
const status = async () => (await run(['onboard', 'status', '1', '--json'])).document;

it.each<[string, ScenarioInput['latitude']]>([
  ['a receipt of its status alone', { receipt: 'status' }],
  ['a receipt of its code alone, in an envelope', { receipt: 'code', envelope: 'nested' }],
  ['numbers of 100 characters', { receipt: 'status', flowCharacters: 100 }],
  ['blanks around numbers and codes', { padded: true }],
  [
    'blanks around numbers and codes, in an envelope',
    { padded: true, envelope: 'text', codesAsNumbers: true },
  ],
  ['a merchant’s number with a blank and a slash', { merchantNo: 'M {digits}/#1' }],
  ['a merchant’s number in Chinese', { merchantNo: '商户号{digits}' }],
])('with %s an application is approved, and its ledger is read', async (_form, latitude) => {
  await play(latitude);
  expect((await submitted()).code).toBe(0);
  await expect.poll(async () => (await status())['state']).toBe('approved');
  const done = await run(['run', '--from', FROM, '--to', FROM]);
  expect(done.code, done.stderr + done.stdout).toBe(0);
  expect(done.stdout).toContain(String((await status())['merchantNo']));
});

it('a code longer than the document allows rejects, and is shown', async () => {
  await play({ rejectionCode: 'REJECTED_BY_RISK' });
  expect((await submitted({ payerCity: 'SANDBOX-REJECT' })).code).toBe(0);
  await expect.poll(async () => (await status())['state']).toBe('rejected');
  expect((await run(['onboard', 'status', '1'])).stdout).toContain('REJECTED_BY_RISK');
});

it.each<[NonNullable<NonNullable<ScenarioInput['latitude']>['pushBody']>, string]>([
  ['form', 'a form'],
  ['field', 'a form'],
  ['gbk', 'JSON in GB18030'],
])('results written as %s wait for a person, who sees and applies them', async (pushBody, written) => {
  await play({ pushBody });
  expect((await submitted({ merNameEn: 'Blue Lantern §' })).code).toBe(0);
  const add = ['merchants', 'add', '--merchant-no', OTHER.merchantNo, '--token-env', 'GIVEN'];
  expect((await run(add, { GIVEN: OTHER.token })).code).toBe(0);
  const file = join(folder, 'payee.yaml');
  await writeFile(file, stringify({ ...ENTERPRISE, companyName: '§' }));
  const registered = await run(['beneficiary', 'register', file, '--merchant', OTHER.merchantNo]);
  expect(registered.code, registered.stderr).toBe(0);
  const listed = async () =>
    (await run(['notifications', '--json'])).document['notifications'] as {
      number: number;
      outcome: string;
      kind: string;
    }[];
  // One that is not dealt with yet is listed as well.
  const malformed = async () => (await listed()).filter(({ outcome }) => outcome === 'malformed');
  await expect.poll(async () => (await malformed()).length).toBe(pushBody === 'gbk' ? 1 : 2);
  for (const { number } of await malformed())
    expect((await run(['notifications', 'apply', String(number)])).stdout).toContain(`read as ${written}`);
  expect(await status()).toMatchObject({ state: 'approved' });
  // Of a registration there is nothing but ASCII, which is the same in GBK.
  await expect
    .poll(async () => (await run(['beneficiary', 'status', '1', '--json'])).document)
    .toMatchObject({ status: '04' });
});
