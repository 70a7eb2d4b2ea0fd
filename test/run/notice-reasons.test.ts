import { describe, expect, test } from 'vitest';
import { emptyNotices } from '../../src/run/stages/notice-stage.ts';
import { reasonsOfNotices, reasonsOfShared } from '../../src/run/verdict/notice-reasons.ts';
import { addDays } from '../../src/ledger/business-day.ts';
import type {
  EmptyNotice,
  FirstNotice,
  OddNotice,
  ReusedNotice,
  SharedNotice,
} from '../../src/store/notices.ts';

const DAY = '2026-03-04';
const empty = (change: Partial<EmptyNotice> = {}): EmptyNotice => ({
  kind: 'empty',
  merchantNo: 'M1',
  currency: null,
  day: DAY,
  figures: { fewest: 12, most: 31 },
  ...change,
});
const shared = (change: Partial<SharedNotice> = {}): SharedNotice => ({
  kind: 'shared',
  merchantNo: 'M1',
  otherMerchantNo: 'M2',
  currency: 'USD',
  day: DAY,
  figures: { count: 1, batchNos: ['B1'] },
  ...change,
});
const said = (...notices: Parameters<typeof reasonsOfNotices>[0][number][]): string[] =>
  [...reasonsOfShared(notices), ...reasonsOfNotices(notices)].map(({ what }) => what);

describe('a notice', () => {
  test('needs a person, says what to do, and is not a failure of a merchant', () => {
    const first: FirstNotice = {
      kind: 'first',
      merchantNo: 'M1',
      currency: 'USD',
      day: DAY,
      figures: { opening: '40.00' },
    };
    const reasons = reasonsOfNotices([empty(), first, shared()]);
    expect(reasons).toHaveLength(2);
    for (const { exitCode, todo, merchantNo } of reasons) {
      expect(exitCode).toBe(3);
      expect(todo).toMatch(/ask the platform/);
      expect(merchantNo).toBeUndefined();
    }
    expect(reasonsOfShared([first, shared()])).toMatchObject([
      {
        exitCode: 4,
        awaitsPerson: true,
        todo: expect.stringMatching(/^do not pass these statements on; .*PLATFORM_HEADERS/),
      },
    ]);
    expect(said(first)).toEqual([
      "M1 USD 2026-03-04 is the account's first day and opens on 40.00 USD, and the platform has no entry before it: the " +
        'balance was carried over from elsewhere, or its first entry is missing',
    ]);
  });

  test('of an empty day names merchant, day and usual numbers, and the account if only one is empty', () => {
    const rest = 'in each of the last 4 weeks: it was a holiday, or its entries are missing';
    expect(said(empty(), empty({ currency: 'USD', figures: { fewest: 12, most: 12 } }))).toEqual([
      `M1 2026-03-04 has no entries, and the same weekday had 12 to 31 ${rest}`,
      `M1 USD 2026-03-04 has no entries, and the same weekday had 12 ${rest}`,
    ]);
  });

  test('of a day without entries of many merchants is one sentence', () => {
    const all = ['M1', 'M2', 'M3', 'M4', 'M5'].map((merchantNo) => empty({ merchantNo }));
    expect(said(...all)).toEqual([
      '2026-03-04 has no entries for M1, M2, M3 and 2 more, which had some on the same weekday in each of the last 4 ' +
        'weeks: it was a holiday, or their entries are missing',
    ]);
    expect(said(...all, empty({ day: '2026-03-05' }))).toHaveLength(2);
  });

  test('of entries that two merchants have is one sentence for both, whatever their days', () => {
    const days = ['2026-03-01', '2026-03-02', '2026-03-03', DAY].map((day, n) =>
      shared({ day, figures: { count: 5, batchNos: [`B${n}1`, `B${n}2`, `B${n}3`] } }),
    );
    expect(said(...days, shared({ otherMerchantNo: 'M3' }))).toEqual([
      '20 entries are stored under two merchants, M1 and M2: B01, B02, B03 and 17 more, of USD 2026-03-01, USD ' +
        '2026-03-02, USD 2026-03-03 and 1 more; the platform answered one of them by entries of the other',
      '1 entry is stored under two merchants, M1 and M3: B1, of USD 2026-03-04; the platform answered one of them by ' +
        'entries of the other',
    ]);
  });
});

test('a notice of numbers used for two entries shows the first of them, and counts the others', () => {
  const reused = (count: number): ReusedNotice => ({
    ...{ kind: 'reused', merchantNo: 'M1', currency: 'USD', day: DAY },
    figures: { count, batchNos: ['B1', 'B2', 'B3'].slice(0, count), contents: ['5.00', '7.00'] },
  });
  const first = 'M1 USD 2026-03-04: batchNo B1 is used for two entries: 5.00 and 7.00';
  expect([1, 2, 3].map((count) => said(reused(count))[0])).toEqual([
    first,
    `${first}; so 1 more is`,
    `${first}; so 2 more are`,
  ]);
});

test('a notice of odd entries says what they lack or have, and names the first of them', () => {
  const odd = (kind: OddNotice['kind'], count: number): OddNotice => ({
    ...{ kind, merchantNo: 'M1', currency: 'USD', day: DAY },
    figures: { count, batchNos: ['B1', 'B2', 'B3'].slice(0, count) },
  });
  expect(said(odd('untyped', 1), odd('finer', 5))).toEqual([
    'M1 USD 2026-03-04: 1 entry has no transaction type: B1',
    'M1 USD 2026-03-04: 5 entries have more decimals than USD has: B1, B2, B3 and 2 more',
  ]);
});

describe('an empty day', () => {
  const weeks = (...accounts: [string, number, readonly string[]][]) =>
    new Map(
      accounts.map(([currency, count, without]) => {
        const days = Array.from({ length: 42 }, (_, back) => addDays(DAY, -back));
        return [currency, new Map(days.filter((day) => !without.includes(day)).map((day) => [day, count]))];
      }),
    );
  const found = (accounts: ReturnType<typeof weeks>) =>
    emptyNotices('M1', accounts, [addDays(DAY, -1), DAY]).map(
      ({ currency, day }) => `${currency ?? 'every account'} ${day}`,
    );

  test('of all accounts is told of the merchant, of one account of that', () => {
    expect(found(weeks(['EUR', 8, [DAY]], ['USD', 20, [DAY]]))).toEqual([`every account ${DAY}`]);
    expect(found(weeks(['EUR', 8, []], ['USD', 20, [DAY]]))).toEqual([`USD ${DAY}`]);
    expect(found(weeks(['EUR', 8, [DAY]], ['USD', 20, []]))).toEqual([]);
    expect(found(weeks(['EUR', 8, []], ['USD', 20, []]))).toEqual([]);
  });
});
