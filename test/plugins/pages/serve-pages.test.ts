/** `serve --pages`: pages alone, with a login of the database and a key that open nothing else. */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { hashPassword } from '../../../src/plugins/pages/access/identity.ts';
import { Browser, PASSWORDS } from './access/support.ts';
import { openPagesStage } from './stage.ts';
import type { Stage } from '../../support/stage.ts';
import { daybook, envOf, startDaybook, type Env } from '../../cli/daybook.ts';

const key = (): string => `c1:${randomBytes(32).toString('base64')}`;

let stage: Stage;
let env: Env;
beforeAll(async () => {
  stage = await openPagesStage();
  const { db } = stage.app.database;
  // Tokens and results of before lie there, under keys that this process does not have.
  for (const role of ['pages', 'sessions', 'read-only'])
    await sql.raw(await readFile(`sql/roles/${role}.sql`, 'utf8')).execute(db);
  const name = `pages_${randomUUID().slice(0, 8)}`;
  await sql
    .raw(
      `CREATE ROLE ${name} LOGIN PASSWORD 'made-up' IN ROLE daybook_pages, daybook_sessions, daybook_read_only`,
    )
    .execute(db);
  const url = Object.assign(new URL(stage.app.settings.databaseUrl!), {
    username: name,
    password: 'made-up',
  });
  const hash = await hashPassword(PASSWORDS.ada, randomBytes(16));
  env = {
    ...envOf(stage),
    DATABASE_URL: url.href,
    DAYBOOK_PAGES_LISTEN: '127.0.0.1:0',
    DAYBOOK_PAGES_URL: 'http://127.0.0.1',
    DAYBOOK_HEALTH_LISTEN: '127.0.0.1:0',
    DAYBOOK_ACCESS_USERS: JSON.stringify({ ada: hash }),
    DAYBOOK_ACCESS_ROLES: JSON.stringify({ ada: 'operator' }),
  };
});
afterAll(() => stage.close());

interface Printed {
  readonly url: string | null;
  readonly healthUrl: string | null;
  readonly pagesUrl: string;
  readonly pagesLink: string | null;
}
/** Starts it, and returns what it printed first. */
async function started(given: Env): Promise<Printed & { readonly stop: () => Promise<void> }> {
  const serving = startDaybook(['serve', '--pages', '--json'], given);
  let printed = '';
  serving.child.stdout!.on('data', (text: string) => (printed += text));
  const stop = async (): Promise<void> => {
    serving.child.kill('SIGTERM');
    await serving.ended;
  };
  onTestFinished(stop);
  const first = await vi.waitFor(
    () => {
      const document = /^\{\n[^]*?^\}$/m.exec(printed)?.[0] ?? expect.fail(serving.reported());
      return JSON.parse(document) as Printed;
    },
    { timeout: 30_000 },
  );
  return { ...first, stop };
}

test('people log in, work, and stay logged in when it starts again with the same key, and with a newer one', async () => {
  const cookieKeys = key();
  const first = await started({ ...env, DAYBOOK_COOKIE_KEYS: cookieKeys });
  expect(first).toMatchObject({ url: null, pagesLink: null });
  const browser = new Browser(first.pagesUrl);
  const response = await browser.login('ada', PASSWORDS.ada);
  expect(response.status).toBe(303);
  const page = await (await browser.get('/names/SBX-M-1')).text();
  const field = (name: string): string => new RegExp(`name="${name}"\\s+value="([^"]*)"`).exec(page)![1]!;
  const named = { form_token: field('form_token'), seen: field('seen'), name: 'Acme' };
  expect((await browser.post('/names/SBX-M-1', named)).status).toBe(303);
  await first.stop();
  const port = new URL(first.pagesUrl).port;
  for (const keys of [cookieKeys, `${key().replace('c1', 'c2')},${cookieKeys}`]) {
    const again = await started({
      ...env,
      DAYBOOK_COOKIE_KEYS: keys,
      DAYBOOK_PAGES_LISTEN: `127.0.0.1:${port}`,
    });
    expect((await browser.get('/')).status).toBe(200);
    await again.stop();
  }
  await started({ ...env, DAYBOOK_COOKIE_KEYS: key(), DAYBOOK_PAGES_LISTEN: `127.0.0.1:${port}` });
  expect((await browser.get('/')).status).toBe(303);
});

test('it is ready, takes in no result, and reads no part of the inbox for its metrics', async () => {
  const { healthUrl, pagesUrl } = await started({ ...env, DAYBOOK_COOKIE_KEYS: key() });
  expect((await fetch(`${healthUrl}/readyz`)).status).toBe(200);
  const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
  expect(metrics).toContain('daybook_state_read{part="ledger"} 1');
  expect(metrics).not.toMatch(/daybook_inbox|daybook_state_read\{[^}]*\} 0/);
  const posted = await fetch(`${pagesUrl}/onboarding/secret`, { method: 'POST', body: '{}' });
  expect([403, 404]).toContain(posted.status);
});

test('keys that decrypt are not asked of it, and where they are given they sign cookies alone', async () => {
  // Not the key of this database: it is not even compared.
  const { healthUrl } = await started({ ...env, DAYBOOK_SECRET_KEYS: key() });
  expect((await fetch(`${healthUrl}/readyz`)).status).toBe(200);
});

test.each([
  [{ DAYBOOK_COOKIE_KEYS: '' }, /DAYBOOK_COOKIE_KEYS is not set/],
  [{ DAYBOOK_COOKIE_KEYS: key(), DAYBOOK_PAGES_LISTEN: '' }, /DAYBOOK_PAGES_LISTEN is not set/],
  [{ DAYBOOK_COOKIE_KEYS: 'c1:short' }, /DAYBOOK_COOKIE_KEYS/],
])('%o is refused before anything listens', async (change, said) => {
  const ended = await daybook(['serve', '--pages'], { ...env, ...change });
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(said) });
});

test('by the printed link, on this machine, without any key', async () => {
  const { pagesLink } = await started({
    ...env,
    ...{ DAYBOOK_ACCESS_USERS: '', DAYBOOK_ACCESS_ROLES: '', DAYBOOK_PAGES_URL: '' },
  });
  const { origin, pathname, search } = new URL(pagesLink!);
  const browser = new Browser(origin);
  expect((await browser.get(pathname + search)).status).toBe(303);
  expect((await browser.get('/')).status).toBe(200);
});
