import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSandbox } from '../../../src/plugins/sandbox/server.ts';
import { DAY_BEGIN_MS, MERCHANT, openClient, OTHER, scenario, WHOLE_DAY, type Client } from './client.ts';

let client: Client;
beforeAll(async () => {
  client = await openClient();
});
afterAll(() => client.sandbox.close());

describe('requests are checked', () => {
  test.each([
    ['a token of another merchant', { authorization: `Bearer ${OTHER.token}` }],
    ['no scheme', { authorization: MERCHANT.token }],
    ['an unknown merchant', { merchantNo: 'SBX-M-9' }],
  ])('%s is refused', async (_, headers) => {
    const reply = await client.post(WHOLE_DAY, { headers });
    expect(reply).toMatchObject({ status: 401, text: expect.stringContaining('E40100') });
  });

  test.each<[string, unknown, RegExp]>([
    ['seconds in place of ms', { beginDate: 1_772_380_800 }, /beginDate: .*13 digits/],
    ['microseconds in place of ms', { endDate: 1_772_380_800_000_000 }, /endDate: .*13 digits/],
    ['text in place of a number', { beginDate: '1772380800000' }, /beginDate/],
    ['a fraction of a ms', { beginDate: DAY_BEGIN_MS + 0.5 }, /beginDate/],
    ['page 0', { pageNum: 0 }, /pageNum/],
    ['a page of none', { pageSize: 0 }, /pageSize/],
    ['a page of 101', { pageSize: 101 }, /pageSize/],
    ['a currency in small letters', { currency: 'usd' }, /currency/],
    ['an unknown direction', { flowType: '3' }, /flowType/],
    ['a field nobody knows', { page: 1 }, /Unrecognized key/],
  ])('%s is refused and named', async (_, body, named) => {
    const reply = await client.post(body);
    expect(reply.status).toBe(400);
    expect(reply.text).toMatch(named);
  });

  test('a request that is no JSON, or too long, is refused', async () => {
    expect((await client.post('{"pageNum":')).status).toBe(400);
    expect((await client.post({ batchNo: 'x'.repeat(70_000) })).status).toBe(413);
  });

  test('operations that the sandbox does not have are not found', async () => {
    expect((await client.post({}, { path: '/api/sp9999' })).status).toBe(404);
  });
});

describe('a page', () => {
  test('has the fields of the document, and its own rows', async () => {
    const page = await client.page({ ...WHOLE_DAY, pageNum: 2, pageSize: 100 });
    expect({ ...page, list: page.list.length }).toEqual({ pageNum: 2, pageSize: 100, total: 250, list: 100 });
    expect(Object.keys(page.list[0]!)).toEqual([
      'batchNo',
      'currency',
      'busiType',
      'inAmount',
      'outAmount',
      'vailAmount',
      'busiDate',
    ]);
    for (const { inAmount, outAmount, busiDate } of page.list) {
      expect((inAmount === null) !== (outAmount === null)).toBe(true);
      expect(busiDate).toMatch(/^2026-03-02 \d\d:\d\d:\d\d$/);
    }
  });

  test('has 1 to 100 rows: every entry comes once, whatever the size', async () => {
    const whole = (await client.batchNos(WHOLE_DAY)).flat();
    expect(new Set(whole).size).toBe(250);
    for (const pageSize of [1, 7, 99]) {
      expect((await client.batchNos(WHOLE_DAY, pageSize)).flat()).toEqual(whole);
    }
  });

  test('beyond the last one is empty', async () => {
    expect(await client.page({ ...WHOLE_DAY, pageNum: 4 })).toMatchObject({ total: 250, list: [] });
    const { beginDate, endDate } = WHOLE_DAY;
    const backwards = { beginDate: endDate, endDate: beginDate };
    expect(await client.page(backwards)).toMatchObject({ total: 0, list: [] });
  });

  test('requested without any field is the first of the whole ledger', async () => {
    expect(await client.page({})).toMatchObject({ pageNum: 1, total: 500 });
  });

  test('both ends of the time range are included', async () => {
    const entries = client.sandbox.entriesOf(MERCHANT.merchantNo);
    const [first, last] = [entries[3]!.bookedMs, entries[9]!.bookedMs];
    const within = entries.filter(({ bookedMs }) => bookedMs >= first && bookedMs <= last);
    expect((await client.batchNos({ beginDate: first, endDate: last })).flat()).toEqual(
      within.map(({ batchNo }) => batchNo),
    );
  });

  test('of a range that ends before it begins is empty, with total 0', async () => {
    const page = await client.page({ beginDate: DAY_BEGIN_MS + 3_600_000, endDate: DAY_BEGIN_MS });
    expect(page).toMatchObject({ total: 0, list: [] });
  });

  test('has only entries that match all filters', async () => {
    const entries = client.sandbox.entriesOf(MERCHANT.merchantNo);
    const wanted = entries.filter(
      ({ currency, inAmount, busiType }) => currency === 'KWD' && inAmount !== null && busiType === 'REFUND',
    );
    expect(wanted.length).toBeGreaterThan(5);
    expect((await client.batchNos({ currency: 'KWD', flowType: '1', busiType: 'REFUND' })).flat()).toEqual(
      wanted.map(({ batchNo }) => batchNo),
    );
    const { batchNo, bookedMs } = wanted[0]!;
    expect(await client.batchNos({ batchNo })).toEqual([[batchNo]]);
    expect(await client.batchNos({ batchNo, beginDate: bookedMs + 1_000 })).toEqual([[]]);
    expect(await client.batchNos({ batchNo, currency: 'USD' })).toEqual([[]]);
  });

  test('of another merchant is from another ledger', async () => {
    const headers = { merchantNo: OTHER.merchantNo, authorization: `Bearer ${OTHER.token}` };
    const { text } = await client.post(WHOLE_DAY, { headers });
    expect(text).toContain('"total":125');
    expect(text).not.toContain((await client.batchNos(WHOLE_DAY))[0]![0]);
  });
});

describe('the ledger', () => {
  test('is the same for the same seed, and another for another', () => {
    const of = (seed: number) => createSandbox(scenario({ seed })).entriesOf(MERCHANT.merchantNo);
    expect(of(7)).toEqual(client.sandbox.entriesOf(MERCHANT.merchantNo));
    expect(of(8)).not.toEqual(of(7));
  });

  test('has the same times and types of entries on a day, whatever range the scenario has', () => {
    const of = (from: string) =>
      createSandbox(scenario({ from }))
        .entriesOf(OTHER.merchantNo)
        .filter(({ busiDate }) => busiDate.startsWith('2026-03-03'))
        .map(({ busiDate, busiType }) => `${busiDate} ${busiType}`);
    expect(of('2026-03-03')).toEqual(of('2026-03-02'));
  });

  test('chains: each balance is the one before plus credit or minus debit, in units of the currency', () => {
    for (const [currency, units] of [
      ['USD', 2],
      ['KWD', 3],
    ] as const) {
      let balance: bigint | null = null;
      for (const entry of client.sandbox.entriesOf(MERCHANT.merchantNo)) {
        if (entry.currency !== currency) continue;
        const scaled = (wire: string): bigint => {
          const [whole = '', fraction = ''] = wire.split('.');
          return BigInt(whole + fraction.padEnd(units, '0'));
        };
        const net = entry.inAmount === null ? -scaled(entry.outAmount!) : scaled(entry.inAmount);
        if (balance !== null) expect(scaled(entry.vailAmount)).toBe(balance + net);
        balance = scaled(entry.vailAmount);
      }
    }
  });

  test('never falls below zero, and goes up and down about as often', () => {
    const entries = client.sandbox.entriesOf(MERCHANT.merchantNo);
    expect(entries.filter(({ vailAmount }) => vailAmount.startsWith('-'))).toEqual([]);
    const credits = entries.filter(({ inAmount }) => inAmount !== null).length;
    expect(Math.abs(credits / entries.length - 0.5)).toBeLessThan(0.1);
  });

  test('has unique batchNos that are not in the order of booking', () => {
    const numbers = client.sandbox.entriesOf(MERCHANT.merchantNo).map(({ batchNo }) => batchNo);
    expect(new Set(numbers).size).toBe(500);
    expect([...numbers].sort()).not.toEqual(numbers);
  });

  test('has seconds that several entries share', () => {
    const seconds = client.sandbox.entriesOf(OTHER.merchantNo).map(({ bookedMs }) => bookedMs);
    expect(new Set(seconds).size).toBeLessThan(seconds.length - 10);
  });
});
