/**
 * What is matched in small books is what has one explanation only, by the rules counted out one by one: no more, and no less.
 * Amounts and days are few, so that most books have entries with several explanations.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { matchBooks } from '../../../src/plugins/books/match.ts';
import type { MatchRule } from '../../../src/ledger/own-books.ts';
import { freshDatabase, type ServerDatabase } from '../../support/database.ts';
import { answersOf, type OracleRules, type Piece } from './card/oracle.ts';
import { matchesOf, storePieces } from './card/store.ts';

const RULES: readonly MatchRule[] = ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'];
const NOW = new Date('2026-05-01T00:00:00Z');

let database: ServerDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

let merchants = 0;

/** Days from one small book to the next: further than any rule reaches. */
const APART_DAYS = 20;

/**
 * The matches that the engine makes of small books that follow each other in one account, and those that the oracle counts out
 * in each by itself.
 */
async function both(books: readonly (readonly Piece[])[], rules: OracleRules) {
  const merchantNo = `M${(merchants += 1)}`;
  const { db } = database;
  const apart = books.map((pieces, nth) =>
    pieces.map((piece): Piece => ({
      ...piece,
      number: `${nth}.${piece.number}`,
      day: piece.day + nth * APART_DAYS,
      names: piece.names.map((name) => `${nth}.${name}`),
    })),
  );
  await storePieces(db, merchantNo, apart.flat());
  const tolerances = new Map(
    [...rules.tolerances].map(([currency, max]) => [currency, { max: (max / 100).toFixed(2), type: 'fee' }]),
  );
  await matchBooks(db, { merchantNo, now: NOW, rules: { ...rules, tolerances } });
  const lines = (of: readonly { readonly rule: string; readonly numbers: readonly string[] }[]): string[] =>
    of.map(({ rule, numbers }) => `${rule}: ${[...numbers].sort().join(' ')}`).sort();
  const answers = apart.flatMap((pieces) => answersOf(pieces, rules));
  return {
    engine: lines(await matchesOf(db, merchantNo)),
    oracle: lines(answers.map(({ rule, pieces }) => ({ rule, numbers: pieces.map(({ number }) => number) }))),
  };
}

/** How amounts are drawn: from few bases, so that equal amounts and equal sums are common. */
interface Prices {
  readonly name: string;
  /** Bases in minor units. Large ones without a common divisor let sums be more than chance. */
  readonly bases: readonly number[];
  readonly partsMax: number;
  readonly feeMax: number;
  /** Rules that match some of them. */
  readonly rules: readonly MatchRule[];
}
/** Few entries of these amounts are equal, and fewer of one second. */
const WITHOUT_TIMES = RULES.filter((rule) => rule !== 'same-time');
const PRICES: readonly Prices[] = [
  {
    name: 'large amounts, whose sums are no chance',
    bases: [90_000_007, 170_000_023],
    partsMax: 3,
    feeMax: 0,
    rules: ['reference', 'same-day', 'near-day', 'sum'],
  },
  {
    name: 'few small amounts',
    bases: [1_000, 2_000, 3_000],
    partsMax: 1,
    feeMax: 0,
    rules: ['reference', 'same-time', 'same-day', 'near-day'],
  },
  {
    name: 'amounts a fee apart',
    bases: [100_000_007, 100_000_008, 250_000_019],
    partsMax: 2,
    feeMax: 2,
    rules: WITHOUT_TIMES,
  },
  {
    name: 'many amounts, of either sign',
    bases: [90_000_007, -40_000_009, 50_000_017, 130_000_011, 0],
    partsMax: 2,
    feeMax: 1,
    rules: WITHOUT_TIMES,
  },
];

/** Times of a day; null where a book has the day alone. */
const SECONDS = [null, 1, 40_000];

const entryOf = ({ bases, partsMax, feeMax }: Prices) =>
  fc.record({
    day: fc.nat({ max: 5 }),
    second: fc.constantFrom(...SECONDS),
    units: fc
      .tuple(
        fc.array(fc.constantFrom(...bases), { minLength: 1, maxLength: partsMax }),
        fc.nat({ max: feeMax }),
      )
      .map(([parts, fee]) => parts.reduce((sum, part) => sum + part, 0) - fee),
    isOther: fc.nat({ max: 9 }).map((nine) => nine === 9),
  });

const bookOf = (prices: Prices) =>
  fc
    .record({
      ledger: fc.array(entryOf(prices), { maxLength: 8 }),
      book: fc.array(
        fc.record({
          entry: entryOf(prices),
          names: fc.oneof(
            { weight: 4, arbitrary: fc.constant<number[]>([]) },
            { weight: 1, arbitrary: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 3 }) },
          ),
        }),
        { maxLength: 8 },
      ),
    })
    .map(({ ledger, book }): Piece[] => [
      ...ledger.map(({ day, second, units, isOther }, at): Piece => ({
        ...{ side: 'ledger', number: `L${at}`, day, second: second ?? 0, units, names: [] },
        currency: isOther ? 'EUR' : 'USD',
      })),
      ...book.map(({ entry: { day, second, units, isOther }, names }, at): Piece => ({
        ...{ side: 'book', number: `O${at}`, day, second, units },
        currency: isOther ? 'EUR' : 'USD',
        names: names.map((nth) => `L${nth}`),
      })),
    ]);

const rulesOf = fc.record({
  rules: fc.oneof(
    { weight: 4, arbitrary: fc.constant(RULES) },
    { weight: 1, arbitrary: fc.subarray([...RULES]) },
  ),
  days: fc.constantFrom(0, 1, 2, 3),
  sumEntriesMax: fc.constantFrom(2, 3, 6),
  tolerances: fc
    .constantFrom(0, 1, 2)
    .map((max) => new Map(max === 0 ? [] : [['USD', max] as const, ['EUR', max] as const])),
});

describe('what is matched is what has one explanation', () => {
  const RUNS = [
    { tags: {}, numRuns: 25 },
    { tags: { tags: ['long'] }, numRuns: 60 },
  ];
  for (const { tags, numRuns } of RUNS)
    it.each(PRICES)('with $name', tags, async (prices) => {
      const seen = new Set<string>();
      const books = fc.array(bookOf(prices), { minLength: 1, maxLength: 25, size: 'max' });
      await fc.assert(
        fc.asyncProperty(books, rulesOf, async (small, rules) => {
          const { engine, oracle } = await both(small, rules);
          for (const line of oracle) seen.add(line.split(':')[0]!);
          expect(engine).toEqual(oracle);
        }),
        { numRuns },
      );
      expect([...seen].sort()).toEqual(expect.arrayContaining([...prices.rules].sort()));
    });
});
