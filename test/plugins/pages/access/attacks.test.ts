/** Who has no right to something gets nothing: not by guessing, forging, replaying, waiting, or borrowing a browser. */
import type { FastifyRequest } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { createFailureNotes } from '../../../../src/plugins/pages/access/sessions.ts';
import type { AccessDeps } from '../../../../src/plugins/pages/access/open.ts';
import { createPasswordCheck } from '../../../../src/plugins/pages/access/identity.ts';
import { listAuditEvents } from '../../../../src/store/audit.ts';
import type { Database } from '../../../../src/store/engine/database.ts';
import { freshDatabase } from '../../../support/database.ts';
import { Browser, guarded, PASSWORDS, SECRET_KEYS, withPasswords, type Guarded } from './support.ts';

const SESSION = 'daybook_session';
let database: Database;
let settings: AccessDeps['settings'];
const open: Guarded[] = [];
beforeAll(async () => {
  database = await freshDatabase();
  settings = withPasswords();
});
afterAll(() => database.close());
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const shown = async (change: Partial<AccessDeps> = {}, own = settings): Promise<Guarded> => {
  const one = await guarded(database.db, own, change);
  open.push(one);
  return one;
};
const loggedIn = async ({ url }: Guarded, name: keyof typeof PASSWORDS = 'ada'): Promise<Browser> => {
  const browser = new Browser(url);
  expect((await browser.login(name, PASSWORDS[name])).status).toBe(303);
  return browser;
};
/** It is sent to the page to log in, and gets nothing else. */
const expectNothing = async (response: Response): Promise<void> => {
  expect(response.status).toBe(303);
  expect(response.headers.get('location')).toMatch(/^\/login\?to=/);
  expect(await response.text()).toBe('');
};

/** Failed logins, as many as a test asks for. */
async function noting() {
  const own = await freshDatabase();
  onTestFinished(() => own.close());
  let now = Date.parse('2026-03-06T08:00:00Z');
  const deps = { db: own.db, now: () => new Date(now) };
  const noteFailure = createFailureNotes(deps);
  return {
    sessions: {
      fail: () => noteFailure({ sender: '192.0.2.7' } as FastifyRequest, 'password', 'ada'),
      hourLater: () => (now += 3_600_000),
      noted: async () => {
        const rows = await own.db.selectFrom('audit_event').select('note').orderBy('id').execute();
        return { count: rows.length, last: rows.at(-1)!.note };
      },
    },
  };
}

describe('without a login', () => {
  it('every path is answered alike, whether there is something or not', async () => {
    const browser = new Browser((await shown()).url);
    for (const path of ['/', '/m/M1', '/m/none', '/no/such/page', '/../etc/passwd'])
      await expectNothing(await browser.get(path));
  });

  it('nothing is done', async () => {
    const server = await shown();
    const browser = new Browser(server.url);
    expect((await browser.post('/resolve', {})).status).toBe(403);
    expect((await browser.post('/logout', {})).status).toBe(403);
    expect(server.auditEvents).toEqual([]);
  });
});

describe('a login', () => {
  it('leads to where somebody wanted to go, with a cookie that no script and no other site can use', async () => {
    const server = await shown();
    const browser = new Browser(server.url);
    const response = await browser.login('ada', PASSWORDS.ada, '/m/M1?page=2');
    expect(response.headers.get('location')).toBe('/m/M1?page=2');
    const cookie = browser.set.find((line) => line.startsWith(SESSION))!;
    expect(cookie).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(await (await browser.get('/m/M9')).text()).toBe('page of M9');
    expect((await listAuditEvents(database.db, 1))[0]).toMatchObject({
      by_whom: 'ada',
      command: 'login',
      subject: 'password',
    });
  });

  it('off loopback has cookies that only TLS carries, of this host alone', async () => {
    const browser = new Browser((await shown({ isSecure: true })).url);
    await browser.login('ada', PASSWORDS.ada);
    expect(browser.set.length).toBeGreaterThanOrEqual(2);
    for (const line of browser.set) expect(line).toMatch(/^__Host-daybook_.*; Secure(;|$)/);
  });

  it.each([
    'https://elsewhere.example/',
    '//elsewhere.example',
    '/\\elsewhere.example',
    '/\t/elsewhere.example',
    'javascript:alert(1)',
    '/logout',
    '/m/\u0142',
    '/m/\u00e9',
    '/m/M1 x',
  ])('never leads to %s', async (to) => {
    const browser = new Browser((await shown()).url);
    expect((await browser.login('ada', PASSWORDS.ada, to)).headers.get('location')).toBe('/');
  });

  it('with a wrong name is refused as with a wrong password: in text, and in time', async () => {
    const server = await shown();
    const took = async (name: string): Promise<[number, string]> => {
      const browser = new Browser(server.url);
      const begun = performance.now();
      const response = await browser.login(name, 'not the password');
      expect(response.status).toBe(401);
      const text = (await response.text()).replace(/value="[^"]*"/g, '');
      return [performance.now() - begun, text];
    };
    await took('ada');
    const [known, unknown] = [await took('ada'), await took('nobody')];
    expect(unknown[1]).toBe(known[1]);
    // A hash takes tens of milliseconds, everything else a few.
    expect(unknown[0]).toBeGreaterThan(known[0] / 3);
    expect(server.refusals).toEqual([1, 2, 3].map(() => ({ way: 'password', status: 401, reason: 'wrong' })));
  });

  it(
    'with a wrong name takes as long as the costliest password, whoever is named first',
    { tags: ['long'] },
    async () => {
      const cheap = { cost: 4, blockSize: 8, parallel: 1, salt: Buffer.alloc(16), hash: Buffer.alloc(32) };
      const isRight = createPasswordCheck(new Map([['cheap', cheap], ...settings.users]));
      const took = async (name: string): Promise<number> => {
        const begun = performance.now();
        expect(await isRight(name, 'not the password')).toBe(false);
        return performance.now() - begun;
      };
      await took('ada');
      expect(await took('nobody')).toBeGreaterThan((await took('ada')) / 3);
    },
  );

  it(
    'is not tried more than ten times from one address, right password or not',
    { tags: ['long'] },
    async () => {
      const server = await shown();
      const statuses: number[] = [];
      for (let tries = 1; tries <= 11; tries += 1)
        statuses.push((await new Browser(server.url).login('nobody', `guess ${tries}`)).status);
      expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
      const browser = new Browser(server.url);
      expect((await browser.login('ada', PASSWORDS.ada)).status).toBe(429);
      await expectNothing(await browser.get('/'));
      const basic = `Basic ${Buffer.from(`ada:${PASSWORDS.ada}`).toString('base64')}`;
      expect((await browser.get('/', { authorization: basic })).status).toBe(429);
    },
  );

  it('needs the form of this browser', async () => {
    const server = await shown();
    const victim = new Browser(server.url);
    await victim.get('/login');
    const attacker = new Browser(server.url);
    const page = await (await attacker.get('/login')).text();
    const stolen = /name="form_token" value="([^"]+)"/.exec(page)![1]!;
    const fields = { name: 'ada', password: PASSWORDS.ada };
    for (const form_token of [stolen, '', 'x']) {
      const response = await victim.post('/login', { ...fields, form_token });
      expect(response.status).toBe(403);
    }
    expect(victim.cookies.has(SESSION)).toBe(false);
  });
});

describe('a cookie', () => {
  it('that was forged, changed or signed by others opens nothing', async () => {
    const server = await shown();
    const own = (await loggedIn(server)).cookies.get(SESSION)!;
    const outOfScope = await shown({ secretKeys: [{ id: 'x', key: Buffer.alloc(32, 7) }] });
    const foreign = (await loggedIn(outOfScope)).cookies.get(SESSION)!;
    const [token, signature] = decodeURIComponent(own).split('.') as [string, string];
    const forged = [
      token,
      `${token}.`,
      `${token}.${signature.slice(0, -2)}AA`,
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}.${signature}`,
      `A${signature}`,
      '.',
      foreign,
    ];
    for (const value of forged) {
      const browser = new Browser(server.url);
      browser.cookies.set(SESSION, value);
      await expectNothing(await browser.get('/'));
    }
  });

  it('that was copied before logging out opens nothing afterwards', async () => {
    const server = await shown();
    const browser = await loggedIn(server);
    const copied = browser.cookies.get(SESSION)!;
    const response = await browser.post('/logout', { form_token: await browser.formToken() });
    expect(response.headers.get('location')).toBe('/login');
    expect(browser.cookies.has(SESSION)).toBe(false);
    browser.cookies.set(SESSION, copied);
    await expectNothing(await browser.get('/'));
    const reported = (await listAuditEvents(database.db, 2)).map(({ by_whom, command, subject }) => [
      ...[by_whom, command, subject],
    ]);
    expect(reported).toEqual([
      ['ada', 'logout', 'password'],
      ['ada', 'login', 'password'],
    ]);
  });

  it('of a browser that logged in again opens nothing', async () => {
    const server = await shown();
    const browser = await loggedIn(server);
    const first = browser.cookies.get(SESSION)!;
    expect((await browser.login('vera', PASSWORDS.vera)).status).toBe(303);
    expect((await browser.get('/')).status).toBe(200);
    browser.cookies.set(SESSION, first);
    await expectNothing(await browser.get('/'));
  });

  it('that is over opens nothing', async () => {
    let now = Date.parse('2026-03-06T08:00:00Z');
    const server = await shown({ now: () => new Date(now) });
    const browser = await loggedIn(server);
    // Used all the time, it lasts as long as a login may.
    for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
      now += 20 * 60_000;
      expect((await browser.get('/')).status, String(minutes)).toBe(200);
    }
    now += 20 * 60_000 - 1;
    expect((await browser.get('/')).status).toBe(200);
    now += 1;
    await expectNothing(await browser.get('/'));
  });

  it('that nobody used for half an hour opens nothing, not even to a request that comes right after', async () => {
    let now = Date.parse('2026-03-06T08:00:00Z');
    const server = await shown({ now: () => new Date(now) });
    const browser = await loggedIn(server);
    now += 30 * 60_000 - 1;
    expect((await browser.get('/')).status).toBe(200);
    now += 30 * 60_000;
    await expectNothing(await browser.get('/'));
    await expectNothing(await browser.get('/'));
    expect((await browser.post('/resolve', { form_token: 'x' })).status).toBe(403);
    // Another time is a setting.
    const short = await shown({ now: () => new Date(now) }, withPasswords({ accessIdleMinutes: 5 }));
    const other = await loggedIn(short);
    now += 5 * 60_000;
    await expectNothing(await other.get('/'));
  });

  it('ends in all browsers of its person at once, and in no one else’s', async () => {
    const server = await shown();
    const [one, other, veras] = [
      await loggedIn(server),
      await loggedIn(server),
      await loggedIn(server, 'vera'),
    ];
    const form = { form_token: await one.formToken(), everywhere: 'yes' };
    expect((await other.post('/logout', form)).status).toBe(403);
    expect((await one.post('/logout', form)).headers.get('location')).toBe('/login');
    await expectNothing(await one.get('/'));
    await expectNothing(await other.get('/'));
    expect((await veras.get('/')).status).toBe(200);
    const [event] = await listAuditEvents(database.db, 1);
    expect(event).toMatchObject({
      by_whom: 'ada',
      command: 'logout',
      note: expect.stringMatching(/^everywhere: \d+ sessions$/),
    });
  });

  it('that failed is in the audit: the name if somebody has it, and the address', async () => {
    const server = await shown();
    const from = (address: string) => new Browser(server.url, { 'x-forwarded-for': address });
    await from('192.0.2.7').login('ada', 'not the password');
    await from('[2001:db8::7]:4711').login(PASSWORDS.ada, 'typed into the wrong field');
    await from('192.0.2.7').get('/', {
      authorization: `Basic ${Buffer.from('vera:wrong').toString('base64')}`,
    });
    const events = (await listAuditEvents(database.db, 3)).map(({ by_whom, command, subject, note }) => [
      ...[by_whom, command, subject, note],
    ]);
    expect(events.sort()).toEqual([
      ['(unknown name)', 'login failed', 'password', 'from 2001:db8::7'],
      ['ada', 'login failed', 'password', 'from 192.0.2.7'],
      ['vera', 'login failed', 'password', 'from 192.0.2.7'],
    ]);
    const all = JSON.stringify(await database.db.selectFrom('audit_event').selectAll().execute());
    for (const typed of [PASSWORDS.ada, 'not the password', 'wrong field']) expect(all).not.toContain(typed);
  });

  it('that failed fills no disk: a thousand an hour are in the audit, and the last says so', async () => {
    const { sessions } = await noting();
    for (let failed = 0; failed < 1_010; failed += 1) await sessions.fail();
    expect(await sessions.noted()).toEqual({
      count: 1_000,
      last: expect.stringContaining('in the log alone') as string,
    });
    sessions.hourLater();
    await sessions.fail();
    expect((await sessions.noted()).count).toBe(1_001);
  });

  it('of somebody whose password or role was taken away opens nothing', async () => {
    const browser = await loggedIn(await shown());
    const cookie = browser.cookies.get(SESSION)!;
    const { users, roles } = settings;
    const others = [
      { ...settings, users: new Map([...users, ['ada', users.get('vera')!]]) },
      { ...settings, users: new Map([['vera', users.get('vera')!]]) },
      { ...settings, roles: new Map([['vera', roles.get('vera')!]]) },
    ];
    for (const own of others) {
      const later = new Browser((await shown({}, own)).url);
      later.cookies.set(SESSION, cookie);
      await expectNothing(await later.get('/'));
    }
  });

  it('lasts over a restart, and over a new key in front of the old one', async () => {
    const cookie = (await loggedIn(await shown())).cookies.get(SESSION)!;
    const secretKeys = [{ id: 'k2', key: Buffer.alloc(32, 9) }, ...SECRET_KEYS];
    const later = new Browser((await shown({ secretKeys })).url);
    later.cookies.set(SESSION, cookie);
    expect((await later.get('/')).status).toBe(200);
  });
});

test('sessions that are over are deleted though nobody logs in: at the start, and every hour', async () => {
  let now = Date.parse('2026-04-06T08:00:00Z');
  await database.db.deleteFrom('page_session').execute();
  const server = await shown({ now: () => new Date(now), tidyEveryMs: 5 });
  const names = async (): Promise<string[]> => {
    const rows = await database.db.selectFrom('page_session').select('name').execute();
    return rows.map(({ name }) => name);
  };
  await loggedIn(server, 'vera');
  expect(await names()).toContain('vera');
  now += 48 * 3_600_000;
  await vi.waitFor(async () => expect(await names()).toEqual([]));
  await server.close();
  open.splice(open.indexOf(server), 1);
  await loggedIn(await shown({ now: () => new Date(now) }), 'vera');
  expect(await names()).toEqual(['vera']);
  now += 48 * 3_600_000;
  await shown({ now: () => new Date(now) });
  expect(await names()).toEqual([]);
});

describe('a deed', () => {
  it('is an operator’s, with the form of the session', async () => {
    const server = await shown();
    const browser = await loggedIn(server);
    expect((await browser.post('/resolve', { form_token: await browser.formToken() })).status).toBe(200);
    expect(server.auditEvents).toEqual(['ada']);
  });

  it('is not a viewer’s', async () => {
    const server = await shown();
    const browser = await loggedIn(server, 'vera');
    expect((await browser.post('/resolve', { form_token: await browser.formToken() })).status).toBe(403);
    expect(server.auditEvents).toEqual([]);
  });

  it('is refused without the token, with another session’s, as JSON, and from another site', async () => {
    const server = await shown();
    const [browser, other] = [await loggedIn(server), await loggedIn(server)];
    const own = await browser.formToken();
    const theirs = await other.formToken();
    expect(theirs).not.toBe(own);
    for (const fields of [{}, { form_token: '' }, { form_token: theirs }, { form_token: `${own}x` }])
      expect((await browser.post('/resolve', fields as Record<string, string>)).status).toBe(403);
    const site = { 'sec-fetch-site': 'cross-site' };
    expect((await browser.post('/resolve', { form_token: own }, site)).status).toBe(403);
    expect((await browser.post('/logout', {})).status).toBe(403);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const put = await fetch(`${server.url}/resolve`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(put.status).toBe(403);
    expect(server.auditEvents).toEqual([]);
  });
});

test('a viewer of one merchant finds no other one', async () => {
  const browser = await loggedIn(await shown(), 'vera');
  expect(await (await browser.get('/m/M1')).text()).toBe('page of M1');
  const [other, none] = [await browser.get('/m/M2'), await browser.get('/m/none')];
  expect([other.status, await other.text()]).toEqual([none.status, await none.text()]);
  expect(other.status).toBe(404);
});

describe('a program', () => {
  const as = (name: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  });

  it('sends name and password with each request, as often as it has to', async () => {
    const { url } = await shown();
    for (let at = 0; at < 15; at += 1)
      expect((await new Browser(url).get('/m/M1', as('vera', PASSWORDS.vera))).status).toBe(200);
  });

  it('gets nothing with wrong ones, and does nothing without a form', async () => {
    const server = await shown();
    const browser = new Browser(server.url);
    for (const headers of [
      as('vera', PASSWORDS.ada),
      { authorization: 'Basic ???' },
      { authorization: 'Bearer x' },
    ]) {
      const response = await browser.get('/m/M1', headers);
      // No redirect: a program that follows it would take the page to log in for what it asked for.
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        401,
        'Basic realm="daybook", charset="UTF-8"',
      ]);
      expect(await response.text()).not.toContain('M1');
    }
    expect((await browser.post('/resolve', {}, as('ada', PASSWORDS.ada))).status).toBe(403);
    expect(server.auditEvents).toEqual([]);
  });
});
