/** `serve` where others reach it: logins as the settings have them, by the real command. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { hashPassword } from '../../../src/plugins/pages/access/identity.ts';
import { Browser, PASSWORDS } from './access/support.ts';
import { openPagesStage } from './stage.ts';
import type { Stage } from '../../support/stage.ts';
import { daybook, envOf, startDaybook, type Started } from '../../cli/daybook.ts';

const MARCH = '/m/SBX-M-1/2026-03';

let stage: Stage;
let serving: Started;
let url: string;
let printed = '';
beforeAll(async () => {
  stage = await openPagesStage();
  const hash = (password: string) => hashPassword(password, randomBytes(16));
  serving = startDaybook(['serve'], {
    ...envOf(stage),
    DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    DAYBOOK_LISTEN: '127.0.0.1:0',
    DAYBOOK_PAGES_LISTEN: '0.0.0.0:0',
    DAYBOOK_ACCESS_USERS: JSON.stringify({
      ada: await hash(PASSWORDS.ada),
      vera: await hash(PASSWORDS.vera),
    }),
    DAYBOOK_ACCESS_ROLES: JSON.stringify({
      ada: 'operator',
      vera: { role: 'viewer', merchants: ['SBX-M-2'] },
    }),
  });
  serving.child.stdout!.on('data', (text: string) => (printed += text));
  url = await vi.waitFor(
    () => /pages: http:\/\/[^:]+(:\d+)\//.exec(printed)?.[1] ?? expect.fail(serving.reported()),
    { timeout: 30_000 },
  );
  url = `http://127.0.0.1${url}`;
});
afterAll(async () => {
  serving.child.kill('SIGTERM');
  await serving.ended;
  await stage.close();
});

test('nobody sees anything before the login', async () => {
  const browser = new Browser(url);
  for (const path of ['/', MARCH, '/nothing']) {
    const response = await browser.get(path);
    expect([response.status, response.headers.get('location')]).toEqual([
      303,
      `/login?to=${encodeURIComponent(path)}`,
    ]);
  }
  expect((await browser.post(MARCH, { despite: 'mine' })).status).toBe(403);
  expect((await browser.login('ada', 'a wrong one')).status).toBe(401);
  expect(await (await browser.get('/login')).text()).not.toContain('SBX-M-1');
});

test('an operator comes in, with a cookie for TLS alone, and closes a month under their own name', async () => {
  const browser = new Browser(url);
  const response = await browser.login('ada', PASSWORDS.ada, MARCH);
  expect([response.status, response.headers.get('location')]).toEqual([303, MARCH]);
  // Off loopback a browser sends the cookie over TLS alone, which a proxy in front of it ends.
  expect(browser.set.filter((line) => !line.includes('Secure'))).toEqual([]);
  const page = await (await browser.get(`${MARCH}?close=yes`)).text();
  const formToken = /name="form_token" value="([^"]+)"/.exec(page)![1]!;
  const closed = await browser.post(MARCH, { form_token: formToken, despite: 'the auditor asks for it' });
  expect([closed.status, closed.headers.get('location')]).toEqual([303, `${MARCH}?done=yes`]);
  const { by_whom: by } = await stage.app.database.db
    .selectFrom('audit_event')
    .select('by_whom')
    .where('command', '=', 'close')
    .executeTakeFirstOrThrow();
  expect(by).toBe('ada');
});

test('a viewer finds the merchants of others nowhere, and does nothing', async () => {
  const browser = new Browser(url);
  await browser.login('vera', PASSWORDS.vera);
  expect((await browser.get(MARCH)).status).toBe(404);
  const page = await (await browser.get('/')).text();
  expect(page).toContain('vera, viewer');
  const formToken = /name="form_token" value="([^"]+)"/.exec(page)![1]!;
  expect((await browser.post('/m/SBX-M-2/2026-03', { form_token: formToken })).status).toBe(403);
  expect((await browser.post('/logout', { form_token: formToken })).status).toBe(303);
  expect((await browser.get('/')).headers.get('location')).toContain('/login');
});

test('an operator at the machine ends every login of a name', async () => {
  const [one, other, veras] = [new Browser(url), new Browser(url), new Browser(url)];
  for (const browser of [one, other]) await browser.login('ada', PASSWORDS.ada);
  await veras.login('vera', PASSWORDS.vera);
  const ended = await daybook(['access', 'logout', 'ada', '--by', 'Otto', '--json'], envOf(stage));
  expect(ended.code).toBe(0);
  expect((JSON.parse(ended.stdout) as { ended: number }).ended).toBeGreaterThanOrEqual(2);
  for (const browser of [one, other])
    expect((await browser.get('/')).headers.get('location')).toContain('/login');
  expect((await veras.get('/')).status).toBe(200);
  const again = await daybook(['access', 'logout', 'nobody'], envOf(stage));
  expect([again.code, again.stdout]).toEqual([0, '0 logins of nobody ended\n']);
  const event = await stage.app.database.db
    .selectFrom('audit_event')
    .select(['by_whom', 'subject'])
    .where('command', '=', 'access logout')
    .orderBy('id')
    .executeTakeFirst();
  expect(event).toEqual({ by_whom: 'Otto', subject: 'ada' });
});
