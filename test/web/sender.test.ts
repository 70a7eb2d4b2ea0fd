/** Whose address counts as a request's sender, whatever the proxies in front write. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { bareServer } from '../../src/web/server.ts';

const open: FastifyInstance[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

/** The sender of a request with these headers, as a server behind a proxy at 127.0.0.1 has it. */
async function behind(
  trustedProxies: readonly string[] = ['127.0.0.0/8', '10.0.0.0/8', '2001:db8:ffff::/48'],
) {
  const server = bareServer({ onRefusal: () => undefined, trustedProxies });
  open.push(server);
  server.get('/', ({ sender }) => sender);
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return (...forwarded: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      request(url, { headers: { 'X-Forwarded-For': [...forwarded] } }, (response) => resolve(text(response)))
        .on('error', reject)
        .end();
    });
}

test.each([
  ['an address', '203.0.113.9', '203.0.113.9'],
  ['with a port', '203.0.113.9:49152', '203.0.113.9'],
  ['IPv6', '2001:DB8:0:0::9', '2001:db8::9'],
  ['IPv6 in brackets', '[2001:db8::9]', '2001:db8::9'],
  ['IPv6 with a port', '[2001:db8::9]:49152', '2001:db8::9'],
  ['IPv6 with a zone', 'fe80::9%eth0', 'fe80::9'],
  ['IPv6 with a zone and a port', '[fe80::9%25eth0]:443', 'fe80::9'],
  ['IPv4 mapped into IPv6', '::ffff:203.0.113.9', '203.0.113.9'],
  ['IPv4 mapped into IPv6, as hex, with a port', '[::FFFF:cb00:7109]:443', '203.0.113.9'],
  ['quoted', '"203.0.113.9:49152"', '203.0.113.9'],
  ['in the words of Forwarded', 'for=203.0.113.9:49152;proto=https;by=10.0.0.1', '203.0.113.9'],
  ['in the words of Forwarded, IPv6', 'proto=https; For="[2001:db8::9]:49152"', '2001:db8::9'],
  ['what a sender claimed first', '6.6.6.6, 203.0.113.9:1', '203.0.113.9'],
  ['several proxies', '6.6.6.6,203.0.113.9:1 , 10.0.0.2:443,[2001:db8:ffff::1]:80', '203.0.113.9'],
  ['only proxies', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
])('%s', async (_name, forwarded, sender) => {
  expect(await (await behind())(forwarded)).toBe(sender);
});

test.each([
  ['nothing', ''],
  ['an empty element, which is no leave to believe the one before it', '203.0.113.9, '],
  ['unknown', '203.0.113.9, unknown'],
  ['a hidden name', 'for=_SEVKISEK'],
  ['a name', 'client.example'],
  ['an address that is none', '203.0.113.900'],
  ['a number', '3405803785'],
  ['a port that is none', '203.0.113.9:port'],
  ['IPv6 cut off', '[2001:db8::9'],
  ['a letter beyond ASCII', '203.0.113.\u00e4'],
])('where no address can be read, the connection’s own counts: %s', async (_name, forwarded) => {
  expect(await (await behind())(forwarded)).toBe('127.0.0.1');
});

test('what cannot be read hides no proxy that could', async () => {
  expect(await (await behind())('203.0.113.9, unknown, 10.0.0.2')).toBe('10.0.0.2');
});

test('several headers are one list', async () => {
  const senderOf = await behind();
  expect(await senderOf('6.6.6.6', '203.0.113.9:7', '10.0.0.2')).toBe('203.0.113.9');
  expect(await senderOf('203.0.113.9', 'unknown')).toBe('127.0.0.1');
});

test('from others than the trusted proxies nothing is believed', async () => {
  const senderOf = await behind([]);
  expect(await senderOf('203.0.113.9')).toBe('127.0.0.1');
  expect(await (await behind(['10.0.0.0/8']))('10.0.0.2, 203.0.113.9')).toBe('127.0.0.1');
});
