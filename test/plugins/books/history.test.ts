/** Random histories: what is matched follows from what the tables hold, whatever was matched before, and always adds up. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bookFigures } from '../../../src/plugins/books/figures.ts';
import { decide } from '../../../src/plugins/books/decide.ts';
import { matchBooks, matchIn } from '../../../src/plugins/books/match.ts';
import type { MatchRules } from '../../../src/ledger/own-books.ts';
import { rowsOf, type Db } from '../../../src/store/engine/database.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../support/database.ts';
import { randomOf } from '../../support/random.ts';
import { shortAndLong } from '../../support/short-and-long.ts';
import {
  dayOf,
  MERCHANT_NO,
  NOW,
  startOn,
  stateOf,
  vanish,
  withdraw,
  writeBook,
  writeLedger,
  type SmallEntry,
  type State,
} from './random-books.ts';

let database: ServerDatabase;
let db: Db;
beforeAll(async () => {
  database = await freshDatabase();
  db = database.db;
});
beforeEach(() => emptyTables(db));
afterAll(() => database.close());

/** With one day of reach, a history of two months is far longer than anything that one entry decides on. */
const RULES: MatchRules = {
  rules: ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'],
  days: 1,
  sumEntriesMax: 4,
  tolerances: new Map([['CNY', { max: '0.5', type: 'fee' }]]),
};
const request = { merchantNo: MERCHANT_NO, rules: RULES, now: NOW };
const DAYS = 60;
const SEED = Number(process.env['DAYBOOK_TEST_SEED'] ?? 2404);

/** What a matching of the same entries, decisions and rules gives that knows nothing of an earlier one. */
async function fromNothing(): Promise<State> {
  let state: State | undefined;
  const undo = new Error('undo');
  await db
    .transaction()
    .execute(async (trx) => {
      await sql`UPDATE book_match_entry SET match_id = NULL, rule = NULL
        WHERE match_id IN (SELECT id FROM book_match WHERE audit_event_id IS NULL)`.execute(trx);
      await sql`DELETE FROM book_match WHERE audit_event_id IS NULL`.execute(trx);
      await sql`DELETE FROM book_match_entry WHERE match_id IS NULL`.execute(trx);
      await sql`UPDATE book_day SET matched_changes = NULL, ledger_open = 7, is_changed = true`.execute(trx);
      await matchIn(trx, { ...request, full: true });
      state = await stateOf(trx);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return state!;
}

interface Random {
  readonly next: () => number;
  readonly below: (end: number) => number;
  readonly of: <Item>(items: readonly Item[]) => Item;
}

function random(seed: number): Random {
  const next = randomOf(seed);
  const below = (end: number) => Math.floor(next() * end);
  return { next, below, of: (items) => items[below(items.length)]! };
}

const AMOUNTS = ['10', '10.00', '20', '-10', '30', '0', '10.30', '-10.30', '5.5'];

/** One step of a history: entries come, change, go, or are decided on. */
async function step({ below, of, next }: Random): Promise<void> {
  const number = () => `N${below(80)}`;
  const near = (day: number) => Math.min(DAYS - 1, Math.max(0, day + of([0, 0, 0, 1, 1, -1, 2])));
  const entry = (): SmallEntry => ({
    number: number(),
    day: below(DAYS),
    amount: of(AMOUNTS),
    currency: of(['CNY', 'CNY', 'CNY', 'USD']),
    keys: next() < 0.15 ? [number(), ...(next() < 0.3 ? [number()] : [])] : [],
  });
  const kind = below(9);
  if (kind === 0) return writeLedger(db, [entry(), entry()]);
  if (kind === 1) return writeBook(db, [entry(), entry()]);
  if (kind === 2) return vanish(db, number(), of([NOW, NOW, null]));
  if (kind === 3) return withdraw(db, number());
  if (kind === 4) return merged(of, near, below);
  if (kind === 5 && next() < 0.5) return match(below, number);
  if (kind === 5) return change(of);
  const twins = Array.from({ length: 3 }, entry);
  await writeLedger(db, twins);
  const named = (one: SmallEntry) => (kind === 6 ? [one.number] : []);
  await writeBook(
    db,
    twins.map((one) => ({ ...one, number: number(), day: near(one.day), keys: named(one) })),
  );
}

/** Two or three large entries of one side that the other side has as one. */
async function merged(
  of: Random['of'],
  near: (day: number) => number,
  below: Random['below'],
): Promise<void> {
  const day = below(DAYS);
  const parts = Array.from({ length: 2 + below(2) }, () => 20_000_000 + below(30_000_000));
  const many = parts.map((part) => ({
    number: `S${below(60)}`,
    day: near(day),
    amount: (part / 100).toFixed(2),
  }));
  const unlike = new Map(many.map((one) => [one.number, one]));
  const total = [...unlike.values()].reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0);
  const one = { number: `T${below(60)}`, day, amount: (total / 100).toFixed(2) };
  const [writeMany, writeOne] = of([
    [writeLedger, writeBook],
    [writeBook, writeLedger],
  ]);
  await writeMany(db, [...unlike.values()]);
  await writeOne(db, [one]);
}

/** Above 15, another person has to approve it. */
const deciding = () => ({
  ...{ db, now: NOW, zone: 'UTC', by: 'Ada', note: 'x' },
  settings: {
    books: { ...RULES, closeNeedsMatch: false, approvalAbove: new Map([['CNY', '15']]) },
    access: { roles: new Map() },
    currencies: {},
  },
});

const unlessRefused = (error: unknown): void => {
  if ((error as Error).name !== 'DecisionRefused') throw error;
};

async function match(below: Random['below'], number: () => string): Promise<void> {
  const rows = await rowsOf(db)<{ number: string; book: string; batchNo: string }>`
    SELECT own.number, own.book, ledger.batch_no AS "batchNo" FROM book_entry AS own, ledger_entry AS ledger
    WHERE own.currency = ledger.currency AND own.withdrawn_import_id IS NULL AND vanished_at IS NULL AND ledger.batch_no >= ${number()}
      AND own.number <= ${number()} ORDER BY 1, 2, 3 LIMIT 5`;
  const row = rows[below(rows.length)];
  if (row === undefined) return;
  const entries = { ledger: [row.batchNo], own: [row] };
  await decide(deciding(), { step: 'match', merchantNo: MERCHANT_NO, entries, type: 'other' }).catch(
    unlessRefused,
  );
}

/** Takes back what a person or a rule matched, or approves it. */
async function change(of: Random['of']): Promise<void> {
  const rows = await rowsOf(db)<{ id: number }>`SELECT id FROM book_match ORDER BY rule, id`;
  if (rows.length === 0) return;
  const step = of(['undo', 'undo', 'approve'] as const);
  const by = of(['Ada', 'Grace']);
  await decide({ ...deciding(), by }, { step, merchantNo: null, id: of(rows).id }).catch(unlessRefused);
}

/** The sums of both sides to the end of a day, made of the entries alone. */
const sumsTo = async (currency: string, day: string): Promise<{ ledger: string; book: string }> => {
  const [sums] = await rowsOf(db)<{ ledger: string; book: string }>`
    SELECT (SELECT coalesce(sum(coalesce(credit, -debit)), 0) FROM ledger_entry
      WHERE currency = ${currency} AND booked_at::date <= ${day}::date AND vanished_at IS NULL)::float8::text AS ledger,
    (SELECT coalesce(sum(amount), 0) FROM book_entry
      WHERE currency = ${currency} AND day <= ${day}::date AND withdrawn_import_id IS NULL)::float8::text AS book`;
  return sums!;
};

async function expectIdentity(start: number | null): Promise<void> {
  for (const currency of ['CNY', 'USD']) {
    const figures = await bookFigures(db, { merchantNo: MERCHANT_NO, currency }, dayOf(0), dayOf(DAYS));
    for (const { ledger, book, onlyThere, onlyHere, difference } of figures)
      expect(Number(ledger) - Number(book)).toBeCloseTo(
        Number(onlyThere) - Number(onlyHere) + Number(difference),
        6,
      );
    if (start !== null) continue;
    const { day, ledger, book } = figures.at(-1) ?? { day: dayOf(DAYS), ledger: '0', book: '0' };
    const sums = await sumsTo(currency, day);
    expect([Number(ledger), Number(book)]).toEqual([Number(sums.ledger), Number(sums.book)]);
  }
}

const of3 = (draw: Random): boolean => draw.below(3) === 0;

const madeInAll = new Set<string>();
const histories = Array.from({ length: 40 }, (_, nth) => nth);
describe.each(shortAndLong(histories, 3))('random histories', ({ options, cases }) => {
  test.each(cases)('history %i: the matches are those of a matching from nothing', options, async (nth) => {
    const draw = random(SEED + nth);
    const made = new Set<string>();
    // Some books have no first day, others have one, which is moved once.
    let start = of3(draw) ? null : 5 + draw.below(20);
    for (let at = 0; at < 30; at++) {
      if (at === 15 && start !== null) start += draw.below(9) - 4;
      if (at === 0 || at === 15) await startOn(db, start);
      for (let steps = at === 0 ? 12 : 1 + draw.below(3); steps > 0; steps--) await step(draw);
      await matchBooks(db, request);
      const state = await stateOf(db);
      expect(state, `step ${at}`).toEqual(await fromNothing());
      await expectIdentity(start);
      for (const match of state.matches) made.add(match.split(' ')[0]!);
    }
    // A history that matches nothing would show nothing.
    expect([...made].toSorted()).toEqual(expect.arrayContaining(['reference', 'same-day']));
    for (const rule of made) madeInAll.add(rule);
    const again = await matchBooks(db, { ...request, full: true });
    expect(again).toMatchObject({ made: [], undone: { byHand: 0, byRule: 0 } });
  });
});

test('the histories matched by every rule, and people took matches back', () => {
  expect([...madeInAll].toSorted()).toEqual(
    expect.arrayContaining(['apart', 'near-day', 'reference', 'same-day', 'sum']),
  );
});
