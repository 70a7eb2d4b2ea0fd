import { describe, expect, test } from 'vitest';
import { PlatformRejected, PlatformReplyInvalid } from '../../src/platform/errors.ts';
import { at, entryText, MARCH_31, pageText, read, readEntry, readerOver } from './ledger-replies.ts';
import { MERCHANT, TOKEN, answer, breakOff, rejection, outOfScope, transportTo } from './stranger.ts';

const OUT_OF_RANGE = (field: string) =>
  `${field} is not a number of up to 30 digits before and 30 after its point`;
const OUT_OF_TIME =
  'busiDate lies before September 2001 or after November 2286, where the platform cannot be asked for it';

describe('the request', () => {
  test('asks for the window, the page and the filters as the document says', async () => {
    const { url, received } = await outOfScope(answer(pageText([], { pageNum: 3 })));
    const reader = readerOver(transportTo(url).transport);
    await reader.page({ merchant: MERCHANT, window: MARCH_31, pageNum: 3, currency: 'USD', batchNo: 'B1' });
    expect(received[0]!.path).toBe('/api/sp2404');
    expect(JSON.parse(received[0]!.body)).toEqual({
      beginDate: 1774886400000,
      endDate: 1774972799999,
      batchNo: 'B1',
      currency: 'USD',
      pageNum: 3,
      pageSize: 100,
    });
  });

  test.each([
    ['a page of more than 100', 101, MARCH_31, 1],
    ['a timestamp in seconds', 100, { beginMs: 1_774_886_400, endMs: MARCH_31.endMs }, 1],
    ['a timestamp of 14 digits', 100, { beginMs: MARCH_31.beginMs, endMs: 17_749_727_999_990 }, 1],
    ['half a millisecond', 100, { beginMs: MARCH_31.beginMs + 0.5, endMs: MARCH_31.endMs }, 1],
    ['a window that ends before it begins', 100, { beginMs: MARCH_31.endMs, endMs: MARCH_31.beginMs }, 1],
    ['page 0', 100, MARCH_31, 0],
  ])('never asks for %s', async (_, pageSize, window, pageNum) => {
    const { url, received } = await outOfScope(answer(pageText([])));
    const reader = readerOver(transportTo(url).transport, 'UTC', pageSize);
    expect(await rejection(reader.page({ merchant: MERCHANT, window, pageNum }))).toBeInstanceOf(RangeError);
    expect(received).toHaveLength(0);
  });
});

describe('what the document leaves open', () => {
  test.each([
    ['inAmount', { inAmount: '12.5', outAmount: '0' }, { credit: '12.50', debit: null }, 'outAmount'],
    ['outAmount', { inAmount: '0.00', outAmount: '7' }, { credit: null, debit: '7.00' }, 'inAmount'],
  ])('of %s and a zero, the zero counts as null, with a notice', async (_, sent, kept, zero) => {
    const page = await readEntry(sent);
    expect(page.entries).toMatchObject([kept]);
    expect(page.notices).toEqual([`${zero} sent as zero instead of null`]);
  });

  test('two zeros or two amounts stay unreadable, as either may be meant', async () => {
    for (const [inAmount, outAmount] of [
      ['0', '0.0'],
      ['1', '2'],
    ] as const) {
      const page = await readEntry({ inAmount, outAmount });
      expect(page.unreadable).toMatchObject([{ reason: expect.stringMatching(/^both inAmount/) }]);
    }
  });

  test('a type sent as a number is read as its digits, with a notice', async () => {
    const page = await readEntry({ busiType: '1001' });
    expect(page.entries).toMatchObject([{ transactionType: '1001' }]);
    expect(page.notices).toEqual(['busiType sent as a number instead of text']);
  });

  test('batch numbers and types of up to 255 characters are kept, however many bytes those have', async () => {
    const [batchNo, transactionType] = ['9'.repeat(255), '\u{1f600}'.repeat(255)];
    const page = await readEntry({ batchNo: `"${batchNo}"`, busiType: `"${transactionType}"` });
    expect(page.entries).toMatchObject([{ batchNo, transactionType }]);
  });

  test.each([
    ['2.0', 'total not sent as plain digits'],
    ['"2"', 'total sent as text instead of a number'],
    ['2e0', 'total not sent as plain digits'],
  ])('a total of %s is read as two, with a notice', async (total, notice) => {
    const entries = ['"B1"', '"B2"'].map((batchNo) => entryText({ batchNo }));
    const text = `{"pageNum":1,"pageSize":100,"total":${total},"list":[${entries.join(',')}]}`;
    expect(await read(text)).toMatchObject({ total: 2, notices: [notice] });
  });

  test('an empty type is kept, with a notice', async () => {
    const page = await readEntry({ busiType: '""' });
    expect(page.entries).toMatchObject([{ transactionType: '' }]);
    expect(page.notices).toEqual(['busiType is empty']);
  });

  test('an empty page may be page 0 and its list null, with a notice; a page with entries may not', async () => {
    const empty = '{"pageNum":0,"pageSize":100,"total":0,"list":null}';
    expect(await read(empty)).toEqual({
      total: 0,
      entries: [],
      unreadable: [],
      notices: ['an empty list sent as null', 'an empty page sent as page 0'],
    });
    for (const wrong of [
      '{"pageNum":1,"pageSize":100,"total":3,"list":null}',
      pageText([entryText()], { pageNum: 0 }),
      pageText([], { pageNum: 2 }),
    ]) {
      expect(await rejection(read(wrong))).toBeInstanceOf(PlatformReplyInvalid);
    }
  });
});

describe('a page', () => {
  test('gives entries with the digits as sent and amounts in canonical form', async () => {
    const debit = { batchNo: '"B2"', inAmount: undefined, outAmount: '1E+3', vailAmount: '-887.5' };
    expect(await read(pageText([entryText(), entryText(debit)], { total: 7 }))).toEqual({
      total: 7,
      entries: [
        {
          batchNo: 'B1',
          currency: 'USD',
          transactionType: 'T01',
          credit: '12.50',
          debit: null,
          balance: '112.50',
          bookedAt: '2026-03-31 12:00:00',
          bookedMs: at('2026-03-31T12:00:00+08:00'),
        },
        {
          batchNo: 'B2',
          currency: 'USD',
          transactionType: 'T01',
          credit: null,
          debit: '1000.00',
          balance: '-887.50',
          bookedAt: '2026-03-31 12:00:00',
          bookedMs: at('2026-03-31T12:00:00+08:00'),
        },
      ],
      unreadable: [],
      notices: [],
    });
  });

  test.each([
    ['USD', '12345678901234567.89', '12345678901234567.89', []],
    ['USD', '0.1', '0.10', []],
    ['USD', '0', '0.00', []],
    ['USD', '1.50000', '1.50', []],
    ['USD', '1.005', '1.005', ['inAmount with more than the 2 decimals of USD']],
    ['USD', '"12.30"', '12.30', ['inAmount sent as text instead of a number']],
    ['JPY', '1000.00', '1000', []],
    ['KWD', '1.5', '1.500', []],
    ['CNH', '1', '1.00', []],
    ['QQQ', '1.50', '1.50', ['currency QQQ is on no list']],
  ])('%s %s is kept as %s', async (currency, sent, kept, notices) => {
    const page = await readEntry({ currency: `"${currency}"`, inAmount: sent, vailAmount: '1000' });
    expect(page.entries[0]!.credit).toBe(kept);
    expect(page.notices).toEqual(notices);
  });

  test.each([
    ['batchNo is missing', { batchNo: undefined }, null],
    ['batchNo is not text', { batchNo: 'null' }, null],
    ['batchNo is empty', { batchNo: '""' }, null],
    ['batchNo has over 255 characters', { batchNo: `"${'9'.repeat(256)}"` }, null],
    ['batchNo holds control characters or broken Unicode', { batchNo: '"B\\u0000"' }, null],
    ['batchNo holds control characters or broken Unicode', { batchNo: '"B\\ud800"' }, null],
    ['currency is not three letters', { currency: '"us"' }, 'B1'],
    ['currency is not three letters', { currency: '156' }, 'B1'],
    ['both inAmount (12.50) and outAmount (3.00) are set', { outAmount: '3' }, 'B1'],
    ['neither inAmount nor outAmount is set', { inAmount: 'null' }, 'B1'],
    ['inAmount is negative', { inAmount: '-1' }, 'B1'],
    ['outAmount is negative', { inAmount: 'null', outAmount: '-0.01' }, 'B1'],
    ['inAmount is not a number', { inAmount: 'true' }, 'B1'],
    ['inAmount is not a number', { inAmount: '{"amount":1}' }, 'B1'],
    ['neither inAmount nor outAmount is set', { inAmount: '""' }, 'B1'],
    [
      'inAmount is not a number of up to 30 digits before and 30 after its point',
      { inAmount: '1e400' },
      'B1',
    ],
    [OUT_OF_RANGE('inAmount'), { inAmount: `1${'0'.repeat(30)}` }, 'B1'],
    [OUT_OF_RANGE('inAmount'), { inAmount: '1e30' }, 'B1'],
    [OUT_OF_RANGE('vailAmount'), { vailAmount: `-${'9'.repeat(31)}.5` }, 'B1'],
    [OUT_OF_RANGE('vailAmount'), { vailAmount: `0.${'3'.repeat(31)}` }, 'B1'],
    [OUT_OF_RANGE('vailAmount'), { vailAmount: '1e-31' }, 'B1'],
    ['vailAmount is missing', { vailAmount: 'null' }, 'B1'],
    [OUT_OF_TIME, { busiDate: '"1970-01-01 00:00:00"' }, 'B1'],
    [OUT_OF_TIME, { busiDate: '"2001-09-11 09:46:39"' }, 'B1'],
    [OUT_OF_TIME, { busiDate: '"2286-11-19 01:46:40"' }, 'B1'],
    [OUT_OF_TIME, { busiDate: '"9999-12-31 23:59:59"' }, 'B1'],
    ['busiDate is not a real time written YYYY-MM-DD HH:mm:ss', { busiDate: '"2026-02-30 12:00:00"' }, 'B1'],
    ['busiDate is not a real time written YYYY-MM-DD HH:mm:ss', { busiDate: '"2026-03-31 24:00:00"' }, 'B1'],
    ['busiDate is not a real time written YYYY-MM-DD HH:mm:ss', { busiDate: '"2026-03-31T12:00:00"' }, 'B1'],
    ['busiDate is not a real time written YYYY-MM-DD HH:mm:ss', { busiDate: '1774929600000' }, 'B1'],
  ])('an entry where %s is set aside with its text, the rest goes on', async (reason, fields, batchNo) => {
    const wreck = entryText(fields);
    const page = await read(pageText([entryText({ batchNo: '"A"' }), wreck, entryText({ batchNo: '"Z"' })]));
    expect(page.unreadable).toEqual([{ raw: wreck, reason, batchNo }]);
    expect(page.entries.map((entry) => entry.batchNo)).toEqual(['A', 'Z']);
    expect(page.notices).toEqual([]);
  });

  test.each(['null', '[]', '"B1"', '17'])('an entry that is %s is set aside', async (wreck) => {
    const { unreadable } = await read(pageText([entryText(), wreck]));
    expect(unreadable).toEqual([{ raw: wreck, reason: 'the entry is not an object', batchNo: null }]);
  });
});

describe('the instant of a timestamp', () => {
  const twoAm = { busiDate: '"2026-10-25 02:30:00"' };
  const first = { beginMs: at('2026-10-25T00:00:00Z'), endMs: at('2026-10-25T00:59:59.999Z') };
  const second = { beginMs: at('2026-10-25T01:00:00Z'), endMs: at('2026-10-25T01:59:59.999Z') };

  test('in a repeated hour is the one in the window asked for', async () => {
    for (const [window, utc] of [
      [first, '2026-10-25T00:30:00Z'],
      [second, '2026-10-25T01:30:00Z'],
    ] as const) {
      const page = await readEntry(twoAm, 'Europe/Berlin', window);
      expect(page.entries[0]!.bookedMs).toBe(at(utc));
    }
  });

  test('is the first, if neither possible instant is in the window', async () => {
    const page = await readEntry(twoAm, 'Europe/Berlin');
    expect(page.entries[0]!.bookedMs).toBe(at('2026-10-25T00:30:00Z'));
  });

  test('that clocks skip is what it would be without the skip, with a notice', async () => {
    const hour = await readEntry({ busiDate: '"2026-03-29 02:30:00"' }, 'Europe/Berlin');
    expect(hour.entries[0]!.bookedMs).toBe(at('2026-03-29T01:30:00Z'));
    expect(hour.notices).toEqual(['busiDate is a time that Europe/Berlin skips']);
    const day = await readEntry({ busiDate: '"2011-12-30 12:00:00"' }, 'Pacific/Apia');
    expect(day.entries[0]!.bookedMs).toBe(at('2011-12-30T12:00:00-10:00'));
  });
});

test.each([
  ['1e3', 1_000],
  ['10.0', 10],
  ['"7"', 7],
  ['2147483648', 2_147_483_648],
  ['-0', 0],
])('a total written as %s is %d', async (spelt, total) => {
  const page = await read(pageText([]).replace('"total":0', `"total":${spelt}`));
  expect(page.total).toBe(total);
});

describe('a reply that is not a page', () => {
  const error = (code: string) => `{"code":"${code}","message":"signature ${TOKEN} wrong"}`;
  test.each([
    ['nothing', '', 'answered by no JSON: (nothing)'],
    [
      'HTML',
      '<!doctype html>\n<title>Sign in</title>',
      'answered by HTML: <!doctype html> <title>Sign in</title>',
    ],
    [
      'half a page',
      pageText([entryText()]).slice(0, 60),
      'broken off or garbled JSON: {"pageNum":1,"pageSize":100,',
    ],
    ['a list', '[]', 'something else than an object: []'],
    ['null', 'null', 'something else than an object: null'],
    ['another shape', '{"data":{"list":[]}}', 'the reply is without pageNum, pageSize, total: {"data"'],
    [
      'a page in an envelope with one field left out',
      '{"pageNum":1,"pageSize":100,"list":[]}',
      'without total',
    ],
    ['a list that is none', '{"pageNum":1,"pageSize":100,"total":0,"list":{}}', 'list is no array'],
    ['another page', pageText([], { pageNum: 2 }), 'asked for pageNum 1, answered 2'],
    ['a total below zero', pageText([], { total: -1 }), 'total is not an integer'],
    [
      'a total of 99 digits',
      pageText([]).replace('"total":0', `"total":${'9'.repeat(99)}`),
      'total is not an integer',
    ],
    ['half a total', pageText([], { total: 1.5 }), 'total is not an integer'],
    ['a total that is null', pageText([], { total: null }), 'total is not an integer'],
    [
      'a page overfull',
      pageText(Array.from({ length: 101 }, () => entryText())),
      'holds 101 entries, more than the 100',
    ],
  ])('%s', async (_, reply, said) => {
    const refusal = await rejection(read(reply));
    expect(refusal).toBeInstanceOf(PlatformReplyInvalid);
    expect(refusal.message).toMatch(/^sp2404 for merchant M0001: /);
    expect(refusal.message).toContain(said);
  });

  test('an error document with status 200 is a refusal, without the token it repeats', async () => {
    const refusal = await rejection(read(error('E401')));
    expect(refusal).toBeInstanceOf(PlatformRejected);
    expect(refusal.message).toBe(
      'sp2404 for merchant M0001: refused: code has no value that means success (PLATFORM_SUCCESS_CODES): {"code":"E401","message":"signature *** wrong"}',
    );
  });

  test.each([
    ['alone', error('E401')],
    ['around an empty page', `{"code":"BUSY","data":${pageText([])}}`],
    ['as text inside a success', JSON.stringify({ code: '0', data: '{"success":false}' })],
  ])(
    'a refusal %s is an answer: the call is sent once, even where another try would succeed',
    async (_, reply) => {
      const { url, received } = await outOfScope(answer(reply), answer(pageText([])));
      const { transport, retries } = transportTo(url, { retriesMax: 9 });
      const asked = { merchant: MERCHANT, window: MARCH_31, pageNum: 1 };
      const refusal = await rejection(readerOver(transport).page(asked));
      expect(refusal).toBeInstanceOf(PlatformRejected);
      expect(refusal.message).not.toContain('tried');
      expect([received.length, retries]).toEqual([1, []]);
    },
  );

  test.each(['{"code":"S00000"}', '{"code":"S00000","message":"Success","data":{}}'])(
    'a success without a page is no refusal: %s',
    async (reply) => {
      const problem = await rejection(read(reply));
      expect(problem).toBeInstanceOf(PlatformReplyInvalid);
      expect(problem.message).toBe(
        `sp2404 for merchant M0001: the reply is without pageNum, pageSize, total, list: ${reply}`,
      );
    },
  );

  test('the error quotes about 120 characters of the reply', async () => {
    const refusal = await rejection(read(`<html>${'列'.repeat(10_000)}`));
    expect(refusal.message.length).toBeLessThan(220);
  });

  test('is asked for again, but at most twice, as this rarely helps', async () => {
    const page = pageText([entryText()]);
    const passing = await outOfScope(answer('<html>'), breakOff(page), answer('{"data":{}}'), answer(page));
    const reader = readerOver(transportTo(passing.url, { retriesMax: 9 }).transport);
    expect((await reader.page({ merchant: MERCHANT, window: MARCH_31, pageNum: 1 })).entries).toHaveLength(1);

    const staying = await outOfScope(answer('<html>'));
    const { transport } = transportTo(staying.url, { retriesMax: 9 });
    const refusal = await rejection(
      readerOver(transport).page({ merchant: MERCHANT, window: MARCH_31, pageNum: 1 }),
    );
    expect(refusal.message).toContain('; tried 3 times');
    expect(staying.received).toHaveLength(3);
  });
});
