/** Which access there is: none without a login where others can come, and the operator of this machine elsewhere. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AccessMissing, openAccess } from '../../../../src/options/pages/access/open.ts';
import type { Database } from '../../../../src/store/engine/database.ts';
import { freshDatabase } from '../../../support/database.ts';
import { accessSettings, loginPages, random, withPasswords } from './support.ts';
import fastify from 'fastify';

let database: Database;
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());

const LISTEN = { host: '127.0.0.1', port: 8080 };
const opened = (access: ReturnType<typeof accessSettings>, host: string, port = 8082) =>
  openAccess({
    settings: { access, secretKeys: [], listen: LISTEN },
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
  expect(opened(local, '127.0.0.1').canLogOut).toBe(false);
  expect(opened(withPasswords(), LISTEN.host, LISTEN.port).canLogOut).toBe(true);
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
  for (const [name, value] of PROXIES_SAY) expect(await ask({ [name]: value }), name).toBe(403);
  expect(await ask({ host: 'rebound.example' })).toBe(403);
  const image = { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
  expect(await ask({ 'sec-fetch-site': 'cross-site', ...image })).toBe(403);
  expect(await ask({ 'sec-fetch-site': 'same-origin', ...image })).toBe(200);
  await server.close();
});

/** What proxies send on, each by itself: nginx, Apache, Traefik, Envoy, oauth2-proxy, Cloudflare, Akamai. */
const PROXIES_SAY = Object.entries({
  forwarded: 'for=203.0.113.9',
  via: '1.1 proxy',
  'x-real-ip': '203.0.113.9',
  'x-forwarded-proto': 'https',
  'x-forwarded-port': '443',
  'x-forwarded-server': 'proxy',
  'x-forwarded-user': 'ada',
  'x-original-forwarded-for': '203.0.113.9',
  'x-original-uri': '/',
  'x-auth-request-email': 'ada@company.example',
  'x-client-ip': '203.0.113.9',
  'x-cluster-client-ip': '203.0.113.9',
  'x-envoy-external-address': '203.0.113.9',
  'x-remote-user': 'ada',
  'remote-user': 'ada',
  'true-client-ip': '203.0.113.9',
  'cf-connecting-ip': '203.0.113.9',
  'fastly-client-ip': '203.0.113.9',
});

test('on loopback without settings nobody comes in who speaks as nginx does by itself to what is behind it', async () => {
  const { access } = opened(accessSettings({}), '127.0.0.1');
  const server = fastify();
  await access.register(server, loginPages());
  server.get('/', (request) => access.personOf(request));
  const port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port);
  const statusOf = async (version: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET / HTTP/${version}\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
    return (await text(socket)).split(' ')[1]!;
  };
  expect([await statusOf('1.0'), await statusOf('1.1')]).toEqual(['403', '200']);
  await server.close();
});
