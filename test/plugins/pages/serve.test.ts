/** Where `serve` shows pages: at an address of their own, at the notifications' only if set so, and nowhere unasked. */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shownPages } from '../../../src/plugins/pages/shown.ts';
import { everybody } from './support.ts';
import type { ListenAddress } from '../../../src/settings/values/addresses.ts';
import type { WebEvent } from '../../../src/web/server.ts';
import { serve } from '../../../src/plugins/submissions/serve.ts';
import { KEYS, NOW } from '../submissions/notifications/support.ts';
import { daybook } from '../../cli/daybook.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => (stage = await openStage()));
afterAll(() => stage.close());

const ANY: ListenAddress = { host: '127.0.0.1', port: 0 };

async function serving(addresses: { listen: ListenAddress; pagesListen?: ListenAddress }) {
  const { database, objects, settings } = stage.app;
  const controller = new AbortController();
  const pages = {
    access: everybody(),
    canLogOut: false,
    link: null,
    ...{ db: database.db, objects, settings, zone: 'Asia/Shanghai', jobs: [] },
    now: () => NOW,
  };
  const refusals = { ofInbox: [] as string[], ofPages: [] as string[] };
  const events = {
    onRefusal: ({ reason }: WebEvent) => refusals.ofInbox.push(reason),
    onPagesRefusal: ({ reason }: WebEvent) => refusals.ofPages.push(reason),
    onProcessed: () => undefined,
    onFault: () => undefined,
  };
  const one = await serve(
    { database, now: () => NOW, pages: shownPages(pages) },
    { secretKeys: KEYS, ...addresses },
    controller.signal,
    events,
  );
  const typeAt = async (url: string): Promise<string> => {
    const response = await fetch(url);
    await response.arrayBuffer();
    return `${response.status} ${response.headers.get('content-type')?.split(';')[0] ?? ''}`;
  };
  return {
    ...one,
    refusals,
    typeAt,
    stop: async () => {
      controller.abort();
      await one.ended;
    },
  };
}

async function freeAddress(): Promise<ListenAddress> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return { host: '127.0.0.1', port };
}

test('without an address there are none', async () => {
  const { url, pagesUrl, typeAt, stop } = await serving({ listen: ANY });
  expect(pagesUrl).toBeNull();
  expect(await typeAt(`${url}/`)).toBe('404 application/json');
  await stop();
});

test('they have a port of their own', async () => {
  const { url, pagesUrl, refusals, typeAt, stop } = await serving({ listen: ANY, pagesListen: ANY });
  expect(pagesUrl).not.toBe(url);
  expect(await typeAt(`${pagesUrl!}/`)).toBe('200 text/html');
  expect(await typeAt(`${pagesUrl!}/healthz`)).toBe('404 text/html');
  // What happens there is no attack on the inbox.
  expect(refusals).toEqual({ ofInbox: [], ofPages: ['PageRefusal'] });
  expect(await typeAt(`${url}/`)).toBe('404 application/json');
  await stop();
  await expect(fetch(`${pagesUrl!}/`)).rejects.toThrow();
});

test('told the same address, they share it, and notifications go on as before', async () => {
  const listen = await freeAddress();
  const { url, pagesUrl, typeAt, stop } = await serving({ listen, pagesListen: listen });
  expect(pagesUrl).toBe(url);
  expect(await typeAt(`${url}/`)).toBe('200 text/html');
  expect(await typeAt(`${url}/healthz`)).toBe('200 application/json');
  const posted = await fetch(`${url}/notify/onboarding/nobody-was-told-this-path`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(posted.headers.get('content-security-policy')).toBeNull();
  expect(posted.headers.get('content-type')).not.toContain('text/html');
  await stop();
});

test('where others can reach them, serve does not start without a way to log in', async () => {
  const { code, stderr } = await daybook(['serve'], {
    DATABASE_URL: stage.app.settings.databaseUrl!,
    DAYBOOK_LISTEN: '127.0.0.1:0',
    DAYBOOK_PAGES_LISTEN: '0.0.0.0:0',
  });
  expect(code).toBe(2);
  expect(stderr).toContain('DAYBOOK_PAGES_LISTEN is 0.0.0.0, which others can reach');
});

test('at the address of the notifications serve shows none without a way to log in', async () => {
  const { host, port } = await freeAddress();
  const { code, stderr } = await daybook(['serve'], {
    DATABASE_URL: stage.app.settings.databaseUrl!,
    DAYBOOK_LISTEN: `${host}:${port}`,
    DAYBOOK_PAGES_LISTEN: `${host}:${port}`,
  });
  expect(code).toBe(2);
  expect(stderr).toContain('DAYBOOK_PAGES_LISTEN is the address of DAYBOOK_LISTEN');
});
