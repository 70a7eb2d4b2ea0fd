/** Which access there is: none without a login where others can come, and by the printed link elsewhere. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AccessMissing, openAccess } from '../../../../src/plugins/pages/access/open.ts';
import type { Database } from '../../../../src/store/engine/database.ts';
import { freshDatabase } from '../../../support/database.ts';
import { bareServer } from '../../../../src/web/server.ts';
import {
  accessSettings,
  Browser,
  guarded,
  loginPages,
  random,
  SECRET_KEYS,
  withPasswords,
} from './support.ts';

let database: Database;
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());

const LISTEN = { host: '127.0.0.1', port: 8080 };
const opened = (access: ReturnType<typeof accessSettings>, host: string, port = 8082) =>
  openAccess({
    settings: { access, secretKeys: SECRET_KEYS, cookieKeys: [], listen: LISTEN },
    pagesListen: { host, port },
    ...{ db: database.db, random, now: () => new Date() },
  });

test('off loopback nothing is served without a way to log in', () => {
  const none = accessSettings({});
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'books.example']) {
    expect(() => opened(none, host)).toThrow(AccessMissing);
    expect(() => opened(none, host)).toThrow(/DAYBOOK_ACCESS_USERS.*DAYBOOK_ACCESS_ROLES/);
  }
  expect(opened(withPasswords(), '0.0.0.0').canLogOut).toBe(true);
});

test('without a way to log in pages neither share the notifications’ port nor have an address for others', () => {
  const none = accessSettings({});
  expect(() => opened(none, LISTEN.host, LISTEN.port)).toThrow(/DAYBOOK_LISTEN.*set DAYBOOK_ACCESS_USERS/);
  const reported = accessSettings({ pagesUrl: 'https://books.example' });
  expect(() => opened(reported, '127.0.0.1')).toThrow(/DAYBOOK_PAGES_URL.*set DAYBOOK_ACCESS_USERS/);
  const local = accessSettings({ pagesUrl: 'http://127.0.0.1:8082' });
  expect(opened(local, '127.0.0.1').link).not.toBeNull();
  expect(opened(withPasswords(), LISTEN.host, LISTEN.port).canLogOut).toBe(true);
});

/** What came in on loopback without settings, over a real socket. */
async function shownByLink() {
  const { access, canLogOut, link } = opened(accessSettings({}), '127.0.0.1');
  const server = bareServer({ onRefusal: () => undefined });
  await server.register(async (inner) => {
    await access.register(inner, loginPages());
    inner.get('/', (request, reply) => ({
      ...access.personOf(request),
      formToken: access.formToken(request, reply),
    }));
    inner.post('/resolve', () => 'done');
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const next: string[] = [];
  link!.onNext((path) => next.push(path));
  return { url, link: link!, canLogOut, next, close: () => server.close() };
}

test('on loopback without settings the printed link opens the pages, once, and is followed by another', async () => {
  const { url, link, canLogOut, next, close } = await shownByLink();
  expect(canLogOut).toBe(true);
  const first = link.path();
  expect(first).toMatch(/^\/login\/link\/[\w-]{43}$/);
  const browser = new Browser(url);
  const come = await browser.get(first);
  expect([come.status, come.headers.get('location')]).toEqual([303, '/']);
  const { formToken, ...person } = (await (await browser.get('/')).json()) as Record<string, string>;
  expect(person).toEqual({ name: 'local', role: 'operator', merchants: null });
  expect((await browser.post('/resolve', { form_token: formToken! })).status).toBe(200);
  expect((await browser.post('/resolve', {})).status).toBe(403);
  const late = await new Browser(url).get(first);
  expect([late.status, await late.text()]).toEqual([
    401,
    expect.stringContaining('This link was used already'),
  ]);
  expect(next).toEqual([link.path()]);
  expect(link.path()).not.toBe(first);
  const another = new Browser(url);
  expect((await another.get(link.path())).status).toBe(303);
  expect((await another.get('/')).status).toBe(200);
  await close();
});

test('without the link nobody comes in, whatever a proxy or another program sends', async () => {
  const { url, link, next, close } = await shownByLink();
  const expectNobody = async (headers: Record<string, string>): Promise<void> => {
    const response = await new Browser(url).get('/', headers);
    expect([response.status, await response.text()], JSON.stringify(headers)).toEqual([303, '']);
  };
  await expectNobody({});
  for (const [name, value] of PROXIES_SAY) await expectNobody({ [name]: value });
  await expectNobody({ host: 'rebound.example' });
  const authorization = `Basic ${Buffer.from('local:').toString('base64')}`;
  expect((await new Browser(url).get('/', { authorization })).status).toBe(401);
  expect(await (await new Browser(url).get('/login')).text()).toContain(
    'Open the last link that daybook printed',
  );
  for (const token of ['', 'x', 'A'.repeat(43), link.path().slice(-42), `${link.path().slice(-43)}x`])
    expect([401, 303], token).toContain((await new Browser(url).get(`/login/link/${token}`)).status);
  // Some programs peep at links, by HEAD or by another method.
  for (const method of ['HEAD', 'POST', 'OPTIONS']) await fetch(url + link.path(), { method });
  expect(next).toEqual([]);
  await close();
});

/** What proxies send on, each by itself, and what others of their kind do that daybook need not know. */
const PROXIES_SAY = Object.entries({
  'x-forwarded-for': '203.0.113.9',
  'x-forwarded-user': 'ada',
  'remote-user': 'ada',
  'x-authenticated-user': 'ada',
  'x-webauth-user': 'ada',
  'x-goog-authenticated-user-email': 'ada@company.example',
  'x-amzn-oidc-identity': 'ada',
  'x-ms-client-principal-name': 'ada',
  'tailscale-user-login': 'ada@company.example',
  'x-pomerium-claim-email': 'ada@company.example',
});

test('a login by the link ends where a way to log in is set up', async () => {
  const { url, link, close } = await shownByLink();
  const browser = new Browser(url);
  await browser.get(link.path());
  const other = await guarded(
    database.db,
    withPasswords({ accessRoles: { ada: 'operator', '*': 'operator' } }),
  );
  const later = new Browser(other.url);
  later.cookies.set('daybook_session', browser.cookies.get('daybook_session')!);
  expect((await later.get('/')).status).toBe(303);
  await other.close();
  await close();
});
