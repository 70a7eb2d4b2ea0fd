/** The forms of a page and of an entry that are read with a notice, and those that stay in quarantine. */
import { describe, expect, test } from 'vitest';
import { PlatformReplyInvalid } from '../../src/platform/errors.ts';
import { at, entryText, pageText, read, readEntry } from './ledger-replies.ts';
import { rejection } from './stranger.ts';

const ODD_SIZE = 'pageSize is not the one asked for';
const entries = (count: number): string[] =>
  Array.from({ length: count }, (_, nth) => entryText({ batchNo: `"B${nth}"` }));

describe('what a page says of itself', () => {
  test.each([
    ['the number of its entries', 3, 3],
    ['a limit of the platform', 3, 50],
    ['more than was asked for', 3, 500],
    ['nothing', 3, 0],
    ['a limit, with no entries', 0, 50],
  ])('pageSize may be %s, with a notice', async (_, count, pageSize) => {
    const page = await read(pageText(entries(count), { pageSize }));
    expect(page.entries).toHaveLength(count);
    expect(page.notices).toEqual([ODD_SIZE]);
  });

  test.each([
    ['{"pageNum":0,"pageSize":0,"total":0,"list":[]}', 0],
    ['{"pageNum":1,"pageSize":0,"total":0,"list":[]}', 0],
    ['{"pageNum":"0","pageSize":0,"total":0,"list":null}', 0],
    ['{"pageNum":0,"pageSize":100,"total":7,"list":[]}', 7],
  ])('a page without entries may be page 0 of size 0: %s', async (reply, total) => {
    const page = await read(reply);
    expect(page).toMatchObject({ total, entries: [], unreadable: [] });
    expect(page.notices).not.toEqual([]);
    expect(page).not.toHaveProperty('fullAt');
  });

  test('a page is full where it says that it holds no more, and only there', async () => {
    const fullAt = async (count: number, pageSize: number) =>
      (await read(pageText(entries(count), { pageSize }))).fullAt;
    expect([await fullAt(50, 50), await fullAt(50, 100), await fullAt(50, 60)]).toEqual([
      50,
      undefined,
      undefined,
    ]);
    expect([await fullAt(100, 100), await fullAt(50, 20)]).toEqual([undefined, undefined]);
  });

  test.each([
    ['another page with entries', pageText(entries(1), { pageNum: 2 }), 'asked for pageNum 1, answered 2'],
    ['page 0 with entries', pageText(entries(1), { pageNum: 0 }), 'asked for pageNum 1, answered 0'],
    ['another page without entries', pageText([], { pageNum: 2 }), 'asked for pageNum 1, answered 2'],
    ['more entries than asked for', pageText(entries(101), { pageSize: 101 }), 'holds 101 entries'],
    ['a size that is no number', pageText([], { pageSize: 'many' }), 'pageSize is not an integer'],
  ])('%s is refused', async (_, reply, said) => {
    const problem = await rejection(read(reply));
    expect(problem).toBeInstanceOf(PlatformReplyInvalid);
    expect(problem.message).toContain(said);
  });

  test('in place of a page beyond the last any other may come, for the caller to compare, however long it is', async () => {
    const beyond = { pageNum: 3, isBeyondLast: true };
    const page = await read(pageText(entries(2), { pageNum: 2 }), beyond);
    expect(page.entries).toHaveLength(2);
    expect(page.notices).toEqual(['another page sent in place of one beyond the last']);
    expect((await read(pageText(entries(101), { pageNum: 4 }), beyond)).entries).toHaveLength(101);
    expect((await rejection(read(pageText(entries(2), { pageNum: 2 }), { pageNum: 3 }))).message).toContain(
      'asked for pageNum 3, answered 2',
    );
  });
});

describe('a page in an envelope', () => {
  const wreck = `{ "batchNo" : "BAD",\t"inAmount": 1.50 , "note":"\\u00e9\\"]" }`;
  const page = pageText([entryText(), wreck]);
  const decoy = pageText(['"DECOY"'], { total: 9 }).replace('"total":9,', '');
  test.each([
    ['a list of one', `{"code":"S00000","data":[${page}]}`],
    ['a list of one alone', ` [ ${page} ] `],
    ['text', `{"code":"S00000","data":${JSON.stringify(page)}}`],
    ['text of a list of one', `{"code":"S00000","data":${JSON.stringify(`[${page}]`)}}`],
    ['text within text', JSON.stringify({ result: JSON.stringify({ data: page }) })],
    ['other lists before and behind it', `{"head":${decoy},"data":${page},"tail":${decoy}}`],
    [
      'other lists of one before and behind it',
      `{"list":[0],"head":[${decoy}],"data":[${page}],"tail":[${decoy}]}`,
    ],
  ])('is read, and what is unreadable is kept exactly as it was sent: %s', async (_, reply) => {
    const { entries: found, unreadable, notices } = await read(reply);
    expect(found.map(({ batchNo }) => batchNo)).toEqual(['B1']);
    expect(unreadable).toMatchObject([{ raw: wreck, batchNo: 'BAD' }]);
    expect(notices).toEqual([]);
  });
});

describe('an entry in another form', () => {
  test.each([
    ['batchNo', '123', { batchNo: '123' }, 'batchNo sent as a number instead of text'],
    ['batchNo', '0', { batchNo: '0' }, 'batchNo sent as a number instead of text'],
    [
      'batchNo',
      '90071992547409931234567',
      { batchNo: '90071992547409931234567' },
      'batchNo sent as a number instead of text',
    ],
    ['currency', '"usd"', { currency: 'USD', credit: '12.50' }, 'currency not sent in capital letters'],
    ['currency', '"Jpy"', { currency: 'JPY', credit: '12.5' }, 'currency not sent in capital letters'],
    ['outAmount', '""', { debit: null }, 'outAmount sent as empty text instead of null'],
    ['outAmount', '" "', { debit: null }, 'outAmount sent as empty text instead of null'],
    ['inAmount', '"1,234.50"', { credit: '1234.50' }, 'inAmount sent with thousands separators'],
    ['inAmount', '"1,234,567"', { credit: '1234567.00' }, 'inAmount sent with thousands separators'],
    [
      'vailAmount',
      '"-12,345,678.9"',
      { balance: '-12345678.90' },
      'vailAmount sent with thousands separators',
    ],
  ])('%s as %s is read, with a notice', async (field, sent, kept, notice) => {
    const page = await readEntry({ [field]: sent });
    expect(page.unreadable).toEqual([]);
    expect(page.entries).toMatchObject([kept]);
    expect(page.notices).toContain(notice);
  });

  test.each([
    ['JPY', '7,234', '7234'],
    ['KRW', '-1,234,567', '-1234567'],
    ['VND', '189,730', '189730'],
    ['CLP', '12,345.00', '12345'],
  ])('in %s, which has no decimals, the commas of %s can only group', async (currency, sent, balance) => {
    const amounts = { inAmount: '"7,234"', vailAmount: JSON.stringify(sent) };
    const page = await readEntry({ currency: JSON.stringify(currency), ...amounts });
    expect(page.unreadable).toEqual([]);
    expect(page.entries).toMatchObject([{ credit: '7234', balance }]);
    expect(page.notices).toContain('vailAmount sent with thousands separators');
  });

  test.each([
    ['JPY', '7,23'],
    ['JPY', '0,234'],
    ['JPY', '1234,567'],
    ['KWD', '7,234'],
    ['CLF', '7,234'],
    ['QQQ', '7,234'],
  ])('in %s, %s may be or is something else, and is not read', async (currency, sent) => {
    const page = await readEntry({ currency: JSON.stringify(currency), inAmount: JSON.stringify(sent) });
    expect(page.entries).toEqual([]);
    expect(page.unreadable).toMatchObject([{ reason: expect.stringContaining('inAmount is not a number') }]);
  });

  test.each(['2026-03-31 12:00:00.000', '2026-03-31 12:00:00.123', '2026-03-31 12:00:00.999999999'])(
    'a time of %s is the same second as without its parts, with a notice',
    async (busiDate) => {
      const page = await readEntry({ busiDate: JSON.stringify(busiDate) });
      expect(page.entries).toMatchObject([
        { bookedAt: '2026-03-31 12:00:00', bookedMs: at('2026-03-31T12:00:00+08:00') },
      ]);
      expect(page.notices).toEqual(['busiDate with parts of a second, which are not kept']);
    },
  );

  test('an entry is the same in every form', async () => {
    const odd = {
      batchNo: '123',
      currency: '"usd"',
      inAmount: '"1,234.50"',
      outAmount: '""',
      vailAmount: '"1,234,567.00"',
      busiDate: '"2026-03-31 12:00:00.123"',
    };
    const plain = {
      batchNo: '"123"',
      currency: '"USD"',
      inAmount: '1234.5',
      outAmount: 'null',
      vailAmount: '1234567',
      busiDate: '"2026-03-31 12:00:00"',
    };
    expect((await readEntry(odd)).entries).toEqual((await readEntry(plain)).entries);
  });

  const NUMBER = 'Amount is not a number of up to 30 digits before and 30 after its point';
  test.each<readonly [string, string, string]>([
    ['batchNo', '1.0', 'batchNo is a number with a sign, a point or an exponent'],
    ['batchNo', '12e3', 'batchNo is a number with a sign, a point or an exponent'],
    ['batchNo', '-7', 'batchNo is a number with a sign, a point or an exponent'],
    ['batchNo', '9'.repeat(256), 'batchNo has over 255 characters'],
    ['currency', '"US$"', 'currency is not three letters'],
    ['currency', '"ſek"', 'currency is not three letters'],
    ['currency', '" usd"', 'currency is not three letters'],
    ['vailAmount', '""', 'vailAmount is missing'],
    ...[
      '1,234',
      '-1,234',
      '12,50',
      '1.234,50',
      '1.234.567',
      '1,23,456.00',
      '0,123.00',
      '1,234,56',
      '1,234,567e2',
    ].map((text) => ['inAmount', JSON.stringify(text), `in${NUMBER}`] as const),
    ...[
      '2026-03-31 12:00:00.',
      '2026-03-31 12:00.500',
      '2026-03-31 12:00:00,123',
      '2026-02-30 12:00:00.000',
    ].map(
      (text) =>
        [
          'busiDate',
          JSON.stringify(text),
          'busiDate is not a real time written YYYY-MM-DD HH:mm:ss',
        ] as const,
    ),
  ])('%s as %s could mean two things or nothing, and is set aside', async (field, sent, reason) => {
    const page = await readEntry({ [field]: sent });
    expect(page.unreadable).toMatchObject([{ reason }]);
    expect([page.entries, page.notices]).toEqual([[], []]);
  });
});
