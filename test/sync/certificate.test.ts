import { expect, test } from 'vitest';
import type { LedgerEntry, UnreadableEntry, Window } from '../../src/ledger/entry.ts';
import type { LedgerPage } from '../../src/platform/ledger-reader.ts';
import { judgePages, needsConfirming, uniteReadings, type Asked } from '../../src/sync/certificate.ts';
import { accountEntries } from '../support/ledger-entries.ts';

const WINDOW: Window = {
  beginMs: Date.parse('2026-03-01T00:00:00Z'),
  endMs: Date.parse('2026-03-01T23:59:59.999Z'),
};
const EVERYTHING: Asked = { window: WINDOW };
const entries = (count: number, prefix = 'B'): LedgerEntry[] =>
  accountEntries(
    0,
    Array.from({ length: count }, () => ['2026-03-01 12:00:00', 100] as const),
    prefix,
  );
const page = (
  total: number,
  shown: readonly LedgerEntry[],
  unreadable: readonly UnreadableEntry[] = [],
): LedgerPage => ({ total, entries: shown, unreadable, notices: [] });
const problemOf = (pages: readonly LedgerPage[], asked = EVERYTHING) => judgePages(pages, asked).problem;

const all = entries(250);
const [first, second, third] = [all.slice(0, 100), all.slice(100, 200), all.slice(200)];

test('full pages with one total and as many distinct entries are certified', () => {
  const { problem, entries: held } = judgePages(
    [page(250, first), page(250, second), page(250, third)],
    EVERYTHING,
  );
  expect([problem, [...held.values()]]).toEqual([null, all]);
});

test('the order of pages and entries does not matter', () => {
  const mixed = all.toReversed();
  expect(
    problemOf([
      page(250, mixed.slice(0, 100)),
      page(250, mixed.slice(100, 200)),
      page(250, mixed.slice(200)),
    ]),
  ).toBeNull();
});

test('a single page with another total is enough to refuse', () => {
  expect(problemOf([page(250, first), page(251, second), page(250, third)])).toBe(
    'page 1 said 250 in total, page 2 said 251',
  );
});

test('if an entry is on two pages, another one is missing', () => {
  const shifted = [first[99]!, ...second.slice(0, 99)];
  const reading = judgePages([page(250, first), page(250, shifted), page(250, third)], EVERYTHING);
  expect([reading.problem, reading.mayUnite]).toEqual([
    'the total is 250, but 249 distinct entries came',
    true,
  ]);
});

test('a page with too few or too many entries is refused', () => {
  expect(problemOf([page(250, first), page(250, second.slice(1)), page(250, third)])).toBe(
    'page 2 of 250 entries held 99 where 100 were due',
  );
  expect(problemOf([page(40, all.slice(0, 41))])).toBe('page 1 of 40 entries held 41 where 40 were due');
  expect(problemOf([{ ...page(250, first.slice(50)), fullAt: 50 }])).toBe(
    'page 1 of 250 entries held 50, as many as its pageSize, where 100 were due',
  );
});

test('a page beyond the last may repeat entries, but not have new ones', () => {
  expect(needsConfirming({ total: 200 })).toBe(true);
  expect([needsConfirming({ total: 0 }), needsConfirming({ total: 199 })]).toEqual([false, false]);
  // By its own `pageSize` a first page of all entries is full, or says less than it holds.
  expect(needsConfirming({ total: 43, fullAt: 43 })).toBe(true);
  expect(needsConfirming({ total: 43, fullAt: 40 })).toBe(false);
  expect(problemOf([page(200, first), page(200, second), page(200, [])])).toBeNull();
  expect(problemOf([page(200, first), page(200, second), page(200, second)])).toBeNull();
  expect(problemOf([page(200, first), page(200, second), page(200, third)])).toBe(
    'page 3 held 50 entries where a total of 200 leaves none',
  );
});

test('a page beyond the last with earlier entries that are not the last page shows that the total is wrong', () => {
  // 101 entries in changing order, with a total of 100. The entry of page 2 was on page 1 already, and another never
  // came.
  expect(problemOf([page(100, first), page(100, [first[7]!])])).toBe(
    'page 2 held 1 entries where a total of 100 leaves none',
  );
  expect(problemOf([page(200, first), page(200, second), page(200, first)])).toContain('leaves none');
  expect(problemOf([page(100, first), page(100, first.toReversed())])).toBeNull();
});

test('a total of 0 with an entry is refused', () => {
  expect(problemOf([page(0, all.slice(0, 1))])).toBe('the total is 0, but 1 distinct entries came');
});

test('an entry with another time is refused and left out', () => {
  const stray = { ...all[0]!, bookedAt: '2026-03-02 00:00:00', bookedMs: WINDOW.endMs + 1 };
  const reading = judgePages([page(2, [all[1]!, stray])], EVERYTHING);
  expect(reading.problem).toBe(
    'batchNo B0000 is booked at 2026-03-02 00:00:00, which lies outside the window: the platform ignores endDate, or ' +
      'that timestamp is wrong or of another time zone than PLATFORM_TIME_ZONE',
  );
  expect([...reading.entries.values()]).toEqual([all[1]]);
});

test('a time cut to its second may lie before a window that begins within that second', () => {
  const asked = (beginMs: number) => ({ window: { beginMs, endMs: WINDOW.endMs } });
  const noon = Date.parse('2026-03-01T12:00:00Z');
  expect(problemOf([page(1, [all[1]!])], asked(noon + 999))).toBeNull();
  expect(problemOf([page(1, [all[1]!])], asked(noon + 1_000))).toContain('outside the window');
});

test('one batchNo with two contents is refused', () => {
  const twice = { ...all[0]!, balance: '7.00' };
  const reading = judgePages([page(2, [all[0]!, twice])], EVERYTHING);
  expect([reading.problem, reading.mayUnite]).toEqual([
    'batchNo B0000 is used for two entries (2026-03-01 12:00:00, credit 1.00 USD, balance 1.00, type PAY; and 2026-03-01 12:00:00, credit 1.00 USD, balance 7.00, type PAY): ask the platform for their numbers',
    false,
  ]);
});

test('unreadable entries count: by batchNo, else by raw text', () => {
  const unreadable = (raw: string, batchNo: string | null): UnreadableEntry => ({
    raw,
    batchNo,
    reason: 'odd',
  });
  const two = all.slice(0, 2);
  expect(problemOf([page(4, two, [unreadable('{"a":1}', null), unreadable('{"a":2}', null)])])).toBeNull();
  const twins = [unreadable('{"a":1}', null), unreadable('{"a":1}', null)];
  expect(problemOf([page(4, two, twins)])).toBeNull();
  // On two pages, it may be one entry that moved from one page to the other.
  expect(
    problemOf([page(102, [...first.slice(0, 99)], twins.slice(1)), page(102, [all[100]!], twins.slice(1))]),
  ).toBe('the total is 102, but 101 distinct entries came');
  const named = [unreadable('{"b":1}', 'W1'), unreadable('{"b":1}', 'W1')];
  expect(problemOf([page(4, two, named)])).toBe('the total is 4, but 3 distinct entries came');
  expect(problemOf([page(3, two, [unreadable('{}', 'B0001')])])).toBe(
    'the total is 3, but 2 distinct entries came',
  );
});

/**
 * A reading of 250 entries: pages 1 and 3 are complete, page 2 has an entry of page 1 instead of its own entry
 * `left`.
 */
const lacking = (left: number, total = 250) =>
  judgePages(
    [
      page(total, first),
      page(
        total,
        second.map((one, n) => (n === left ? first[0]! : one)),
      ),
      page(total, third),
    ],
    EVERYTHING,
  );

test('readings with the same total complete each other once every entry has come in two of them', () => {
  const known = uniteReadings(lacking(99), lacking(0));
  expect([known.entries.size, known.problem]).toEqual([
    250,
    '250 entries came over several readings, but 250 of them not a second time',
  ]);
  const almost = uniteReadings(known, lacking(1));
  expect(almost.problem).toBe('250 entries came over several readings, but 1 of them not a second time');
  const sure = uniteReadings(almost, lacking(99));
  expect([sure.problem, sure.entries.size]).toEqual([null, 250]);
});

test('if an entry left and another joined between two readings, they are not united into a set that never existed', () => {
  const swapped = [...all.slice(0, 249), ...entries(1, 'NEW')];
  const before = lacking(99);
  // Entry 249 left and the new one joined. This reading does not show the last entry of page 2 either.
  const after = judgePages(
    [page(250, first), page(250, [...second.slice(0, 99), first[0]!]), page(250, swapped.slice(200))],
    EVERYTHING,
  );
  const united = uniteReadings(before, after);
  expect([united.entries.size, united.problem]).toEqual([250, expect.stringContaining('not a second time')]);
  expect(uniteReadings(united, after).problem).toContain('not a second time');
  // A complete reading needs no other.
  const whole = judgePages([page(250, first), page(250, second), page(250, swapped.slice(200))], EVERYTHING);
  expect(uniteReadings(united, whole)).toBe(whole);
});

test('readings with different totals or contents are not united', () => {
  const grown = judgePages([page(251, first), page(251, second), page(251, third)], EVERYTHING);
  expect(uniteReadings(lacking(99), grown)).toBe(grown);
  const amended = lacking(0);
  const changed = new Map([...amended.entries, ['B0005', { ...all[5]!, balance: '7.00' }]]);
  const other = { ...amended, entries: changed };
  expect(uniteReadings(lacking(99), other)).toBe(other);
});

test('entries just outside the window, within the clock tolerance, are counted and left to the next window', () => {
  const background = (ms: number): LedgerEntry => ({ ...all[249]!, bookedMs: WINDOW.beginMs - ms });
  const reading = (ms: number) =>
    judgePages([page(3, [all[0]!, all[1]!, background(ms)])], EVERYTHING, 2_000);
  expect([reading(4_000).problem, [...reading(4_000).entries.keys()]]).toEqual([null, ['B0000', 'B0001']]);
  expect(reading(5_000).problem).toContain('outside the window');
});
