/**
 * Whoever is right is never locked out by others who are right; whoever guesses is, wherever the guesses come from.
 *
 * @module-tag long
 */
import { scryptSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../../../src/plugins/pages/access/identity.ts';
import type { PasswordHash } from '../../../../src/plugins/pages/access/credentials.ts';
import type { Database } from '../../../../src/store/engine/database.ts';
import { freshDatabase } from '../../../support/database.ts';
import { Browser, guarded, PASSWORDS, withPasswords, type Guarded } from './support.ts';

let database: Database;
const open: Guarded[] = [];
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

/** A hash that takes no time, so that many guesses do not either. */
function quickHash(password: string): PasswordHash {
  const cheap = { cost: 4, blockSize: 8, parallel: 1, salt: Buffer.alloc(16, 3) };
  return { ...cheap, hash: scryptSync(password, cheap.salt, 32, { N: 2 ** cheap.cost, r: 8, p: 1 }) };
}
async function shown({ isQuick = true } = {}): Promise<Guarded> {
  const users = new Map(Object.entries(PASSWORDS).map(([name, password]) => [name, quickHash(password)]));
  const one = await guarded(
    database.db,
    isQuick
      ? { ...withPasswords(), users }
      : withPasswords({
          accessUsers: { ada: await hashPassword(PASSWORDS.ada, Buffer.alloc(16, 1)) },
          accessRoles: { ada: 'operator' },
        }),
  );
  open.push(one);
  return one;
}
const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
/** The status that a program at this address gets. */
const triedFrom = async (
  { url }: Guarded,
  address: string,
  [name, password]: readonly [string, string],
): Promise<number> =>
  (
    await new Browser(url).get('/', {
      'x-forwarded-for': address,
      authorization: basic(name, password),
    })
  ).status;
const times = async <Value>(count: number, one: (at: number) => Promise<Value>): Promise<Value[]> => {
  const values: Value[] = [];
  for (let at = 0; at < count; at += 1) values.push(await one(at));
  return values;
};
const RIGHT = ['ada', PASSWORDS.ada] as const;

describe('right passwords', () => {
  it('are not counted: a whole office logs in from one address', async () => {
    const { url } = await shown();
    const statuses = await times(
      14,
      async (at) =>
        (
          await new Browser(url).login(
            at % 2 === 0 ? 'ada' : 'vera',
            at % 2 === 0 ? PASSWORDS.ada : PASSWORDS.vera,
          )
        ).status,
    );
    expect(statuses).toEqual(Array<number>(14).fill(303));
  });

  it('of one program are checked once where its requests come side by side', async () => {
    const server = await shown({ isQuick: false });
    const all = await Promise.all(Array.from({ length: 40 }, () => triedFrom(server, '192.0.2.1', RIGHT)));
    expect(all).toEqual(Array<number>(40).fill(200));
    expect(await triedFrom(server, '192.0.2.1', RIGHT)).toBe(200);
  });
});

describe('wrong passwords', () => {
  it('of a name are counted from wherever they come, whether somebody has the name or not', async () => {
    const server = await shown();
    const expected = [...Array<number>(20).fill(401), 429, 429];
    for (const name of ['vera', 'nobody']) {
      const statuses = await times(22, (at) =>
        triedFrom(server, `198.51.100.${at % 3}`.replace('100', name === 'vera' ? '100' : '101'), [
          name,
          `guess ${at}`,
        ]),
      );
      expect(statuses, name).toEqual(expected);
    }
    expect(await triedFrom(server, '203.0.113.5', RIGHT)).toBe(200);
  });

  it('of strangers do not lock a name out where it was right before', async () => {
    const server = await shown();
    const [office, home] = ['192.0.2.1', '2001:db8:9:1::5'];
    for (const address of [office, home]) expect(await triedFrom(server, address, RIGHT)).toBe(200);
    await times(20, (at) => triedFrom(server, `198.51.100.${at % 3}`, ['ada', `guess ${at}`]));
    const loginFrom = async (address: string, password: string): Promise<number> => {
      const browser = new Browser(server.url, { 'x-forwarded-for': address });
      return (await browser.login('ada', password)).status;
    };
    expect(await triedFrom(server, '203.0.113.5', RIGHT)).toBe(429);
    for (const address of [office, home, '2001:db8:9:1:ffff::6']) {
      expect(await triedFrom(server, address, RIGHT), address).toBe(200);
      expect(await loginFrom(address, PASSWORDS.ada), address).toBe(303);
    }
    // Who guesses there has the tries of one address, and no more.
    const guesses = await times(11, (at) => loginFrom(office, `guess ${at}`));
    expect(guesses).toEqual([...Array<number>(10).fill(401), 429]);
    expect(await triedFrom(server, office, ['vera', PASSWORDS.vera])).toBe(429);
  });

  it('do not lock a name out in a browser in which it logged in before, nor push others away from an address', async () => {
    const server = await shown();
    const from = (address: string): Browser => new Browser(server.url, { 'x-forwarded-for': address });
    const home = from('192.0.2.1');
    expect((await home.login('ada', PASSWORDS.ada)).status).toBe(303);
    // From 21 addresses, and from behind the address that she has next.
    await times(21, (at) => triedFrom(server, `198.51.100.${at}`, ['ada', `guess ${at}`]));
    await times(11, (at) => triedFrom(server, '203.0.113.7', [`name ${at}`, 'guess']));
    const browser = from('203.0.113.7');
    for (const [name, value] of home.cookies) if (name === 'daybook_device') browser.cookies.set(name, value);
    expect((await browser.login('ada', PASSWORDS.ada)).status).toBe(303);
    expect((await from('203.0.113.8').login('ada', PASSWORDS.ada)).status).toBe(429);
    // A cookie is of its name alone, and one that was taken away has the tries of one address.
    expect((await browser.login('vera', PASSWORDS.vera)).status).toBe(429);
    const guesses = await times(11, async (at) => (await browser.login('ada', `guess ${at}`)).status);
    expect(guesses).toEqual([...Array<number>(10).fill(401), 429]);
    expect((await home.login('ada', PASSWORDS.ada)).status).toBe(429);
  });

  it('are not counted apart by a cookie that is forged, or of a password of before', async () => {
    const server = await shown();
    const home = new Browser(server.url);
    await home.login('ada', PASSWORDS.ada);
    const cookie = home.cookies.get('daybook_device')!;
    await times(21, (at) => triedFrom(server, `198.51.100.${at}`, ['ada', `guess ${at}`]));
    for (const forged of [
      cookie.replace(/^.{4}/, 'AAAA'),
      cookie.replace(/%2F|.$/, 'A'),
      cookie.split('.')[0]!,
    ]) {
      const browser = new Browser(server.url, { 'x-forwarded-for': '203.0.113.9' });
      browser.cookies.set('daybook_device', forged);
      expect((await browser.login('ada', PASSWORDS.ada)).status).toBe(429);
    }
    const users = new Map([['ada', quickHash('the next long password')]]);
    const later = await guarded(database.db, { ...withPasswords(), users });
    open.push(later);
    await times(21, (at) => triedFrom(later, `198.51.100.${at}`, ['ada', `guess ${at}`]));
    const browser = new Browser(later.url);
    browser.cookies.set('daybook_device', cookie);
    expect((await browser.login('ada', 'the next long password')).status).toBe(429);
  });

  it('of many addresses at once push nobody else away', async () => {
    const server = await shown();
    const crowd = Array.from({ length: 100 }, (_, at) =>
      triedFrom(server, `198.51.${at}.1`, [`name ${at}`, 'guess']),
    );
    const home = new Browser(server.url, { 'x-forwarded-for': '192.0.2.1' });
    expect((await home.login('ada', PASSWORDS.ada)).status).toBe(303);
    expect(await Promise.all(crowd)).toEqual(Array<number>(100).fill(401));
  });

  it('of one address are not more than ten, however many come at once', async () => {
    const server = await shown({ isQuick: false });
    const statuses = await Promise.all(
      Array.from({ length: 30 }, (_, at) => triedFrom(server, '192.0.2.9', [`name ${at}`, 'guess'])),
    );
    const checked = statuses.filter((status) => status === 401).length;
    // Two are checked side by side.
    expect(checked).toBeGreaterThanOrEqual(10);
    expect(checked).toBeLessThanOrEqual(11);
  });

  it.each([
    ['another port each', (at: number) => `192.0.2.9:${49_152 + at}`],
    ['another port each, IPv6', (at: number) => `[2001:db8:5::1]:${49_152 + at}`],
    ['IPv4 within IPv6', (at: number) => (at % 2 === 0 ? '192.0.2.9' : `[::ffff:192.0.2.9]:${at}`)],
    ['text that is no address', (at: number) => `client ${at}`],
  ])('of one address are counted together, whatever a proxy writes: %s', async (_name, addressOf) => {
    const server = await shown();
    const statuses = await times(12, (at) => triedFrom(server, addressOf(at), [`name ${at}`, 'guess']));
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
  });

  it('of one network of IPv6 are counted together, and do not keep others waiting', async () => {
    const server = await shown();
    const statuses = await times(42, (at) =>
      triedFrom(server, `2001:db8:1:${at.toString(16)}::1`, [`name ${at}`, 'guess']),
    );
    expect(statuses).toEqual([...Array<number>(40).fill(401), 429, 429]);
    const slow = await shown({ isQuick: false });
    const many = Array.from({ length: 60 }, (_, at) =>
      triedFrom(slow, `2001:db8:2:${at.toString(16)}::1`, [`name ${at}`, 'guess']),
    );
    const others = ['192.0.2.1', '2001:db8:3::1'].map((address) => triedFrom(slow, address, RIGHT));
    expect(await Promise.all(others)).toEqual([200, 200]);
    expect((await Promise.all(many)).filter((status) => status === 401).length).toBeLessThanOrEqual(14);
  });
});
