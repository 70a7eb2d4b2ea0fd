/** Logging in at a real OpenID Connect provider: who it vouches for comes in, and no one else, whatever is sent back. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { createOidcLogin, identityOf } from '../../../../src/plugins/pages/access/oidc.ts';
import type { Database } from '../../../../src/store/engine/database.ts';
import { freshDatabase } from '../../../support/database.ts';
import { accessSettings, Browser, guarded, type Guarded } from './support.ts';
import Provider from 'oidc-provider';

const CLIENT = { id: 'daybook', secret: 'made-up-secret-of-the-client' };
/** By the name that somebody types at the provider. */
const ACCOUNTS: Readonly<Record<string, object>> = {
  ada: { email: 'ada@company.example', email_verified: true, groups: ['finance'] },
  vera: { email: 'vera@company.example', email_verified: true, groups: ['shops'] },
  eve: { email: 'ada@company.example', email_verified: false, groups: ['finance'] },
  otto: { email: 'otto@company.example', email_verified: true, groups: [] },
  vic: { email: 'ada@company.example', email_verified: true, groups: [] },
  mix: { email: 'mix@company.example', email_verified: true, groups: [] },
  greta: {
    ...{ email: 'greta@company.example', email_verified: true },
    groups: [...Array.from({ length: 500 }, (_, at) => `group ${at}`), 'shops'],
  },
};
/** What the token tells of some next to `sub`. Of others it tells nothing, and the provider has to be asked. */
const IN_TOKEN: Readonly<Record<string, object>> = {
  vic: { email: 'ada@company.example', groups: [] },
  mix: { email: 'ada@company.example', groups: [] },
};

let database: Database;
let listening: Server;
let issuer: string;
let answered: RequestListener;
let pages: Guarded;
/** The port the pages have had: the provider sends people back there. */
let port: number;
let now = Date.now();
beforeAll(async () => {
  database = await freshDatabase();
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  port = (probe.address() as AddressInfo).port;
  probe.close();
  listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  issuer = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`http://127.0.0.1:${port}/login/oidc/back`],
        post_logout_redirect_uris: [`http://127.0.0.1:${port}/login`],
      },
    ],
    scopes: ['openid', 'groups'],
    conformIdTokenClaims: false,
    claims: { email: ['email', 'email_verified'], groups: ['groups'], profile: ['name'] },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: (use) => ({
        sub: accountId,
        ...(use === 'id_token' ? IN_TOKEN : ACCOUNTS)[accountId],
      }),
    }),
    cookies: { keys: ['made up'] },
  });
  const answer = provider.callback();
  answered = (request, response) => void answer(request, response);
  listening.on('request', answered);
  pages = await guarded(database.db, settings(), { now: () => new Date(now) }, port);
});
afterAll(async () => {
  await pages.close();
  listening.closeAllConnections();
  listening.close();
  await database.close();
});

const settings = (change: Readonly<Record<string, unknown>> = {}) =>
  accessSettings({
    oidcIssuer: issuer,
    oidcClientId: CLIENT.id,
    oidcClientSecret: CLIENT.secret,
    pagesUrl: `http://127.0.0.1:${port}`,
    accessRoles: {
      'ada@company.example': 'operator',
      'group:shops': { role: 'viewer', merchants: ['M1'] },
    },
    ...change,
  });
/** Goes to the provider, logs in and agrees there, and returns the address that it sends the browser back to. */
async function atProvider(address: string, login: string, there = new Browser(issuer)): Promise<string> {
  let response = await there.get(address);
  for (let steps = 0; steps < 10; steps += 1) {
    const next = response.headers.get('location');
    if (next?.startsWith(pages.url) === true) return next;
    if (next !== null) response = await there.get(next);
    else {
      const form = await response.text();
      const action = /action="([^"]+)"/.exec(form)![1]!;
      const prompt = /name="prompt" value="([^"]+)"/.exec(form)![1]!;
      response = await there.post(action, { prompt, login, password: 'any' });
    }
  }
  throw new Error('the provider sends nobody back');
}
const begun = async (browser: Browser, to = '/m/M1'): Promise<string> => {
  const page = await (await browser.get(`/login?to=${encodeURIComponent(to)}`)).text();
  const response = await browser.get(/href="(\/login\/oidc[^"]*)"/.exec(page)![1]!);
  expect(response.status).toBe(303);
  return response.headers.get('location')!;
};
const expectNobody = async (browser: Browser): Promise<void> => {
  expect(browser.cookies.has('daybook_session')).toBe(false);
  expect((await browser.get('/')).status).toBe(303);
};

test.each(['/realms/books', '/application/o/books/', '', '/'])(
  'the provider’s issuer may end in “%s”, and has to be written as the provider writes it',
  async (path) => {
    const server = createServer((request, response) => {
      const known = {
        issuer: origin + path,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/keys`,
        response_types_supported: ['code'],
      };
      const isAsked = request.url === `${path.replace(/\/$/, '')}/.well-known/openid-configuration`;
      response.writeHead(isAsked ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isAsked ? known : {}));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const given = settings({ oidcIssuer: origin + path });
    const { address } = await createOidcLogin(given.oidc!, given.pagesUrl!).begin();
    expect(address).toMatch(`${origin}/authorize?`);
    server.close();
  },
);

describe('a login at the provider', () => {
  it('brings in who has a role, by name, to where they wanted to go', async () => {
    const browser = new Browser(pages.url);
    const response = await browser.get(await atProvider(await begun(browser, '/m/M7'), 'ada'));
    expect([response.status, response.headers.get('location')]).toEqual([303, '/m/M7']);
    expect(await (await browser.get('/')).json()).toMatchObject({
      name: 'ada@company.example',
      role: 'operator',
    });
    expect((await browser.post('/resolve', { form_token: await browser.formToken() })).status).toBe(200);
    expect(pages.auditEvents).toEqual(['ada@company.example']);
  });

  it('brings in who has a role by a group, with its merchants alone', async () => {
    const browser = new Browser(pages.url);
    await browser.get(await atProvider(await begun(browser), 'vera'));
    expect((await browser.get('/m/M1')).status).toBe(200);
    expect((await browser.get('/m/M2')).status).toBe(404);
    expect((await browser.post('/resolve', { form_token: await browser.formToken() })).status).toBe(403);
  });

  it('brings in who has a role by the last of many groups, and keeps no group that has none', async () => {
    const browser = new Browser(pages.url);
    await browser.get(await atProvider(await begun(browser), 'greta'));
    expect((await browser.get('/m/M1')).status).toBe(200);
    const kept = database.db.selectFrom('page_session').select('groups');
    expect(await kept.where('name', '=', 'greta@company.example').execute()).toEqual([{ groups: ['shops'] }]);
  });

  it('brings in whose token has an email, and who is asked for whether it is verified', async () => {
    const browser = new Browser(pages.url);
    await browser.get(await atProvider(await begun(browser), 'vic'));
    expect(await (await browser.get('/')).json()).toMatchObject({ name: 'ada@company.example' });
  });

  it.each([
    ['mix', 'no role'],
    ['otto', 'no role'],
    ['eve', 'the provider does not say that the email is verified'],
  ])('keeps out %s: %s', async (login, reason) => {
    const browser = new Browser(pages.url);
    const response = await browser.get(await atProvider(await begun(browser), login));
    expect(response.status).toBe(401);
    expect(pages.refusals.at(-1)).toEqual({ way: 'oidc', status: 401, reason });
    await expectNobody(browser);
  });
});

test('a session ends with the provider, the client or the claims that it stands on', async () => {
  const browser = new Browser(pages.url);
  await browser.get(await atProvider(await begun(browser), 'ada'));
  const statusUnder = async (change: Readonly<Record<string, unknown>>): Promise<number> => {
    const other = await guarded(database.db, settings(change), { now: () => new Date(now) });
    const later = new Browser(other.url);
    later.cookies.set('daybook_session', browser.cookies.get('daybook_session')!);
    const { status } = await later.get('/');
    await other.close();
    return status;
  };
  expect(await statusUnder({ oidcClientSecret: 'another-made-up-secret' })).toBe(200);
  for (const change of [
    { oidcIssuer: 'https://other.example' },
    { oidcClientId: 'other' },
    { oidcNameClaim: 'preferred_username' },
    { oidcGroupsClaim: 'roles' },
  ])
    expect(await statusUnder(change), JSON.stringify(change)).toBe(303);
});

describe('a logout', () => {
  const refreshTo = (response: Response): string | undefined =>
    /^0; url=(.*)$/.exec(response.headers.get('refresh') ?? '')?.[1];
  const loggedOut = async (browser: Browser): Promise<Response> =>
    browser.post('/logout', { form_token: await browser.formToken() });

  it('ends the session here and the one at the provider, so that somebody else can log in', async () => {
    const [browser, there] = [new Browser(pages.url), new Browser(issuer)];
    await browser.get(await atProvider(await begun(browser), 'ada', there));
    // Who is logged in there comes in without being asked.
    const again = new Browser(pages.url);
    await again.get(await atProvider(await begun(again), 'nobody', there));
    expect(await (await again.get('/')).json()).toMatchObject({ name: 'ada@company.example' });

    const response = await loggedOut(browser);
    expect(response.status).toBe(200);
    const address = refreshTo(response)!;
    expect(Object.fromEntries(new URL(address).searchParams)).toEqual({
      client_id: CLIENT.id,
      post_logout_redirect_uri: `${pages.url}/login`,
    });
    const page = await response.text();
    expect(page).toContain('You are logged out here.');
    expect(page).toContain(`href="${address.replaceAll('&', '&amp;')}"`);
    await expectNobody(browser);

    const form = await (await there.get(address)).text();
    const action = /action="([^"]+)"/.exec(form)![1]!;
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(form)![1]!;
    const ended = await there.post(action, { xsrf, logout: 'yes' });
    expect(ended.headers.get('location')).toBe(`${pages.url}/login`);
    await browser.get(await atProvider(await begun(browser), 'vera', there));
    expect(await (await browser.get('/')).json()).toMatchObject({ name: 'vera@company.example' });
  });

  it('ends the session here alone where the provider is away', async () => {
    const browser = new Browser(pages.url);
    await browser.get(await atProvider(await begun(browser), 'ada'));
    // Another process of ours, which has not asked the provider for its addresses yet.
    const later = await guarded(database.db, settings(), { now: () => new Date(now) });
    const same = new Browser(later.url);
    same.cookies.set('daybook_session', browser.cookies.get('daybook_session')!);
    const formToken = await same.formToken();
    listening.removeAllListeners('request').on('request', (_request, response) => response.destroy());
    const response = await same.post('/logout', { form_token: formToken });
    listening.removeAllListeners('request').on('request', answered);
    expect([response.status, response.headers.get('location')]).toEqual([303, '/login']);
    expect(later.refusals.at(-1)).toMatchObject({ way: 'oidc', status: 502 });
    await later.close();
    expect((await browser.get('/')).status).toBe(303);
  });
});

describe('what comes back from the provider', () => {
  it('counts once: neither the address nor the cookie can be used again', async () => {
    const browser = new Browser(pages.url);
    const address = await begun(browser);
    const flow = browser.cookies.get('daybook_flow')!;
    const back = await atProvider(address, 'ada');
    expect((await browser.get(back)).status).toBe(303);
    const thief = new Browser(pages.url);
    thief.cookies.set('daybook_flow', flow);
    expect((await thief.get(back)).status).toBe(502);
    await expectNobody(thief);
  });

  it('counts for the browser alone that began', async () => {
    const back = await atProvider(await begun(new Browser(pages.url)), 'ada');
    const [none, other] = [new Browser(pages.url), new Browser(pages.url)];
    await begun(other);
    expect((await none.get(back)).status).toBe(401);
    expect((await other.get(back)).status).toBe(401);
    await expectNobody(none);
    await expectNobody(other);
  });

  it('counts for nothing with a changed state, without a code, or too late', async () => {
    const browser = new Browser(pages.url);
    const changed = new URL(await atProvider(await begun(browser), 'ada'));
    changed.searchParams.set('state', 'other');
    expect((await browser.get(changed.href)).status).toBe(401);
    await begun(browser);
    expect((await browser.get('/login/oidc/back?error=access_denied')).status).toBe(401);
    const late = await atProvider(await begun(browser), 'ada');
    now += 600_000;
    expect((await browser.get(late)).status).toBe(401);
    await expectNobody(browser);
    const reported = JSON.stringify(pages.refusals);
    expect(reported).not.toContain(changed.searchParams.get('code'));
    expect(reported).not.toContain(CLIENT.secret);
  });

  it('is no failure of the provider where it says no, or where the address is not what it sent', async () => {
    const browser = new Browser(pages.url);
    const answered = async (query: string, change: Readonly<Record<string, string>> = {}) => {
      const state = new URL(await begun(browser)).searchParams.get('state')!;
      const sent = new URLSearchParams({ state, iss: issuer, ...change });
      const response = await browser.get(`/login/oidc/back?${sent.toString()}&${query}`);
      expect(await response.text()).toContain('The login failed');
      return [response.status, pages.refusals.at(-1)!.reason];
    };
    expect(await answered('error=access_denied')).toEqual([401, 'the provider says access_denied']);
    expect(await answered('error=Ada+L.')).toEqual([401, 'the provider says no']);
    expect(await answered('')).toEqual([401, 'the answer has no code']);
    expect(await answered('code=a&code=b')).toEqual([401, 'the answer has no code']);
    const foreign = 'the answer belongs to another login';
    expect(await answered('state=other&code=c')).toEqual([401, foreign]);
    expect(await answered('code=c', { iss: 'https://evil.example' })).toEqual([401, foreign]);
    await expectNobody(browser);
    // What the provider refuses itself is one.
    expect((await answered('code=c'))[0]).toBe(502);
  });

  it('is refused with a forged cookie', async () => {
    const browser = new Browser(pages.url);
    const flow = { state: 's', nonce: 'n', verifier: 'v', to: '/', endsAtMs: now + 1_000 };
    browser.cookies.set('daybook_flow', `${Buffer.from(JSON.stringify(flow)).toString('base64url')}.AAAA`);
    expect((await browser.get('/login/oidc/back?code=c&state=s')).status).toBe(401);
    await expectNobody(browser);
  });
});

test('a provider that is away is told in plain words, and asked again by the next login', async () => {
  const later = createServer();
  later.listen(0, '127.0.0.1');
  await once(later, 'listening');
  const away = `http://127.0.0.1:${(later.address() as AddressInfo).port}`;
  later.close();
  const stranded = await guarded(database.db, settings({ oidcIssuer: away }));
  const browser = new Browser(stranded.url);
  for (let tries = 0; tries < 2; tries += 1) {
    const response = await browser.get('/login/oidc');
    expect(response.status).toBe(502);
    expect(await response.text()).toContain('The login failed');
  }
  await stranded.close();
});

test.each<[Readonly<Record<string, unknown>>]>([
  [{ email: 'a@b.example' }],
  [{ email: 'a@b.example', email_verified: 'true' }],
  [{ email: ['a@b.example'], email_verified: true }],
  [{ email: 'a,b', email_verified: true }],
  // A line's end, a paragraph's end, letters that are not seen, a letter in two parts.
  ...['ada\u2028x', 'ada\u2029x', 'ada\u3164', 'ada\u115f', 'ada\ufe0f', 'A\u030asa'].map(
    (email): [Readonly<Record<string, unknown>>] => [{ email, email_verified: true }],
  ),
  [{}],
])('%j names nobody', (claims) => {
  expect(() => identityOf(claims, { nameClaim: 'email', groupsClaim: 'groups' })).toThrow(/^the provider/);
});

test.each(['\u00c5sa L\u00f6f', '\u738b\u5c0f\u660e', 'ada+books@company.example'])(
  '%s is a name',
  (name) => {
    expect(identityOf({ name }, { nameClaim: 'name', groupsClaim: 'groups' })).toEqual({ name, groups: [] });
  },
);
