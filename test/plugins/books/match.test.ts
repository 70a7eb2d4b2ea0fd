import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { matchBooks } from '../../../src/plugins/books/match.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../support/database.ts';
import {
  MERCHANT_NO,
  NOW,
  startOn,
  stateOf,
  writeBook,
  writeLedger,
  entriesOf,
  RULES,
} from './random-books.ts';

let database: ServerDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(() => emptyTables(database.db));
afterAll(() => database.close());

const matched = async (
  ledger: readonly string[],
  book: readonly string[],
  rules = RULES,
  start: number | null = null,
) => {
  await writeLedger(database.db, entriesOf(ledger));
  await writeBook(database.db, entriesOf(book));
  await startOn(database.db, start);
  await matchBooks(database.db, { merchantNo: MERCHANT_NO, rules, now: NOW });
  return (await stateOf(database.db)).matches;
};

test.each([
  ['one and one of a day', ['1 0 10'], ['1 0 10.00'], ['same-day 0 - 2026-03-01: L1 B1']],
  ['a debit and a credit are not the same', ['1 0 10'], ['1 0 -10'], []],
  ['days late', ['1 0 10'], ['1 3 10'], ['near-day 0 - 2026-03-04: L1 B1']],
  ['too late', ['1 0 10'], ['1 4 10'], []],
  ['two of one amount on a day', ['1 0 10', '2 0 10'], ['1 0 10', '2 0 10'], []],
  ['a third one near makes a pair uncertain', ['1 0 10', '2 3 10'], ['1 0 10'], []],
  ['and none that is farther', ['1 0 10', '2 4 10'], ['1 0 10'], ['same-day 0 - 2026-03-01: L1 B1']],
  [
    'pairs do not disturb each other',
    ['1 0 10', '2 1 10'],
    ['1 0 10', '2 1 10'],
    ['same-day 0 - 2026-03-01: L1 B1', 'same-day 0 - 2026-03-02: L2 B2'],
  ],
  ['a reference far away', ['1 0 10'], ['1 60 10 1'], ['reference 0 - 2026-04-30: L1 B1']],
  ['a reference with a fee', ['1 0 9.60'], ['1 0 10 1'], ['reference -0.4 fee 2026-03-01: L1 B1']],
  ['a reference that does not agree holds', ['1 0 9'], ['1 0 10 1', '2 0 9'], []],
  [
    'several own entries name one',
    ['1 0 10'],
    ['1 0 4 1', '2 9 6 1'],
    ['reference 0 - 2026-03-10: L1 B1 B2'],
  ],
  [
    'one own entry names several',
    ['1 0 4', '2 9 6'],
    ['1 0 10 x 1 2'],
    ['reference 0 - 2026-03-10: L1 L2 B1'],
  ],
  ['no star', ['1 0 4', '2 0 6'], ['1 0 4 1', '2 0 6 1 2'], []],
  ['a sum', ['1 0 90000.00'], ['1 0 40000.17', '2 2 49999.83'], ['sum 0 - 2026-03-03: L1 B1 B2']],
  [
    'a sum of the ledger',
    ['1 0 40000.17', '2 2 49999.83'],
    ['1 0 90000.00'],
    ['sum 0 - 2026-03-03: L1 L2 B1'],
  ],
  ['a sum that chance may explain', ['1 0 90'], ['1 0 40', '2 2 50'], []],
  ['two sums', ['1 0 90000.00'], ['1 0 40000.17', '2 2 49999.83', '3 1 49999.83'], []],
  ['two targets', ['1 0 90000.00', '2 1 90000.00'], ['1 0 40000.17', '2 2 49999.83'], []],
  [
    'a sum with an entry that has an equal one',
    ['1 0 90000.00', '2 0 40000.17', '3 0 40000.17'],
    ['1 0 40000.17', '2 2 49999.83'],
    [],
  ],
  ['a fee of a credit', ['1 0 99.70'], ['1 1 100'], ['tolerance -0.3 fee 2026-03-02: L1 B1']],
  ['a fee of a debit', ['1 0 -100.30'], ['1 1 -100'], ['tolerance -0.3 fee 2026-03-02: L1 B1']],
  ['no fee', ['1 0 100.30'], ['1 1 100'], []],
  ['two that a fee may explain', ['1 0 99.70', '2 0 99.80'], ['1 1 100'], []],
])('%s', async (_, ledger, book, expected) => {
  expect(await matched(ledger, book)).toEqual(expected);
});

/** Sales of one price, as of subscriptions: number, day and time. */
const sales = (...times: readonly string[]): string[] => times.map((time, nth) => `${nth + 1} ${time} 9.99`);
const FORTY = sales(
  ...Array.from({ length: 40 }, (_, nth) =>
    `${nth % 3}@${8 + (nth % 12)}:${10 + nth}:07`.replace('@8:', '@08:').replace('@9:', '@09:'),
  ),
);

test.each([
  ['on one day', sales('0@09:00:01', '0@09:00:02'), sales('0@09:00:02', '0@09:00:01'), ['L1 B2', 'L2 B1']],
  [
    'beside other amounts',
    [...sales('0@09:00:01', '0@10:00:00'), '3 0@09:00:01 5'],
    [...sales('0@09:00:01', '0@10:00:00'), '3 0@09:00:01 5'],
    ['L1 B1', 'L2 B2', 'L3 B3'],
  ],
  ['two of one second', sales('0@09:00:01', '0@09:00:01'), sales('0@09:00:01', '0@09:00:01'), []],
  ['a second late', sales('0@09:00:01', '0@09:00:02'), sales('0@09:00:02', '0@09:00:03'), []],
  ['minutes alone in the book', sales('0@09:00:00', '0@09:00:30'), sales('0@09:00:00', '0@09:00:00'), []],
  [
    'one is left over near it',
    sales('0@09:00:01', '0@10:00:00', '2@11:00:00'),
    sales('0@09:00:01', '0@10:00:00'),
    [],
  ],
  [
    'one is left over farther away',
    sales('0@09:00:01', '0@10:00:00', '4@11:00:00'),
    sales('0@09:00:01', '0@10:00:00'),
    ['L1 B1', 'L2 B2'],
  ],
  ['the day alone in the book', sales('0@09:00:01', '0@10:00:00'), sales('0@09:00:01', '0'), []],
])(
  'entries of one amount pair off by their times in one way only, or not at all: %s',
  async (_, ledger, book, expected) => {
    const matches = await matched(ledger, book);
    expect(matches).toEqual(expected.map((pair) => `same-time 0 - 2026-03-01: ${pair}`));
  },
);

test('40 equal sales at the same 40 times on both sides are matched; one that is added later undoes what it makes uncertain', async () => {
  expect(await matched(FORTY, FORTY)).toHaveLength(40);
  expect((await stateOf(database.db)).unmatched).toEqual([]);
  const { db } = database;
  const rules = RULES;
  await writeLedger(db, entriesOf(['late 2@23:00:00 9.99']));
  await matchBooks(db, { merchantNo: MERCHANT_NO, rules, now: NOW });
  const after = await stateOf(db);
  expect(after.matches).toEqual([]);
  await matchBooks(db, { merchantNo: MERCHANT_NO, rules, now: NOW, full: true });
  expect(await stateOf(db)).toEqual(after);
});

/** A pair of equal amounts, and what is left near it. */
test.each([
  [
    'an entry of it is a part of a sum that is open',
    ['1 0 9999.01', '2 0 20000.02'],
    ['1 0 29999.03', '2 0 9999.01'],
    [],
  ],
  [
    'it is the sum of entries that are open',
    ['1 0 29999.03'],
    ['1 0 29999.03', '2 0 9999.01', '3 1 20000.02'],
    [],
  ],
  ['an entry of it is one before a fee', ['1 0 99.70', '2 1 100'], ['1 0 100'], []],
  [
    'the sum is far away',
    ['1 0 9999.01', '2 9 20000.02'],
    ['1 9 29999.03', '2 0 9999.01'],
    ['same-day 0 - 2026-03-01: L1 B2'],
  ],
  ['the fee is too large', ['1 0 99.40', '2 1 100'], ['1 0 100'], ['near-day 0 - 2026-03-02: L2 B1']],
  ['chance explains the sum', ['1 0 10', '2 0 20'], ['1 0 30', '2 0 10'], ['same-day 0 - 2026-03-01: L1 B2']],
  [
    'what is open fits something else',
    ['1 0 99.70', '2 1 100'],
    ['1 0 100', '2 0 99.70', '3 3 99.70'],
    ['near-day 0 - 2026-03-02: L2 B1'],
  ],
])('a pair is given up or not: %s', async (_, ledger, book, expected) => {
  expect(await matched(ledger, book)).toEqual(expected);
});

test('before the first day of a book only what belongs to a later entry counts', async () => {
  const ledger = ['1 0 10', '2 8 20', '3 9 30', '4 10 40', '5 0 50', '6 9 60'];
  const book = ['1 10 20', '2 10 40', '3 12 50 5', '4 9 60'];
  const matches = await matched(ledger, book, RULES, 10);
  expect(matches).toEqual([
    'near-day 0 - 2026-03-11: L2 B1',
    'reference 0 - 2026-03-13: L5 B3',
    'same-day 0 - 2026-03-11: L4 B2',
  ]);
  expect((await stateOf(database.db)).unmatched).toEqual([]);
  const earlier = await matched([], [], RULES, 9);
  expect(earlier).toContain('same-day 0 - 2026-03-10: L6 B4');
  expect((await stateOf(database.db)).unmatched).toEqual(['L3']);
});

test('an entry before the first day makes a later pair uncertain', async () => {
  expect(await matched(['1 8 10', '2 11 10'], ['1 10 10'], RULES, 10)).toEqual([]);
  expect((await stateOf(database.db)).unmatched).toEqual(['B1', 'L2']);
});

test.each([
  ['a sum of a match', 0, sql`UPDATE book_match SET ledger_amount = ledger_amount + 1`],
  ['a day', 40, sql`UPDATE book_day SET book_open = book_open - 1 WHERE day = '2026-03-01'`],
  ['an entry', 40, sql`UPDATE book_match_entry SET match_id = NULL, rule = NULL WHERE batch_no = '1'`],
])('%s that is not as it was stored ends the next matching, which stores nothing', async (_, day, change) => {
  const { db } = database;
  expect(await matched(['1 0 10'], ['1 0 10'])).toHaveLength(1);
  await change.execute(db);
  const before = await stateOf(db);
  await expect(matched([`2 ${day} 20`], [`2 ${day} 20`])).rejects.toThrow(
    'not those of its unmatched entries',
  );
  expect(await stateOf(db)).toEqual(before);
});
