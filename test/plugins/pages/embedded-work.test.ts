/** What people ask for on the pages of `serve` with the embedded database, which no other process can open. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/plugins/sandbox/server.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { fileRequest } from '../../../src/run/page-requests.ts';
import { daybook, startDaybook, type Env, type Started } from '../../cli/daybook.ts';
import { MERCHANT, scenario } from '../../support/stage.ts';
import { Browser } from './access/support.ts';
import { textOf } from './support.ts';

const DAY = '2026-03-03';
const WAIT = { timeout: 60_000, interval: 200 };

let sandbox: Sandbox;
let folder: string;
let env: Env;
beforeAll(async () => {
  sandbox = createSandbox(scenario());
  const { url } = await sandbox.listen({ port: 0 });
  folder = await mkdtemp(join(tmpdir(), 'daybook-embedded-work-'));
  env = {
    PLATFORM_BASE_URL: url,
    PLATFORM_TIME_ZONE: sandbox.scenario.timeZone,
    PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
    PLATFORM_TOKEN: MERCHANT.token,
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_NOW: '2026-03-06T01:30:00+08:00',
    DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    DAYBOOK_LISTEN: '127.0.0.1:0',
    DAYBOOK_PAGES_LISTEN: '127.0.0.1:0',
  };
});
afterAll(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true });
});

/** Serves until `use` has ended. */
async function served(
  use: (browser: Browser) => Promise<void>,
  { args = ['serve'], given = env }: { readonly args?: readonly string[]; readonly given?: Env } = {},
): Promise<void> {
  const serving: Started = startDaybook(args, given);
  let printed = '';
  serving.child.stdout!.on('data', (text: string) => (printed += text));
  try {
    const link = await vi.waitFor(
      () => /pages: (http:\S+)/.exec(printed)?.[1] ?? expect.fail(serving.reported()),
      WAIT,
    );
    const browser = new Browser(new URL(link).origin);
    await browser.get(link);
    await use(browser);
  } finally {
    serving.child.kill('SIGTERM');
    await serving.ended;
  }
}

async function asked(browser: Browser, kind: 'read'): Promise<string> {
  const page = await (await browser.get(`/m/${MERCHANT.merchantNo}/USD/${DAY}`)).text();
  const formToken = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? expect.fail(textOf(page));
  const form = { form_token: formToken, kind, merchant: MERCHANT.merchantNo, from: DAY, to: DAY };
  const answer = await browser.post('/work', form);
  expect(answer.status).toBe(303);
  return answer.headers.get('location')!;
}

const untilDone = (browser: Browser, at: string): Promise<void> =>
  vi.waitFor(async () => expect(textOf(await (await browser.get(at)).text())).toContain('Ended'), WAIT);

test('what is asked for on its pages is done by serve itself', async () => {
  expect((await daybook(['run', '--from', DAY, '--to', DAY], env)).code).toBe(0);
  await served(async (browser) => untilDone(browser, await asked(browser, 'read')));
});

test('what was left open when it was stopped is done by the next one', async () => {
  const database = await openDatabase({ databaseUrl: null, dataDir: folder });
  const left = { what: 'publish' as const, merchantNo: MERCHANT.merchantNo, from: DAY, to: DAY };
  const now = new Date(env.DAYBOOK_NOW!);
  const id = await fileRequest(database.db, left, { by: 'local', note: null, now });
  await database.close();
  await served((browser) => untilDone(browser, `/work/${id}`));
});

test('pages alone do it as well, with the stored token of the merchant', async () => {
  const given: Env = { ...env, PLATFORM_MERCHANT_NO: '', PLATFORM_TOKEN: '' };
  const added = await daybook(
    ['merchants', 'add', '--merchant-no', MERCHANT.merchantNo, '--token-env', 'MADE_UP_TOKEN'],
    { ...given, MADE_UP_TOKEN: MERCHANT.token },
  );
  expect(added).toMatchObject({ code: 0 });
  await served(async (browser) => untilDone(browser, await asked(browser, 'read')), {
    args: ['serve', '--pages'],
    given,
  });
});
