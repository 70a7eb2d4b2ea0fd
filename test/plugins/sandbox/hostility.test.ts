import { afterEach, describe, expect, test } from 'vitest';
import { MERCHANT, openClient, WHOLE_DAY, type Client } from './client.ts';

let client: Client;
afterEach(() => client.sandbox.close());

const open = async (...args: Parameters<typeof openClient>) => (client = await openClient(...args));
const everyEntry = () => client.sandbox.entriesOf(MERCHANT.merchantNo).map(({ batchNo }) => batchNo);

describe('order', () => {
  test('ascending and descending are by time', async () => {
    await open();
    expect((await client.batchNos({})).flat()).toEqual(everyEntry());
    client.sandbox.setHostility({ order: 'descending' });
    expect((await client.batchNos({})).flat()).toEqual(everyEntry().reverse());
  });

  test('shuffled by window is neither, is the same for each request, and has every entry once', async () => {
    await open({ hostility: { order: 'window-shuffled' } });
    const once = (await client.batchNos({})).flat();
    expect(once).not.toEqual(everyEntry());
    expect([...once].sort()).toEqual(everyEntry().sort());
    expect((await client.batchNos({})).flat()).toEqual(once);
    expect((await client.batchNos(WHOLE_DAY)).flat()).not.toEqual(once.slice(0, 250));
  });

  test('shuffled by request shows some entries twice and others not at all', async () => {
    await open({ hostility: { order: 'request-shuffled' } });
    const pages = await client.batchNos({});
    expect(pages.map((page) => new Set(page).size)).toEqual([100, 100, 100, 100, 100]);
    expect(new Set(pages.flat()).size).toBeLessThan(500);
  });
});

describe('rows', () => {
  test('an entry that was held back appears before an answer', async () => {
    await open({
      planted: [
        { what: 'missing', merchant: MERCHANT.merchantNo, currency: 'USD', day: '2026-03-02', nth: 3 },
      ],
      hostility: { liveInsertsEvery: 2 },
    });
    const totals = [];
    for (let n = 0; n < 4; n += 1) totals.push((await client.page(WHOLE_DAY)).total);
    expect(totals).toEqual([249, 250, 250, 250]);
  });

  test('totals are one too high', async () => {
    await open({ hostility: { wrongTotalsEvery: 2 } });
    const totals = [];
    for (let n = 0; n < 4; n += 1) totals.push((await client.page(WHOLE_DAY)).total);
    expect(totals).toEqual([250, 251, 250, 251]);
  });

  test('a row is repeated in place of another', async () => {
    await open({ hostility: { duplicateRowsEvery: 1 } });
    const { total, list } = await client.page(WHOLE_DAY);
    expect([total, list.length, new Set(list.map(({ batchNo }) => batchNo)).size]).toEqual([250, 100, 99]);
  });

  test('a row is left out', async () => {
    await open({ hostility: { missingRowsEvery: 1 } });
    const { total, list } = await client.page(WHOLE_DAY);
    expect([total, list.length]).toEqual([250, 99]);
  });

  test('times are off by a constant', async () => {
    await open({ hostility: { timeZoneOffsetHours: -8 } });
    const [first] = client.sandbox.entriesOf(MERCHANT.merchantNo);
    const { list } = await client.page({ batchNo: first!.batchNo });
    const wallMs = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);
    expect(wallMs(first!.busiDate) - wallMs(list[0]!.busiDate)).toBe(8 * 3_600_000);
  });
});

describe('whole replies', () => {
  test('429 with a time to wait', async () => {
    await open({ hostility: { http429Every: 2 } });
    expect((await client.post({})).status).toBe(200);
    const reply = await client.post({});
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '1']);
  });

  test('500', async () => {
    await open({ hostility: { http500Every: 1 } });
    expect(await client.post({})).toMatchObject({ status: 500, text: expect.stringContaining('E50000') });
  });

  test('the connection is cut', async () => {
    await open({ hostility: { resetEvery: 1 } });
    await expect(client.post({})).rejects.toThrow('fetch failed');
  });

  test('there is no answer', async () => {
    await open({ hostility: { stallEvery: 1 } });
    const answered = fetch(`${client.url}/api/sp2404`, { method: 'POST', signal: AbortSignal.timeout(80) });
    await expect(answered).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('the reply ends midway', async () => {
    await open({ hostility: { truncatedEvery: 1 } });
    const { status, text } = await client.post({});
    expect(status).toBe(200);
    expect(text).toMatch(/^\{"pageNum":1,"pageSize":100,"total":500,"list":\[/);
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  test('an HTML page', async () => {
    await open({ hostility: { htmlEvery: 1 } });
    const reply = await client.post({});
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/html']);
  });

  test('an error document under status 200', async () => {
    await open({ hostility: { errorDocumentEvery: 1 } });
    expect(await client.post({})).toMatchObject({
      status: 200,
      text: '{"code":"E99999","message":"system busy"}',
    });
  });
});

describe('how often', () => {
  test('every n-th request, and no more than the given number of times', async () => {
    await open({ hostility: { http500Every: 2, strikesMax: 2 } });
    const statuses = [];
    for (let n = 0; n < 8; n += 1) statuses.push((await client.post({})).status);
    expect(statuses).toEqual([200, 500, 200, 500, 200, 200, 200, 200]);
  });

  test('down after a number of answers, until switched to something else', async () => {
    await open({ hostility: { downAfterRequests: 2 } });
    expect([(await client.post({})).status, (await client.post({})).status]).toEqual([200, 200]);
    await expect(client.post({})).rejects.toThrow();
    await expect(client.post({})).rejects.toThrow();
    expect(client.sandbox.requestCount()).toBe(4);
    client.sandbox.setHostility({});
    expect(client.sandbox.requestCount()).toBe(0);
    expect((await client.post({})).status).toBe(200);
  });

  test('a person can switch it with curl', async () => {
    await open();
    const on = await client.post({ order: 'descending' }, { path: '/sandbox/hostility' });
    expect(JSON.parse(on.text)).toMatchObject({ order: 'descending' });
    expect((await client.batchNos({})).flat()).toEqual(everyEntry().reverse());
    expect((await client.post({ ordr: 'descending' }, { path: '/sandbox/hostility' })).status).toBe(400);
    const about = (await (await fetch(`${client.url}/sandbox`)).json()) as object;
    expect(about).toMatchObject({ hostility: { order: 'descending' }, days: { from: '2026-03-02' } });
  });
});
