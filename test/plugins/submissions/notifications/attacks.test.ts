/**
 * Attacks on the server: slow, flooding and forging clients are disconnected, and genuine posts are answered all the
 * time.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { sql, type KyselyPlugin } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { newNotifySecret } from '../../../../src/store/notify-path.ts';
import { createReadiness, READINESS_LASTS_MS } from '../../../../src/web/readiness.ts';
import {
  createRefusalLog,
  LINES_A_SPELL,
  SPELL_MS,
  type ReportedEvent,
} from '../../../../src/web/refusals.ts';
import { serve } from '../../../../src/plugins/submissions/serve.ts';
import { accepted, onboardingResult } from './subjects.ts';
import { KEYS, NOW, serveOver, type Served } from './support.ts';
import { emptyTables, freshDatabase } from '../../../support/database.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());
beforeEach(async () => {
  await emptyTables(database.db);
  await accepted(database.db, 'GIVEN', SECRET);
});

let served: Served | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await served?.close();
  served = undefined;
});

const SECRET = newNotifySecret();
const PATH = `/notify/onboarding/${SECRET}`;
const HEAD = `POST ${PATH} HTTP/1.1\r\nHost: daybook\r\nContent-Type: application/json\r\n`;
const RECEIVED = { status: 200, text: '{"received":true}' };
const QUICK = { headersMs: 100, requestMs: 200, checkIntervalMs: 20 };

/** A reset gives an error first. That counts as closed too. */
const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())));

/** A connection that sends `text` and then nothing. */
function dawdler(url: string, text: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.resume();
  if (text !== '') socket.write(text);
  sockets.push(socket);
  return socket;
}

it.each([
  ['nothing at all', ''],
  ['half a line', 'POST /not'],
  ['half of the headers', HEAD],
  ['half of a body', `${HEAD}Content-Length: 100\r\n\r\n{"half":`],
])('a sender of %s is disconnected in time', async (_, text) => {
  served = await serveOver(database.db, {}, { times: QUICK });
  await closed(dawdler(served.url, text));
});

it('a byte now and then does not buy more time', async () => {
  served = await serveOver(database.db, {}, { times: QUICK });
  const socket = dawdler(served.url, `${HEAD}Content-Length: 10000\r\n\r\n`);
  const drip = setInterval(() => socket.write('x'), 10);
  await closed(socket);
  clearInterval(drip);
});

it.each(['', HEAD, `${HEAD}Content-Length: 100\r\n\r\n{"half":`])(
  'any number of idle connections keep nobody out, not even for a moment: %j',
  async (text) => {
    const connections = { connectionsMax: 20 };
    served = await serveOver(database.db, {}, { connections });
    const slow = Array.from({ length: 100 }, () => dawdler(served!.url, text));
    await Promise.all(slow.slice(0, 80).map(closed));
    expect(await served.post(PATH, '{}')).toEqual(RECEIVED);
    expect(served.events).toContainEqual({ route: '-', status: 0, reason: 'too-many-connections' });
  },
);

it('a request that is being answered is not dropped for a new connection', async () => {
  served = await serveOver(database.db, {}, { connections: { connectionsMax: 1 } });
  const { answer } = await database.db.transaction().execute(async (trx) => {
    await sql`LOCK TABLE notification IN EXCLUSIVE MODE`.execute(trx);
    const answer = served!.post(PATH, '{}');
    const waiting = sql`SELECT 1 FROM pg_locks WHERE relation = 'notification'::regclass AND NOT granted`;
    await expect.poll(async () => (await waiting.execute(trx)).rows).toHaveLength(1);
    await closed(dawdler(served!.url, ''));
    return { answer };
  });
  expect(await answer).toEqual(RECEIVED);
});

it('one address has a limited number of connections, unless it is a trusted proxy', async () => {
  const connections = { perAddressMax: 3 };
  served = await serveOver(database.db, {}, { connections });
  for (let n = 0; n < 10; n++) dawdler(served.url, HEAD);
  expect(await served.post(PATH, '{}')).toEqual(RECEIVED);
  expect(served.events).toEqual([]);
  for (const socket of sockets.splice(0)) socket.destroy();
  await served.close();
  served = await serveOver(database.db, {}, { connections, trustedProxies: ['192.0.2.1'] });
  const three = Array.from({ length: 3 }, () => dawdler(served!.url, HEAD));
  await Promise.all(three.map((socket) => once(socket, 'connect')));
  await closed(dawdler(served.url, HEAD));
  expect(served.events).toContainEqual({ route: '-', status: 0, reason: 'too-many-of-one-address' });
  for (const socket of three) socket.destroy();
  await expect.poll(() => served!.post(PATH, '{}').catch(String)).toEqual(RECEIVED);
});

it('a stop ends in time even if a sender keeps its connection, and requests at work are answered first', async () => {
  const controller = new AbortController();
  const nothing = () => undefined;
  const serving = await serve(
    { database, now: () => NOW, drainMs: 300 },
    { secretKeys: KEYS, listen: { host: '127.0.0.1', port: 0 } },
    controller.signal,
    { onRefusal: nothing, onProcessed: nothing, onFault: nothing },
  );
  const [held, late] = [0, 1].map(() => dawdler(serving.url, `${HEAD}Content-Length: 4\r\n\r\n{`)) as [
    Socket,
    Socket,
  ];
  const answer = once(late, 'data') as Promise<[Buffer]>;
  expect(await (await fetch(`${serving.url}/healthz`)).text()).toBe('{"alive":true}');
  controller.abort();
  late.write('"":');
  expect(String((await answer)[0])).toContain('HTTP/1.1 200');
  await serving.ended;
  await closed(held);
});

it('two Host headers are refused, and nothing is kept', async () => {
  served = await serveOver(database.db);
  const socket = dawdler(
    served.url,
    `POST ${PATH} HTTP/1.1\r\nHost: daybook\r\nhOST: other\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(String(answer)).toContain('HTTP/1.1 400');
  expect(await database.db.selectFrom('notification').select('id').execute()).toEqual([]);
});

it('the sender’s address is taken from a trusted proxy, and from nobody else', async () => {
  const post = async (trustedProxies: string[]) => {
    served = await serveOver(database.db, {}, { trustedProxies });
    await fetch(`${served.url}${PATH}`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9, 198.51.100.7:4711' },
    });
    await served.close();
  };
  await post(['127.0.0.0/8']);
  await post([]);
  const rows = await database.db.selectFrom('notification').select('source').orderBy('number').execute();
  expect(rows.map(({ source }) => source)).toEqual(['198.51.100.7', '127.0.0.1']);
});

it('readiness costs one query a second, however many ask', async () => {
  let queries = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => {
      queries += 1;
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  let clockMs = 0;
  const readiness = createReadiness({
    db: database.db.withPlugin(counting),
    secretKeys: KEYS,
    signal: new AbortController().signal,
    clock: () => clockMs,
  });
  const asks = async () => {
    const answers = await Promise.all(Array.from({ length: 500 }, () => readiness()));
    expect(answers.every(({ ready }) => ready)).toBe(true);
  };
  await asks();
  await asks();
  const onceAsked = queries;
  expect(onceAsked).toBeLessThan(5);
  clockMs += READINESS_LASTS_MS;
  await asks();
  expect(queries).toBe(2 * onceAsked);
});

it('if health checks have a port of their own, the public port has none', async () => {
  const controller = new AbortController();
  const nothing = () => undefined;
  const anyPort = { host: '127.0.0.1', port: 0 };
  const one = await accepted(database.db, 'A1');
  const { url, healthUrl, ended } = await serve(
    { database, now: () => NOW },
    { secretKeys: KEYS, listen: anyPort, healthListen: anyPort },
    controller.signal,
    { onRefusal: nothing, onProcessed: nothing, onFault: nothing },
  );
  const statusOf = async (address: string, init = {}) => (await fetch(address, init)).status;
  const push = {
    method: 'POST',
    body: JSON.stringify(onboardingResult(one)),
    headers: { 'content-type': 'application/json' },
  };
  expect(await statusOf(`${healthUrl}/readyz`)).toBe(200);
  expect(await statusOf(`${healthUrl}/healthz`)).toBe(200);
  expect(await statusOf(`${url}/readyz`)).toBe(404);
  expect(await statusOf(`${healthUrl}${one.path}`, push)).toBe(404);
  expect(await statusOf(`${url}${one.path}`, push)).toBe(200);
  controller.abort();
  await ended;
});

it('of many refusals of one kind a few are logged and the rest counted; another kind is logged at once', () => {
  const reported: ReportedEvent[] = [];
  let clockMs = 0;
  const log = createRefusalLog(
    (event) => void reported.push(event),
    () => clockMs,
  );
  const [much, other] = [
    { route: '-', status: 0, reason: 'too-many-connections' },
    { route: '/notify/onboarding/:secret', status: 413, reason: 'FST_ERR_CTP_BODY_TOO_LARGE' },
  ];
  for (let n = 0; n < 1_000; n++) log.onEvent(much);
  log.onEvent(other);
  expect(reported).toEqual([...Array.from({ length: LINES_A_SPELL }, () => much), other]);
  clockMs += SPELL_MS;
  log.onEvent(much);
  expect(reported.at(-1)).toEqual({ ...much, unreported: 1_000 - LINES_A_SPELL });
  for (let n = 0; n < 10; n++) log.onEvent(much);
  log.flush();
  expect(reported.at(-1)).toEqual({ ...much, unreported: 6 });
});
