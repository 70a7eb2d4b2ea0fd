/** Whoever is not let in reads why, and so does the log; whatever the address was, the answer is a page of ours. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { createAccess } from '../../../src/plugins/pages/access/open.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import type { AccessSettings } from '../../../src/plugins/pages/settings.ts';
import { accessSettings, Browser, PASSWORDS, random, SECRET_KEYS, withPasswords } from './access/support.ts';
import { showPages, textOf, type ShownPages } from './support.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
const open: ShownPages[] = [];
beforeAll(async () => (stage = await openStage()));
afterAll(() => stage.close());
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const deps = () => ({ db: stage.app.database.db, random, now: () => new Date() });
async function shown(settings?: AccessSettings): Promise<ShownPages> {
  const access = settings && createAccess({ ...deps(), settings, secretKeys: SECRET_KEYS, isSecure: false });
  const pages = await showPages(stage, access && { access, canLogOut: true });
  open.push(pages);
  return pages;
}
/** Sends it as it is, which `fetch` does not. */
const sent = (
  pages: ShownPages,
  options: { readonly method?: string; readonly path: string; readonly headers?: Record<string, string> },
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(pages.url);
    request({ hostname, port, ...options }, (response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    })
      .on('error', reject)
      .end();
  });

const PROXY = {
  accessProxyHeader: 'X-User',
  accessProxies: '127.0.0.1',
  accessRoles: { ada: 'operator' },
  pagesUrl: 'https://books.example',
};

describe('why somebody is not let in', () => {
  const saysWhy = (
    pages: ShownPages,
    [status, text]: readonly [number, string],
    { reason, words }: { readonly reason: string; readonly words: string },
  ): void => {
    expect(status).toBe(403);
    expect(textOf(text)).toContain(words);
    expect(pages.events.at(-1)).toMatchObject({ status, reason });
  };
  const answer = async (response: Response): Promise<readonly [number, string]> => [
    response.status,
    await response.text(),
  ];

  it('no role', async () => {
    const pages = await shown(accessSettings(PROXY));
    const got = await answer(await pages.get('/', { 'x-user': 'mallory' }));
    saysWhy(pages, got, {
      reason: 'the proxy names a person without a role',
      words: 'You are logged in, but have no role',
    });
    expect(JSON.stringify(pages.events)).not.toContain('mallory');
  });

  it('another name', async () => {
    const pages = await shown(accessSettings(PROXY));
    const headers = { host: 'evil.example', 'x-user': 'ada' };
    const { status, text } = await sent(pages, { path: '/', headers });
    saysWhy(pages, [status, text], {
      reason: 'called by another name than that of DAYBOOK_PAGES_URL',
      words: 'not available under this host name',
    });
  });

  it('a cookie that the browser did not keep', async () => {
    const pages = await shown(withPasswords());
    const form = { form_token: 'x', name: 'ada', password: 'x', to: '/' };
    const got = await answer(await pages.post('/login', form));
    saysWhy(pages, got, {
      reason: 'a form was sent without its cookie',
      words: 'Allow cookies for this address, and open it with https',
    });
  });

  it('a proxy that names nobody: the page to log in says where to go', async () => {
    const pages = await shown(accessSettings(PROXY));
    expect(textOf(await pages.html('/login'))).toContain('Open them at the address that you were given');
  });
});

test('a provider that is away is in the log with what was answered, and too many logins are told in words', async () => {
  const away = createServer().listen(0, '127.0.0.1');
  await once(away, 'listening');
  const { port } = away.address() as AddressInfo;
  away.close();
  const pages = await shown(
    accessSettings({
      oidcIssuer: `http://127.0.0.1:${port}`,
      oidcClientId: 'daybook',
      oidcClientSecret: 'made-up',
      pagesUrl: 'http://127.0.0.1:8082',
      accessRoles: { '*': 'viewer' },
    }),
  );
  expect((await pages.get('/login/oidc')).status).toBe(502);
  const { status, reason } = pages.events.at(-1)!;
  expect([status, reason]).toEqual([502, expect.stringContaining('ECONNREFUSED')]);
  // As many as a large office may have in five minutes.
  for (let at = 1; at < 200; at += 1) expect((await pages.get('/login/oidc')).status).toBe(502);
  const response = await pages.get('/login/oidc');
  expect([response.status, textOf(await response.text())]).toEqual([
    429,
    expect.stringContaining('Too many attempts'),
  ]);
});

describe('an address that is none', () => {
  it.each(['//evil.example/x', 'http://evil.example/', 'http://evil.example/breaks'])(
    'of another host, like %s, gets no link there',
    async (path) => {
      const { status, text } = await sent(await shown(), { path });
      expect(status).toBe(404);
      expect(text).not.toContain('evil.example');
    },
  );

  it.each([
    ['POST', '/nothing', 403],
    ['PUT', '/breaks/1', 403],
    ['DELETE', '/', 403],
    ['TRACE', '/', 403],
    ['OPTIONS', '*', 303],
    ['OPTIONS', '/', 303],
  ])(
    'by its method, like %s %s, is answered by a page too, and after access',
    async (method, path, statusWithLogins) => {
      const answer = await sent(await shown(), { method, path });
      expect(answer).toMatchObject({
        status: 403,
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': expect.stringContaining("default-src 'none'") as string,
        },
      });
      const closed = await sent(await shown(withPasswords()), { method, path });
      expect(closed.status).toBe(statusWithLogins);
    },
  );

  it.each(['/%zz', '/%ff', '/m/%E0%A4/2026-03', `/breaks/${'9'.repeat(600)}`, '/entry/M1/%'])(
    'like %s is answered as any other: by a page to who is logged in, else by the way to log in',
    async (path) => {
      expect(await sent(await shown(), { path })).toMatchObject({
        status: 404,
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': expect.stringContaining("default-src 'none'") as string,
        },
      });
      const closed = await shown(withPasswords());
      expect((await closed.get(path)).headers.get('location')).toMatch(/^\/login/);
    },
  );
});

test('who is logged in can log out where there is nothing', async () => {
  const pages = await shown(withPasswords());
  const browser = new Browser(pages.url);
  await browser.login('ada', PASSWORDS.ada);
  const page = await (await browser.get('/nothing')).text();
  const form_token = /name="form_token" value="([^"]+)"/.exec(page)![1]!;
  expect((await browser.post('/logout', { form_token })).headers.get('location')).toBe('/login');
});

test('a right that the database user lacks is named, and nobody is told to wait', async () => {
  const { database, settings } = stage.app;
  const user = `pages_${randomUUID().replaceAll('-', '')}`;
  await sql.raw(`CREATE ROLE ${user} LOGIN PASSWORD 'made-up'`).execute(database.db);
  const url = new URL(settings.databaseUrl!);
  [url.username, url.password] = [user, 'made-up'];
  const poor = await openDatabase({ databaseUrl: url.href, dataDir: '' });
  const pages = await showPages({ ...stage, app: { ...stage.app, database: poor } });
  open.push(pages);
  try {
    const { status, text } = await sent(pages, { path: '/breaks' });
    expect(status).toBe(503);
    expect(textOf(text)).toContain('permission denied for table');
    expect(textOf(text)).toContain('sql/roles');
    expect(textOf(text)).not.toContain('Try again in a moment');
  } finally {
    await poor.close();
  }
});
