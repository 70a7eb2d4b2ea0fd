import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { matchBooks } from '../../../src/plugins/books/match.ts';
import { proposals } from '../../../src/plugins/books/proposals.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../support/database.ts';
import { dayOf, MERCHANT_NO, NOW, writeBook, writeLedger, entriesOf, RULES } from './random-books.ts';

let database: ServerDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(() => emptyTables(database.db));
afterAll(() => database.close());

const proposed = async (
  ledger: readonly string[],
  book: readonly string[],
  [from, to]: readonly [number, number] = [0, 30],
) => {
  await writeLedger(database.db, entriesOf(ledger));
  await writeBook(database.db, entriesOf(book));
  await matchBooks(database.db, { merchantNo: MERCHANT_NO, rules: RULES, now: NOW });
  const asked = {
    merchantNo: MERCHANT_NO,
    currency: 'CNY',
    from: dayOf(from),
    to: dayOf(to),
    rules: RULES,
  };
  return (await proposals(database.db, asked)).map(({ rule, reason, candidates }) => ({
    rule,
    reason,
    answers: candidates.map((answer) =>
      answer.map(({ side, number }) => (side === 'ledger' ? 'L' : 'B') + number).join(' '),
    ),
  }));
};

test.each([
  ['nothing is left', ['1 0 10'], ['1 0 10'], []],
  ['nothing fits', ['1 0 10'], ['1 0 20'], []],
  [
    'one amount, the nearest day first',
    ['1 0 10', '2 2 10'],
    ['1 2 10.00'],
    [['near-day', 'Several answers fit', 'L2 B1', 'L1 B1']],
  ],
  [
    'a reference that does not agree',
    ['1 0 9'],
    ['1 40 10 1'],
    [['reference', 'The reference agrees, and the ledger less the book is -1', 'L1 B1']],
  ],
  ['a sum by chance', ['1 0 90'], ['1 0 40', '2 2 50'], [['sum', 'So many sums were tried', 'L1 B1 B2']]],
  [
    'two sums',
    ['1 0 90000'],
    ['1 0 40000.17', '2 2 49999.83', '3 1 49999.83'],
    [['sum', 'Several answers fit', 'L1 B1 B3', 'L1 B1 B2']],
  ],
  [
    'two fees',
    ['1 0 99.70', '2 0 99.80'],
    ['1 1 100'],
    [['tolerance', 'Several answers fit', 'L1 B1', 'L2 B1']],
  ],
])('%s', async (_, ledger, book, expected) => {
  expect(await proposed(ledger, book)).toEqual(
    expected.map(([rule, reason, ...answers]) => ({
      rule,
      reason: expect.stringContaining(reason!),
      answers,
    })),
  );
});

test('an entry of a stronger proposal is in no weaker one, and days choose', async () => {
  const ledger = ['1 0 100', '2 0 100', '3 0 99.80', '4 20 5', '5 20 5'];
  const book = ['1 0 100', '4 20 5'];
  expect((await proposed(ledger, book)).map(({ rule }) => rule)).toEqual(['near-day', 'near-day']);
  expect(await proposed([], [], [19, 21])).toMatchObject([{ answers: ['L4 B4', 'L5 B4'] }]);
  expect(await proposed([], [], [5, 10])).toEqual([]);
});

test('entries of several accounts that a reference joins are shown with each', async () => {
  await writeLedger(database.db, [{ number: '1', day: 0, amount: '10', currency: 'USD' }]);
  expect(await proposed([], ['1 0 10 1'])).toMatchObject([
    { rule: 'reference', reason: 'The reference joins accounts in CNY and USD.', answers: ['L1 B1'] },
  ]);
});
