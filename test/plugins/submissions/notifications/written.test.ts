/** Results in every legal form, posted to `serve` and handled by the commands. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { bodyPlace } from '../../../../src/plugins/submissions/notifications.ts';
import { applicationById, markUnknown } from '../../../../src/plugins/submissions/applications.ts';
import { merchantTokens } from '../../../../src/store/merchants.ts';
import { decryptSecret } from '../../../../src/store/secrets/secrets.ts';
import { daybook, type Env } from '../../../cli/daybook.ts';
import { emptyTables, freshDatabase } from '../../../support/database.ts';
import {
  accepted,
  beneficiaryResult,
  inReview,
  onboardingResult,
  submitting,
  type Subject,
} from './subjects.ts';
import { KEYS, NOW, serveOver, type Served } from './support.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
let env: Env;
let served: Served;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-written-'));
  env = {
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
    DAYBOOK_NOW: NOW.toISOString(),
  };
  served = await serveOver(database.db);
});
afterAll(async () => {
  await served.close();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => emptyTables(database.db));

const FORM = 'application/x-www-form-urlencoded';
/** 商户 in GBK. */
const NAME = Buffer.from([0xc9, 0xcc, 0xbb, 0xa7]);
const bytesOf = (text: string): Buffer<ArrayBuffer> =>
  Buffer.from(
    Buffer.concat(
      text.split('商户').flatMap((part, at) => (at === 0 ? [Buffer.from(part)] : [NAME, Buffer.from(part)])),
    ),
  );
const fieldsOf = (payload: object): string => String(new URLSearchParams(payload as Record<string, string>));

async function outcomesOf({ path }: Subject, ...bodies: readonly (string | Uint8Array<ArrayBuffer>)[]) {
  for (const body of bodies) expect((await served.post(path, body, FORM)).status).toBe(200);
  const { stdout } = await daybook(['notifications', 'process', '--json'], env);
  return (JSON.parse(stdout) as { outcomes: object }).outcomes;
}

const stateOf = async ({ id }: Subject) => (await applicationById(database.db, id))!;

it.each<[string, (one: Subject) => object]>([
  [
    'a blank and a slash in the merchant’s number',
    (one) => ({ ...onboardingResult(one), merchantNo: 'M 1/a' }),
  ],
  ['a merchant’s number in Chinese', (one) => ({ ...onboardingResult(one), merchantNo: '商户#1' })],
  ['a merchant’s number that begins with a dot', (one) => ({ ...onboardingResult(one), merchantNo: '..' })],
  [
    'blanks around its fields',
    (one) => ({
      bizFlow: ` ${one.flow} `,
      merOrderNo: `${one.merOrderNo} `,
      code: 'S00000 ',
      message: 'Success',
      merchantNo: ' M1 ',
      merNameEn: 'Acme',
      token: ' tok ',
    }),
  ],
  ['a process version that is none', (one) => ({ ...onboardingResult(one), processVersion: 'x'.repeat(40) })],
])('an approval with %s is applied', async (_form, payloadOf) => {
  const one = await accepted(database.db, 'A1');
  const payload = payloadOf(one) as { merchantNo: string; token: string };
  expect(await outcomesOf(one, JSON.stringify(payload))).toEqual({ applied: 1 });
  expect(await merchantTokens(database.db, KEYS)).toEqual([
    { merchantNo: payload.merchantNo.trim(), token: payload.token.trim() },
  ]);
});

it.each(['E0000000017', 'REJECTED BY RISK', '驳回', `E\u0000${'x'.repeat(300)}`])(
  'the code %j rejects, and is shown',
  async (code) => {
    const one = await accepted(database.db, 'A1');
    const payload = onboardingResult(one, { code, message: 'no', merchantNo: '', token: '' });
    expect(await outcomesOf(one, JSON.stringify(payload))).toEqual({ applied: 1 });
    const { state, problem } = await stateOf(one);
    expect([state, problem]).toEqual(['rejected', expect.stringContaining(code.slice(0, 1))]);
    expect(problem!.length).toBeLessThan(120);
    const { stdout } = await daybook(['onboard', 'status', String(one.id)], env);
    expect(stdout).toContain(code.length < 100 ? `the code ${code}` : 'the code E\\u0000xxx');
  },
);

it('S00001 decides nothing, and names the bizFlow of an application of which none is known', async () => {
  const [one, two] = [await accepted(database.db, 'A1'), await submitting(database.db, 'A2')];
  const receipt = (subject: Subject) =>
    JSON.stringify(
      onboardingResult(subject, { code: 'S00001', message: 'ACCEPT', merchantNo: '', token: '' }),
    );
  expect(await outcomesOf(one, receipt(one))).toEqual({ duplicate: 1 });
  expect(await outcomesOf(two, receipt(two))).toEqual({ waiting: 1 });
  await markUnknown(database.db, two, { problem: '-', detail: null, secretKeys: KEYS, now: NOW });
  expect(await outcomesOf(two)).toEqual({ applied: 1 });
  expect(await stateOf(one)).toMatchObject({ state: 'accepted' });
  expect(await stateOf(two)).toMatchObject({ state: 'accepted', bizFlow: two.flow, problem: null });
  expect(await outcomesOf(two, receipt(two))).toEqual({ duplicate: 1 });
  expect(await outcomesOf(two, JSON.stringify(onboardingResult(two)))).toEqual({ applied: 1 });
});

const nested = (payload: object): string => fieldsOf({ data: JSON.stringify(payload) });

it.each<[string, string, (payload: object) => string | Buffer<ArrayBuffer>]>([
  ['form', 'a form', fieldsOf],
  ['form with JSON in one field', 'a form', nested],
  ['form that is JSON alone', 'a form', (payload) => encodeURIComponent(JSON.stringify(payload))],
  ['JSON text in GBK', 'JSON in GB18030', (payload) => bytesOf(JSON.stringify(payload))],
  [
    'form in GBK',
    'a form in GB18030',
    (payload) => fieldsOf(payload).replaceAll(encodeURIComponent('商户'), '%C9%CC%BB%A7'),
  ],
  [
    'form in GBK that is not encoded',
    'a form in GB18030',
    (payload) => bytesOf(decodeURIComponent(fieldsOf(payload)).replaceAll('+', ' ')),
  ],
])('a %s is kept byte for byte, shown as read, and applied by a person', async (_form, written, bodyOf) => {
  const one = await accepted(database.db, 'A1');
  const payload = onboardingResult(one, { merNameEn: '商户', merchantNo: 'M1' });
  const body = bodyOf(payload);
  expect(await outcomesOf(one, body)).toEqual({ malformed: 1 });
  const row = await database.db.selectFrom('notification').selectAll().executeTakeFirstOrThrow();
  const kept = decryptSecret(KEYS, bodyPlace(row.id), row.body_ciphertext!);
  const bytes = kept.startsWith('base64:') ? Buffer.from(kept.slice(7), 'base64') : Buffer.from(kept);
  expect(bytes.equals(Buffer.from(body))).toBe(true);
  expect(row.reason).toContain(`it came as ${written}`);
  const number = String(row.number);
  const shown = await daybook(['notifications', 'show', number, '--reveal'], env);
  expect(shown.stdout).toContain(`read as ${written}`);
  expect(shown.stdout).toContain('merNameEn: 商户');
  const applied = await daybook(['notifications', 'apply', number, '--note', 'asked'], env);
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringContaining(`read as ${written}`) });
  expect(applied.stdout).toMatch(new RegExp(`bizFlow: ${one.flow}`));
  expect(applied.stdout).not.toContain('tok-A1');
  expect(await merchantTokens(database.db, KEYS)).toEqual([{ merchantNo: 'M1', token: 'tok-A1' }]);
  // The platform sends it again, as nothing tells it not to.
  expect(await outcomesOf(one, body)).toEqual({ duplicate: 1 });
});

it('a registration’s result in a form is applied by a person, and its fields may have blanks around them', async () => {
  const [one, two] = [await inReview(database.db, 'R1'), await inReview(database.db, 'R2')];
  expect(await outcomesOf(one, fieldsOf(beneficiaryResult(one)))).toEqual({ malformed: 1 });
  const { number } = await database.db.selectFrom('notification').select('number').executeTakeFirstOrThrow();
  const applied = await daybook(['notifications', 'apply', String(number)], env);
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringContaining('status: 04') });
  const padded = { status: ' 4', payeeId: ` P-R2 `, merOrderNo: 'R2 ', bizFlowNo: ` ${two.flow}` };
  expect(await outcomesOf(two, JSON.stringify(padded))).toEqual({ applied: 1 });
  const rows = await database.db
    .selectFrom('beneficiary')
    .select(['status', 'payee_id'])
    .orderBy('id')
    .execute();
  expect(rows).toEqual([
    { status: '04', payee_id: 'P-R1' },
    { status: '04', payee_id: 'P-R2' },
  ]);
});

it.each<[string, string | Buffer<ArrayBuffer>]>([
  ['a text that is no form', 'hello'],
  ['bytes of no known text', Buffer.from([0xff, 0xff, 0xff])],
  ['a form without the fields', 'a=1&b=%'],
  ['a text that resembles stored bytes', 'base64:AAAA'],
  ['nothing', ''],
])('%s is kept, and applied by nobody', async (_form, body) => {
  const one = await accepted(database.db, 'A1');
  expect(await outcomesOf(one, body)).toEqual({ malformed: 1 });
  const { number } = await database.db.selectFrom('notification').select('number').executeTakeFirstOrThrow();
  expect(await daybook(['notifications', 'show', String(number), '--reveal'], env)).toMatchObject({
    code: 0,
  });
  expect(await daybook(['notifications', 'apply', String(number)], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot be read as a result'),
  });
  expect(await stateOf(one)).toMatchObject({ state: 'accepted' });
});

it('S00001 is applied by no person', async () => {
  const one = await accepted(database.db, 'A1');
  const payload = onboardingResult(one, { code: 'S00001', merchantNo: '', token: '', bizFlow: 'another' });
  expect(await outcomesOf(one, JSON.stringify(payload))).toEqual({ contradiction: 1 });
  const { number } = await database.db.selectFrom('notification').select('number').executeTakeFirstOrThrow();
  expect(await daybook(['notifications', 'apply', String(number)], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('decides nothing'),
  });
});
