/** The receipt of an application in every legal form, from the command that submits to the result that is pushed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createInbox } from '../../../../src/plugins/submissions/notifications.ts';
import { application } from './applications.ts';
import { KEYS, NOW } from '../notifications/support.ts';
import { answer, outOfScope, type Act } from '../../../platform/stranger.ts';
import { emptyTables, freshDatabase } from '../../../support/database.ts';
import { daybook } from '../../../cli/daybook.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
let file: string;
beforeAll(async () => {
  database = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), 'daybook-receipts-'));
  file = join(folder, 'merchant.yaml');
  writeFileSync(file, stringify(application()));
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => emptyTables(database.db));

const run = (url: string, ...args: readonly string[]) =>
  daybook(args, {
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    PLATFORM_BASE_URL: url,
    PLATFORM_TIME_ZONE: 'Asia/Shanghai',
    PLATFORM_RETRIES_MAX: '0',
    DAYBOOK_NOW: NOW.toISOString(),
    DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
    DAYBOOK_PUBLIC_URL: 'https://daybook.example.com',
  });

/** Submits to a platform that answers so. */
async function submitted(act: Act) {
  const { url, received } = await outOfScope(act);
  const { code, stdout } = await run(url, 'onboard', 'submit', file, '--json');
  const { callbackUrl } = JSON.parse(received[0]!.body) as { callbackUrl: string };
  return { code, row: JSON.parse(stdout) as Record<string, unknown>, secret: callbackUrl.split('/').at(-1)! };
}

const json = (reply: object, status = 200) => answer(JSON.stringify(reply), status);
const LONG = 'FLOW/2026/03/10-4711.a1b2c3d4e5f60718293a4b5c6d7e8f90';

it.each<[string, Act, string]>([
  ['only its status', json({ bizFlow: 'FLOW1', status: 'ACCEPT' }), 'FLOW1'],
  ['a number over 32 characters', json({ bizFlow: LONG, status: 'ACCEPT', code: 'S00001' }), LONG],
  [
    'only its status, in an envelope',
    json({ head: { code: 200 }, body: { bizFlow: LONG, status: 'ACCEPT' } }),
    LONG,
  ],
  [
    'only its status, next to an HTTP status of an error',
    json({ bizFlow: 'FLOW1', status: 'ACCEPT' }, 400),
    'FLOW1',
  ],
  ['blanks around its fields', json({ bizFlow: ' FLOW 1 ', status: 'ACCEPT ', code: 'S00001 ' }), 'FLOW 1'],
])(
  'a receipt with %s is accepted, and the result under its number is applied',
  async (_form, act, bizFlow) => {
    const { code, row, secret } = await submitted(act);
    expect([code, row['state'], row['bizFlow']]).toEqual([0, 'accepted', bizFlow]);
    expect((await run('http://127.0.0.1:1', 'onboard', 'status', String(row['id']))).stdout).toContain(
      bizFlow,
    );
    const result = {
      bizFlow,
      code: 'S00000',
      message: 'Success',
      merchantNo: 'M1',
      merNameEn: 'Acme',
      token: 't',
    };
    const inbox = createInbox({ db: database.db, secretKeys: KEYS, now: () => NOW });
    await inbox.keep({ kind: 'onboarding', secret, body: JSON.stringify(result) });
    expect((await run('http://127.0.0.1:1', 'notifications', 'process')).stdout).toBe('1 applied\n');
  },
);

it.each<[string, object, string]>([
  [
    'a receipt whose number is too long to be one',
    { bizFlow: `F-${'x'.repeat(200)}`, status: 'ACCEPT' },
    `F-${'x'.repeat(200)}`,
  ],
  ['a receipt whose number cannot be printed', { bizFlow: 'FLOW\u00071', code: 'S00001' }, 'FLOW\\u00071'],
  ['a receipt for another order', { bizFlow: 'FLOW1', merOrderNo: 'other', code: 'S00001' }, 'FLOW1'],
  ['a reply that is no receipt', { bizFlow: 'FLOW1', code: '0' }, 'FLOW1'],
  ['a reply that says both', { bizFlow: 'FLOW1', status: 'ACCEPT', code: 'E1' }, 'FLOW1'],
])('the number in %s is shown to the person who settles it', async (_form, reply, shown) => {
  const { code, row } = await submitted(json(reply));
  expect([code, row['state'], row['bizFlow']]).toEqual([4, 'unknown', null]);
  const status = await run('http://127.0.0.1:1', 'onboard', 'status', String(row['id']));
  expect(status.stdout).toContain(shown);
  const stored = await database.db.selectFrom('application').selectAll().execute();
  expect(JSON.stringify(stored)).not.toContain(String(Object.values(reply)[0]));
});

it.each([LONG, 'FLOW 1', '申请-1'])('an unknown application is settled under %s', async (bizFlow) => {
  const { row } = await submitted(json({ code: 'S00001' }));
  const settled = await run(
    'http://127.0.0.1:1',
    'onboard',
    'settle',
    String(row['id']),
    '--biz-flow',
    ` ${bizFlow} `,
  );
  expect(settled).toMatchObject({ code: 0, stdout: expect.stringContaining(`bizFlow ${bizFlow}`) });
});

it('a number that cannot be one is refused', async () => {
  const { row } = await submitted(json({ code: 'S00001' }));
  for (const wrong of ['', ' ', 'a\tb', 'x'.repeat(129)])
    expect(
      await run('http://127.0.0.1:1', 'onboard', 'settle', String(row['id']), '--biz-flow', wrong),
    ).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--biz-flow takes 1 to 128 printable characters'),
    });
});
