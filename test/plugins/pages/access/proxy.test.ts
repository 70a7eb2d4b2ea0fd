/** A proxy's header names the person, if it comes from that proxy. */
import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../../src/store/engine/database.ts';
import { freshDatabase } from '../../../support/database.ts';
import { accessSettings, Browser, guarded, type Guarded } from './support.ts';

const HASH = ['scrypt', 15, 8, 3, 'A'.repeat(22), 'A'.repeat(43)].join(':');
let database: Database;
const open: Guarded[] = [];
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const behind = async (from: string, more: Readonly<Record<string, unknown>> = {}): Promise<Guarded> => {
  const settings = accessSettings({
    accessProxyHeader: 'X-Forwarded-User',
    accessProxies: from,
    pagesUrl: 'https://books.example',
    accessRoles: {
      ...{ ada: 'operator', José: 'operator', 'group:all': 'operator' },
      vera: { role: 'viewer', merchants: ['M1'] },
    },
    ...more,
  });
  const server = await guarded(database.db, settings);
  open.push(server);
  return server;
};
const as = (name: string) => ({ 'x-forwarded-user': name });
/** What Ada gets with these headers, which `fetch` would not send as they are. */
const statusOf = (url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { headers: { ...as('ada'), ...headers } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });

test('it is believed from the proxy alone', async () => {
  const trusted = new Browser((await behind('127.0.0.1')).url);
  expect(await (await trusted.get('/', as('ada'))).json()).toMatchObject({ name: 'ada', role: 'operator' });
  expect((await trusted.get('/m/M2', as('vera'))).status).toBe(404);
  const other = new Browser((await behind('10.0.0.7')).url);
  const headers = { ...as('ada'), 'x-forwarded-for': '10.0.0.7', 'x-real-ip': '10.0.0.7' };
  expect((await other.get('/', headers)).status).toBe(303);
});

test('without the header nobody comes in, and neither does who has no role', async () => {
  const { url } = await behind('127.0.0.0/8');
  expect((await new Browser(url).get('/')).status).toBe(303);
  for (const name of ['mallory', 'group:all', 'ada,vera', ' ', '*'])
    expect((await new Browser(url).get('/', as(name))).status, name).toBe(403);
});

test('a name comes as bytes of UTF-8', async () => {
  const { url } = await behind('127.0.0.1');
  const bytes = Buffer.from('José').toString('latin1');
  expect(await (await new Browser(url).get('/', as(bytes))).json()).toMatchObject({ name: 'José' });
  expect((await new Browser(url).get('/', as('Jos\u00e9'))).status).toBe(200);
});

test('it is not believed where the pages are called by the name of a stranger’s site', async () => {
  const { url } = await behind('127.0.0.1');
  const { port } = new URL(url);
  const statusAs = (host: string) => statusOf(url, { host, 'x-forwarded-host': 'books.example' });
  for (const host of ['books.example', 'BOOKS.example:443', `127.0.0.1:${port}`, `[::1]:${port}`])
    expect(await statusAs(host), host).toBe(200);
  for (const host of [`evil.example:${port}`, 'books.example.evil.example', 'books.example:8443', 'a b'])
    expect(await statusAs(host), host).toBe(403);
});

test('another site has a browser fetch nothing, and its links are followed', async () => {
  const { url } = await behind('127.0.0.1');
  const fetched = (site: string, mode: string, dest: string) =>
    statusOf(url, { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest });
  expect(await fetched('cross-site', 'no-cors', 'image')).toBe(403);
  expect(await fetched('same-site', 'cors', 'empty')).toBe(403);
  expect(await fetched('cross-site', 'navigate', 'iframe')).toBe(403);
  expect(await fetched('cross-site', 'navigate', 'document')).toBe(200);
  expect(await fetched('same-origin', 'no-cors', 'image')).toBe(200);
  expect(await fetched('none', 'navigate', 'document')).toBe(200);
});

test('a deed needs the form of this browser all the same', async () => {
  const server = await behind('127.0.0.1');
  const [browser, other] = [new Browser(server.url), new Browser(server.url)];
  const tokenOf = async (one: Browser): Promise<string> =>
    ((await (await one.get('/', as('ada'))).json()) as { formToken: string }).formToken;
  const [own, theirs] = [await tokenOf(browser), await tokenOf(other)];
  expect((await browser.post('/resolve', {}, as('ada'))).status).toBe(403);
  expect((await browser.post('/resolve', { form_token: theirs }, as('ada'))).status).toBe(403);
  expect((await new Browser(server.url).post('/resolve', { form_token: own }, as('ada'))).status).toBe(403);
  expect((await browser.post('/resolve', { form_token: own }, as('ada'))).status).toBe(200);
  expect(server.auditEvents).toEqual(['ada']);
});

test('settings say what is missing', () => {
  const problems = (given: Readonly<Record<string, unknown>>): string => {
    try {
      accessSettings(given);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const roles = { accessRoles: { '*': 'viewer' } };
  expect(problems({ accessProxyHeader: 'X-User', ...roles })).toContain('DAYBOOK_ACCESS_PROXIES');
  expect(problems({ accessProxyHeader: 'X-User', accessProxies: '10.0.0.7' })).toContain(
    'it says who may what',
  );
  expect(problems({ accessProxies: '10.0.0.7' })).toContain('DAYBOOK_ACCESS_PROXY_HEADER');
  expect(problems(roles)).toContain('there is no way to log in');
  expect(problems({ oidcIssuer: 'https://login.example', ...roles })).toMatch(
    /OIDC_CLIENT_ID.*OIDC_CLIENT_SECRET.*PAGES_URL/,
  );
  const header = { accessProxyHeader: 'X-User', ...roles };
  for (const accessProxies of ['127.0.0.1', '127.0.0.9', '::1', '0.0.0.0/0'])
    expect(problems({ ...header, accessProxies }), accessProxies).toContain('DAYBOOK_PAGES_URL');
  expect(problems({ ...header, accessProxies: '10.0.0.7' })).toBe('');
  const password = { accessUsers: { ada: HASH }, accessRoles: { ada: 'viewer' } };
  expect(problems({ ...password, pagesListen: '127.0.0.1:8082' })).toContain('DAYBOOK_PAGES_URL');
  expect(problems({ ...password, pagesListen: '0.0.0.0:8082' })).toBe('');
  expect(problems({ ...password, pagesListen: '127.0.0.1:8082', pagesUrl: 'https://books.example' })).toBe(
    '',
  );
  expect(problems({ accessProxyHeader: 'Cookie' })).toContain('must be a header of its own');
});
