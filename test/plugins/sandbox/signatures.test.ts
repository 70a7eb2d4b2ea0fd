/** What the sandbox asks of a signed request, and the forms in which it writes a ledger. */
import { createHmac, createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sandbox, TOKEN } from './support.ts';

const KEY = 'made-up-key';
const BEARER = { authorization: `Bearer ${TOKEN}`, merchantno: 'M1' };
const asked = { pageNum: 1, pageSize: 2 };

function signed(nonce: string, atMs: number, body: object = asked): Record<string, string> {
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  const text = ['POST', '/api/sp2404', String(atMs), nonce, hash].join('\n');
  const signature = createHmac('sha256', KEY).update(text).digest('hex');
  return { ...BEARER, 'x-timestamp': String(atMs), 'x-nonce': nonce, 'x-signature': signature };
}

test('a signed request is taken once, near its time, for the body it was made for, and only so', async () => {
  const { post } = await sandbox({ signatures: { key: KEY } });
  const now = Date.now();
  const replies = [
    await post('sp2404', asked, signed('a', now)),
    await post('sp2404', asked, signed('a', now)),
    await post('sp2404', asked, signed('b', now - 301_000)),
    await post('sp2404', asked, signed('c', now + 302_000)),
    await post('sp2404', { pageNum: 2, pageSize: 2 }, signed('d', now)),
    await post('sp2404', asked, BEARER),
    await post('sp2404', asked, signed('e', now - 290_000)),
  ];
  expect(replies.map(({ status, reply }) => [status, reply['code']])).toEqual([
    [200, undefined],
    [401, 'E40103'],
    [401, 'E40102'],
    [401, 'E40102'],
    [401, 'E40101'],
    [401, 'E40101'],
    [200, undefined],
  ]);
});

test('without a key in the scenario nothing is asked', async () => {
  const { post } = await sandbox();
  expect((await post('sp2404', asked, BEARER)).status).toBe(200);
});

test('the forms of a page and of its entries are as the scenario has them', async () => {
  const { url } = await sandbox({
    planted: [
      { what: 'amount', merchant: 'M1', currency: 'USD', day: '2026-03-01', nth: 1, net: '1234567.5' },
    ],
    latitude: {
      ...{ pageSizeEcho: 'entries', emptyPage: 'null', batchNo: 'number', amounts: 'grouped' },
      ...{ noAmount: 'empty', currencyCase: 'lower', secondParts: 'thousandths' },
    },
    hostility: { pageSizeMax: 3 },
  });
  const textOf = async (body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json', ...BEARER };
    return (await fetch(`${url}/api/sp2404`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  };
  const page = await textOf({ pageSize: 100 });
  expect(page).toMatch(
    /^\{"pageNum":1,"pageSize":3,"total":5,"list":\[\{"batchNo":7\d{13},"currency":"usd",/,
  );
  expect(page).toMatch(
    /"inAmount":"1,234,567\.50","outAmount":"","vailAmount":"[\d,]+\.\d\d","busiDate":"[-\d]+ [:\d]+\.\d{3}"/,
  );
  const [, batchNo] = /"batchNo":(\d+)/.exec(page)!;
  expect(await textOf({ batchNo })).toContain(`"total":1,"list":[{"batchNo":${batchNo},`);
  expect(await textOf({ beginDate: 1_000_000_000_000, endDate: 1_000_000_000_001 })).toBe(
    '{"pageNum":0,"pageSize":0,"total":0,"list":null}',
  );
});

test('beyond the last page the last one comes again, under its own number', async () => {
  const { post } = await sandbox({ latitude: { pageBeyond: 'last' } });
  const last = (await post('sp2404', { pageNum: 3, pageSize: 2 }, BEARER)).reply;
  expect(last).toMatchObject({ pageNum: 3, total: 5 });
  expect((await post('sp2404', { pageNum: 9, pageSize: 2 }, BEARER)).reply).toEqual(last);
});
