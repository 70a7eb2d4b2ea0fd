/** Matching by command and by the schedule. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { matchBooks } from '../../../src/plugins/books/match.ts';
import { matchMerchants } from '../../../src/plugins/books/match-command.ts';
import { sql } from 'kysely';
import { daybook, type Env } from '../../cli/daybook.ts';
import {
  emptyTables,
  freshDatabase,
  freshEmbedded,
  hasEmbedded,
  type ServerDatabase,
} from '../../support/database.ts';
import {
  MERCHANT_NO,
  NOW,
  stateOf,
  vanish,
  writeBook,
  writeLedger,
  booksEnv,
  RULES,
} from './random-books.ts';

let database: ServerDatabase;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  env = booksEnv(database.url);
});
beforeEach(() => emptyTables(database.db));
afterAll(() => database.close());

const LEDGER = [
  { number: '1', day: 0, amount: '10' },
  { number: '2', day: 1, amount: '20' },
  { number: '3', day: 2, amount: '29.70' },
  { number: '4', day: 20, amount: '7' },
];
const BOOK = [
  { number: '1', day: 0, amount: '10' },
  { number: '2', day: 3, amount: '20' },
  { number: '3', day: 2, amount: '30' },
  { number: '4', day: 9, amount: '40', keys: ['4'] },
];
const MATCHES = [
  'near-day 0 - 2026-03-04: L2 B2',
  'same-day 0 - 2026-03-01: L1 B1',
  'tolerance -0.3 fee 2026-03-03: L3 B3',
];
const match = async (...flags: string[]) => {
  const { code, stdout, stderr } = await daybook(['books', 'match', ...flags], env);
  expect(code, stderr).toBe(0);
  return stdout;
};

test('a matching is told by rule, and what is new of it; --all gives the same', async () => {
  await writeLedger(database.db, LEDGER);
  await writeBook(database.db, BOOK);
  const text = await match();
  expect(text).toMatch(/^merchant M1: 6 days changed/);
  expect(text).toMatch(/same-day +1 +2 +1\n.*near-day +1 +2 +1\n.*tolerance +1 +2 +1/);
  const state = await stateOf(database.db);
  expect(state.matches).toEqual(MATCHES);
  expect(await match()).toContain('0 days changed');
  const [{ report, matched }] = JSON.parse(await match('--merchant', 'M1', '--all', '--json'));
  expect(report).toMatchObject({ isFull: true, made: [], undone: { byHand: 0, byRule: 0 } });
  expect(matched).toHaveLength(3);
  expect(await stateOf(database.db)).toEqual(state);
  await vanish(database.db, '1');
  expect(await match()).toContain('1 entry no longer matched by a rule');
});

test('an unknown merchant is refused, and without own books there is nothing to match', async () => {
  expect(await match()).toContain('no merchant has own books');
  const { code, stderr } = await daybook(['books', 'match', '--merchant', 'M9'], env);
  expect(code).toBe(2);
  expect(stderr).toContain('M9');
});

test('what fails of one merchant keeps no other one back', async () => {
  await writeLedger(database.db, LEDGER, 'M2');
  await writeBook(database.db, BOOK, 'M2');
  await writeLedger(database.db, [{ number: '1', day: 0, amount: '10' }]);
  await writeBook(database.db, [{ number: 'X', day: 0, amount: '10' }]);
  await sql`ALTER TABLE book_match ADD CONSTRAINT refuses CHECK (merchant_no <> 'M1')`.execute(database.db);
  const ended = await matchMerchants(['M1', 'M2'], { db: database.db, rules: RULES, now: () => NOW });
  await sql`ALTER TABLE book_match DROP CONSTRAINT refuses`.execute(database.db);
  expect(ended.map(({ report }) => report === null)).toEqual([true, false]);
  expect(ended[0]!.problem).toContain('refuses');
});

describe.runIf(hasEmbedded)('on the embedded database', () => {
  test('the same is matched, at once and night by night', async () => {
    const { db, close } = await freshEmbedded();
    const request = { merchantNo: MERCHANT_NO, rules: RULES, now: NOW };
    for (const [nth, entry] of LEDGER.entries()) {
      await writeLedger(db, [entry]);
      await writeBook(db, [BOOK[nth]!]);
      await matchBooks(db, request);
    }
    const state = await stateOf(db);
    expect(state.matches).toEqual(MATCHES);
    await matchBooks(db, { ...request, full: true });
    expect(await stateOf(db)).toEqual(state);
    await close();
  });
});
