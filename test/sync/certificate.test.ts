import { expect, test } from 'vitest';
import type { LedgerEntry, RejectedEntry, Window } from '../../src/ledger/entry.ts';
import type { LedgerPage } from '../../src/platform/ledger-reader.ts';
import { judgePages, needsConfirming, uniteReadings, type Asked } from '../../src/sync/certificate.ts';
import { accountEntries } from '../support/ledger-entries.ts';

const WINDOW: Window = {
  beginMs: Date.parse('2026-03-01T00:00:00Z'),
  endMs: Date.parse('2026-03-01T23:59:59.999Z'),
};
const EVERYTHING: Asked = { window: WINDOW, currency: undefined };
const entries = (count: number, prefix = 'B'): LedgerEntry[] =>
  accountEntries(
    0,
    Array.from({ length: count }, () => ['2026-03-01 12:00:00', 100] as const),
    prefix,
  );
const page = (
  total: number,
  shown: readonly LedgerEntry[],
  rejected: readonly RejectedEntry[] = [],
): LedgerPage => ({ total, entries: shown, rejected, notices: [] });
const problemOf = (pages: readonly LedgerPage[], asked = EVERYTHING) => judgePages(pages, asked).problem;

const all = entries(250);
const [first, second, third] = [all.slice(0, 100), all.slice(100, 200), all.slice(200)];

test('full pages, one total throughout, as many distinct entries: certified', () => {
  const { problem, entries: held } = judgePages(
    [page(250, first), page(250, second), page(250, third)],
    EVERYTHING,
  );
  expect([problem, [...held.values()]]).toEqual([null, all]);
});

test('the order of pages and entries is no matter', () => {
  const mixed = all.toReversed();
  expect(
    problemOf([
      page(250, mixed.slice(0, 100)),
      page(250, mixed.slice(100, 200)),
      page(250, mixed.slice(200)),
    ]),
  ).toBeNull();
});

test('a total that differs on a page in the middle is enough to refuse', () => {
  expect(problemOf([page(250, first), page(251, second), page(250, third)])).toBe(
    'page 1 said 250 in total, page 2 said 251',
  );
});

test('an entry seen on two pages leaves another one unseen', () => {
  const shifted = [first[99]!, ...second.slice(0, 99)];
  const reading = judgePages([page(250, first), page(250, shifted), page(250, third)], EVERYTHING);
  expect([reading.problem, reading.mayUnite]).toEqual([
    'the total is 250, but 249 distinct entries came',
    true,
  ]);
});

test('a short page is refused, and so is one with more than is due', () => {
  expect(problemOf([page(250, first), page(250, second.slice(1)), page(250, third)])).toBe(
    'page 2 of 250 entries held 99 where 100 were due',
  );
  expect(problemOf([page(40, all.slice(0, 41))])).toBe('page 1 of 40 entries held 41 where 40 were due');
});

test('a page beyond the last may repeat what came, but not bring anything new', () => {
  expect(needsConfirming(200)).toBe(true);
  expect([needsConfirming(0), needsConfirming(199)]).toEqual([false, false]);
  expect(problemOf([page(200, first), page(200, second), page(200, [])])).toBeNull();
  expect(problemOf([page(200, first), page(200, second), page(200, second)])).toBeNull();
  expect(problemOf([page(200, first), page(200, second), page(200, third)])).toBe(
    'the total is 200, but 250 distinct entries came',
  );
});

test('a total of none with an entry beside it is refused', () => {
  expect(problemOf([page(0, all.slice(0, 1))])).toBe('the total is 0, but 1 distinct entries came');
});

test('an entry of another time or another currency is refused and left out', () => {
  const stray = { ...all[0]!, bookedAt: '2026-03-02 00:00:00', bookedMs: WINDOW.endMs + 1 };
  const reading = judgePages([page(2, [all[1]!, stray])], EVERYTHING);
  expect(reading.problem).toBe(
    'batchNo B0000 is booked at 2026-03-02 00:00:00, which lies outside the window',
  );
  expect([...reading.entries.values()]).toEqual([all[1]]);
  expect(problemOf([page(1, [all[1]!])], { window: WINDOW, currency: 'EUR' })).toBe(
    'batchNo B0001 is in USD where EUR was asked for',
  );
});

test('a time cut to its second may lie before a window that begins within that second', () => {
  const asked = (beginMs: number) => ({ window: { beginMs, endMs: WINDOW.endMs }, currency: undefined });
  const noon = Date.parse('2026-03-01T12:00:00Z');
  expect(problemOf([page(1, [all[1]!])], asked(noon + 999))).toBeNull();
  expect(problemOf([page(1, [all[1]!])], asked(noon + 1_000))).toContain('outside the window');
});

test('one batchNo with two contents is refused', () => {
  const twice = { ...all[0]!, balance: '7.00' };
  const reading = judgePages([page(2, [all[0]!, twice])], EVERYTHING);
  expect([reading.problem, reading.mayUnite]).toEqual([
    'batchNo B0000 came twice with different contents',
    false,
  ]);
});

test('rejected entries count: by batchNo, else by raw text', () => {
  const rejected = (raw: string, batchNo: string | null): RejectedEntry => ({ raw, batchNo, reason: 'odd' });
  const two = all.slice(0, 2);
  expect(problemOf([page(4, two, [rejected('{"a":1}', null), rejected('{"a":2}', null)])])).toBeNull();
  expect(problemOf([page(4, two, [rejected('{"a":1}', null), rejected('{"a":1}', null)])])).toBe(
    'the total is 4, but 3 distinct entries came',
  );
  expect(problemOf([page(3, two, [rejected('{}', 'B0001')])])).toBe(
    'the total is 3, but 2 distinct entries came',
  );
});

test('two readings of an unchanged total complete each other, those of a changed one do not', () => {
  const lacking = judgePages(
    [page(250, first), page(250, [...second.slice(0, 99), first[0]!]), page(250, third)],
    EVERYTHING,
  );
  const other = judgePages(
    [page(250, first), page(250, [...second.slice(1), first[0]!]), page(250, third)],
    EVERYTHING,
  );
  const grown = judgePages([page(251, first), page(251, second), page(251, third)], EVERYTHING);
  expect(uniteReadings(lacking, other).problem).toBeNull();
  expect(uniteReadings(lacking, other).entries.size).toBe(250);
  expect(uniteReadings(lacking, grown)).toBe(grown);
});
