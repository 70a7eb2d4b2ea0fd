import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newNotifySecret, notifyHashOf } from '../../../../src/store/notify-path.ts';
import { BODY_BYTES_MAX } from '../../../../src/web/server.ts';
import { accepted, inReview } from './subjects.ts';
import { keptBodies, NOW, serveOver, type Served } from './support.ts';
import { startCuttingProxy } from '../../../support/cutting-proxy.ts';
import { onBothDatabases } from '../../../store/support.ts';
import { freshDatabase } from '../../../support/database.ts';
import { openDatabase } from '../../../../src/store/engine/connection.ts';

let [SECRET, PATH] = ['', ''];
/** An application whose path is posted to. */
async function given(db: Parameters<typeof accepted>[0]): Promise<void> {
  ({ secret: SECRET, path: PATH } = await accepted(db, 'A1'));
}
const RECEIVED = { status: 200, text: '{"received":true}' };
const TRY_LATER = { status: 503, text: '{"error":"try again later"}' };

let served: Served | undefined;
afterEach(() => served?.close());

onBothDatabases((store) => {
  beforeEach(() => given(store().db));

  it('a post is stored unchanged, encrypted, under the hash of its path, before it is answered', async () => {
    served = await serveOver(store().db);
    const body = '{ "code": "S00000",\n "token": "tok-secret" , "name": "\\u0000 深圳" }';
    expect(await served.post(PATH, body, 'application/json; charset=utf-8')).toEqual(RECEIVED);
    const [row] = await store().db.selectFrom('notification').selectAll().execute();
    expect(row).toMatchObject({
      kind: 'onboarding',
      notify_hash: notifyHashOf(SECRET),
      received_at: NOW,
      source: '127.0.0.1',
    });
    expect(JSON.stringify(row)).not.toContain('tok-secret');
    expect(JSON.stringify(row)).not.toContain(SECRET);
    expect(await keptBodies(store().db)).toEqual([body]);
  });

  it('valid, invalid and empty posts get the same answer, and all are stored whole', async () => {
    served = await serveOver(store().db);
    const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x00]);
    const deep = '['.repeat(BODY_BYTES_MAX);
    for (const body of ['{}', 'null', '', '{"code":', deep]) {
      expect(await served.post(PATH, body)).toEqual(RECEIVED);
    }
    expect(await served.post((await inReview(store().db, 'R1')).path, bytes)).toEqual(RECEIVED);
    expect(await keptBodies(store().db)).toEqual([
      '{}',
      'null',
      '',
      '{"code":',
      deep,
      `base64:${bytes.toString('base64')}`,
    ]);
    expect(served.events).toEqual([]);
  });

  it.each(['text/json', 'application/x-www-form-urlencoded', 'text/plain; charset=gbk', 'json', ';;;', ''])(
    'a post of the type “%s” is stored like any other, with or without a slash at the end of its path',
    async (type) => {
      served = await serveOver(store().db);
      for (const path of [PATH, `${PATH}/`, `${PATH}?a=1`]) {
        expect(await served.post(path, '{"code":"S00000"}', type)).toEqual(RECEIVED);
      }
      expect(await keptBodies(store().db)).toEqual(Array<string>(3).fill('{"code":"S00000"}'));
    },
  );

  it('a post without a type is stored', async () => {
    served = await serveOver(store().db);
    const { hostname, port } = new URL(served.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: daybook\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
    expect(text).toContain('HTTP/1.1 200');
    expect(await keptBodies(store().db)).toEqual(['{}']);
  });

  it('a post that is too long, has no path or another method is refused alike, and not stored', async () => {
    served = await serveOver(store().db);
    const ask = (method: string, path: string) =>
      fetch(`${served!.url}${path}`, { method }).then(async (response) => ({
        status: response.status,
        text: await response.text(),
      }));
    const tooLong = { status: 413, text: '{"error":"more than 64 kB"}' };
    expect(await served.post(PATH, `"${'a'.repeat(BODY_BYTES_MAX)}"`)).toEqual(tooLong);
    const notFound = { status: 404, text: '{"error":"not found"}' };
    expect(await served.post('/notify/onboarding/short', '{}')).toEqual(notFound);
    expect(await served.post(`/notify/onboarding/${newNotifySecret()}`, '{}')).toEqual(notFound);
    expect(await served.post(`/notify/beneficiary/${SECRET}`, '{}')).toEqual(notFound);
    expect(await served.post(`/notify/other/${SECRET}`, '{}')).toEqual(notFound);
    expect(await served.post(`${PATH}${SECRET}`, '{}')).toEqual(notFound);
    expect(await served.post(`${PATH}/more`, '{}')).toEqual(notFound);
    expect(await ask('GET', PATH)).toEqual(notFound);
    expect(await ask('PUT', PATH)).toMatchObject({ status: 404 });
    expect(await served.post('/notify/onboarding/%zz', '{}')).toEqual(notFound);
    expect(await keptBodies(store().db)).toEqual([]);
    expect(JSON.stringify(served.events)).not.toContain(SECRET);
    expect(served.events).toContainEqual({
      route: '/notify/onboarding/:secret',
      status: 413,
      reason: 'FST_ERR_CTP_BODY_TOO_LARGE',
    });
  });

  it('without a key nothing is accepted, and the server is not ready', async () => {
    served = await serveOver(store().db, { secretKeys: [] });
    expect(await served.post(PATH, '{}')).toEqual(TRY_LATER);
    expect(await served.get('/readyz')).toEqual({
      status: 503,
      text: '{"ready":false,"checks":{"serving":null,"secretKeys":"DAYBOOK_SECRET_KEYS is not set","database":null}}',
    });
  });

  it('the server is alive and ready, and no longer ready once asked to stop', async () => {
    served = await serveOver(store().db);
    expect(await served.get('/healthz')).toEqual({ status: 200, text: '{"alive":true}' });
    expect((await served.get('/readyz')).status).toBe(200);
    served.stopping.abort();
    expect((await served.get('/readyz')).text).toContain('"serving":"stopping"');
    expect((await served.get('/healthz')).status).toBe(200);
  });
});

describe('a database that fails', () => {
  it(
    'gives 503, never a false 200; after a cut connection the post is tried once more and gives one row',
    { tags: ['long'] },
    async () => {
      const real = await freshDatabase();
      const proxy = await startCuttingProxy(real.url);
      const database = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
      await given(real.db);
      served = await serveOver(database.db);
      const insert = 'INSERT INTO notification';

      proxy.cuts.push({ message: insert, when: 'before' });
      expect(await served.post(PATH, '"before"')).toEqual(RECEIVED);
      proxy.cuts.push({ message: insert, when: 'after' });
      expect(await served.post(PATH, '"after"')).toEqual(RECEIVED);
      expect(await keptBodies(real.db)).toEqual(['"before"', '"after"']);

      proxy.cuts.push({ message: insert, when: 'before' }, { message: insert, when: 'before' });
      expect(await served.post(PATH, '"lost"')).toEqual(TRY_LATER);
      expect(await keptBodies(real.db)).toEqual(['"before"', '"after"']);

      await proxy.close();
      expect(await served.post(PATH, '"gone"')).toEqual(TRY_LATER);
      expect((await served.get('/readyz')).text).toContain('"database":"cannot be reached"');
      expect((await served.get('/healthz')).status).toBe(200);
      expect(served.events.filter(({ status }) => status === 503)).toHaveLength(2);
      await served.close();
      await database.close();
      await real.close();
    },
  );

  it('without the table gives 503 too', async () => {
    const database = await freshDatabase();
    await given(database.db);
    await database.db.schema.dropTable('notification').execute();
    served = await serveOver(database.db);
    expect(await served.post(PATH, '{}')).toEqual(TRY_LATER);
    await served.close();
    await database.close();
  });
});

describe('a slow sender', () => {
  it('does not keep others from being answered', async () => {
    const database = await freshDatabase();
    await given(database.db);
    served = await serveOver(database.db);
    const { port } = new URL(served.url);
    const slow = Array.from({ length: 50 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(`POST ${PATH} HTTP/1.1\r\nHost: daybook\r\nContent-Type: application/json\r\n`);
      return socket;
    });
    expect(await served.post(PATH, '{}')).toEqual(RECEIVED);
    for (const socket of slow) socket.destroy();
    await served.close();
    await database.close();
  });
});
