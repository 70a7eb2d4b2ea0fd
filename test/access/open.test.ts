/** Which access there is: none without a login where others can come, and the operator of this machine elsewhere. */
import fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AccessMissing, openAccess } from '../../src/access/open.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';
import { accessSettings, loginPages, random, withPasswords } from './support.ts';

let database: Database;
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());

const opened = (access: ReturnType<typeof accessSettings>, host: string) =>
  openAccess({
    settings: { access, secretKeys: [] },
    ...{ host, db: database.db, random, now: () => new Date() },
  });

test('off loopback nothing is served without a way to log in', async () => {
  const none = accessSettings({});
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'books.example']) {
    expect(() => opened(none, host)).toThrow(AccessMissing);
    expect(() => opened(none, host)).toThrow(/DAYBOOK_ACCESS_USERS.*DAYBOOK_ACCESS_ROLES/);
  }
  expect(opened(await withPasswords(), '0.0.0.0').canLogOut).toBe(true);
});

test('on loopback without settings everybody is the operator, but nobody whom a proxy or another name brings', async () => {
  const { access, canLogOut } = opened(accessSettings({}), '127.0.0.1');
  expect(canLogOut).toBe(false);
  const server = fastify();
  await access.register(server, loginPages());
  server.get('/', (request) => access.personOf(request));
  const ask = async (headers: Record<string, string>) =>
    (await server.inject({ url: '/', headers: { host: 'localhost:8082', ...headers } })).statusCode;
  expect(await ask({})).toBe(200);
  expect(await ask({ 'x-forwarded-for': '203.0.113.9' })).toBe(403);
  expect(await ask({ forwarded: 'for=203.0.113.9' })).toBe(403);
  expect(await ask({ host: 'rebound.example' })).toBe(403);
  await server.close();
});
