/** Many merchants that ask in one moment share statements. Each gets what it gets if it asks alone, whatever is stored of others. */
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import type { DayFigures } from '../../src/store/account-days.ts';
import { seenWindows } from '../../src/store/certificates.ts';
import { saveChained } from '../../src/store/chaining.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { compareWithStored, type WindowToStore } from '../../src/store/compare-with-stored.ts';
import type { Db } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease, merchantLease } from '../../src/store/engine/lease.ts';
import { countByFigures, countStored, differingDays, storedIn } from '../../src/store/historical-days.ts';
import { startRun } from '../../src/store/runs.ts';
import { recordUnderLease } from '../../src/store/statements/record-published.ts';
import { knownDays } from '../../src/store/statements/stored-files.ts';
import { storeWindow } from '../../src/store/windows.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../support/database.ts';
import { certified, entry, NOW, uncertified } from './support.ts';
import '../support/each-file.ts';

const FROM = '2026-03-07';
const DAYS = [0, 1, 2].map((nth) => addDays(FROM, nth));
const TO = DAYS.at(-1)!;
const windowOf = (day: string) => dayWindow(day, 'UTC');
const ALL = { beginMs: windowOf(FROM).beginMs, endMs: windowOf(TO).endMs };

/** All merchants use the same numbers, so that what belongs to another one would show. */
const NUMBERS = [
  "it's",
  'a "quoted" one',
  'back\\slash\\',
  'x,y',
  '{braces}',
  'tab\there',
  'NULL',
  'ä €',
  'B1',
];
const CURRENCIES = ['USD', 'EUR', 'KWD'] as const;
const FATES = ['as stored', 'spelt differently', 'other amount', 'moved', 'lacking', 'new'] as const;

const one = fc.record({
  batchNo: fc.constantFrom(...NUMBERS),
  currency: fc.constantFrom(...CURRENCIES),
  day: fc.nat(DAYS.length - 1),
  second: fc.nat(3),
  amount: fc.constantFrom<string[]>('1.50', '2.00', '9007199254740993.010'),
  fate: fc.constantFrom(...FATES),
  hasVanished: fc.boolean(),
});
const merchant = fc.record({
  all: fc.uniqueArray(one, { selector: ({ batchNo }) => batchNo, maxLength: NUMBERS.length }),
  figured: fc.uniqueArray(fc.tuple(fc.constantFrom(...CURRENCIES), fc.nat(2)), {
    selector: String,
    maxLength: 3,
  }),
  published: fc.uniqueArray(fc.tuple(fc.constantFrom(...CURRENCIES), fc.nat(2)), {
    selector: String,
    maxLength: 3,
  }),
  failed: fc.option(fc.nat(DAYS.length - 1)),
  unreadable: fc.subarray(NUMBERS, { maxLength: 2 }),
  currency: fc.constantFrom(null, ...CURRENCIES),
});
type One = typeof one extends fc.Arbitrary<infer Value> ? Value : never;
type Merchant = typeof merchant extends fc.Arbitrary<infer Value> ? Value : never;

let database: ServerDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

function entryOf({ batchNo, currency, day, second, amount }: One): LedgerEntry {
  const bookedMs = windowOf(DAYS[day]!).beginMs + second * 1_000;
  const bookedAt = new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' ');
  return entry(1, { batchNo, currency, credit: amount, bookedMs, bookedAt });
}

/** What the platform sends, where it is not what was stored. */
const SENT: Readonly<Record<(typeof FATES)[number], (stored: One) => LedgerEntry[]>> = {
  'as stored': (stored) => [entryOf(stored)],
  'spelt differently': (stored) => [entryOf({ ...stored, amount: stored.amount.replace(/\.?0$/, '') })],
  'other amount': (stored) => [entryOf({ ...stored, amount: '7.77' })],
  moved: (stored) => [entryOf({ ...stored, day: (stored.day + 1) % DAYS.length })],
  lacking: () => [],
  new: (stored) => [entryOf(stored)],
};
const sentOf = ({ all }: Merchant) => all.flatMap((stored) => SENT[stored.fate](stored));

const unreadableOf = ({ unreadable }: Merchant) =>
  unreadable.map((batchNo) => ({
    raw: `{"batchNo":${JSON.stringify(batchNo)}}`,
    reason: 'no amount',
    batchNo,
  }));

const figuresOf = (currency: string, day: string, lastBatchNo: string): DayFigures => ({
  ...{ currency, day, opening: '0.00', creditTotal: '9007199254740993.010', creditCount: 2, debitTotal: '0' },
  ...{ debitCount: 0, closing: '9007199254740993.010', verdict: 'broken', breakCount: 1, breaksAfter: 0 },
  ...{ lastBatchNo, lastBookedMs: 1, restarted: day > FROM, isOrderFinal: true, startsWithBreak: false },
});

/** Stores a merchant's past: readings, what vanished since, figures, and what is published. */
async function store(db: Db, lease: Lease, merchantNo: string, made: Merchant, runId: number): Promise<void> {
  const about = { merchantNo, currency: null, runId, now: NOW };
  const stored = made.all.filter(({ fate }) => fate !== 'new');
  for (const [nth, day] of DAYS.entries()) {
    const own = stored.filter((each) => each.day === nth).map(entryOf);
    await storeWindow(db, lease, { ...about, window: windowOf(day), reading: certified(own) });
  }
  if (made.failed !== null) {
    const reading = { ...uncertified([]), unreadable: unreadableOf(made) };
    await storeWindow(db, lease, { ...about, window: windowOf(DAYS[made.failed]!), reading });
  }
  for (const { batchNo } of stored.filter(({ hasVanished }) => hasVanished))
    await sql`
      UPDATE ledger_entry SET vanished_at = ${NOW} WHERE merchant_no = ${merchantNo} AND batch_no = ${batchNo}`.execute(
      db,
    );
  const days = (own: Merchant['figured']) => own.map(([currency, nth]) => ({ currency, day: DAYS[nth]! }));
  for (const [nth, { currency, day }] of days(made.figured).entries()) {
    const figures = [figuresOf(currency, day, NUMBERS[nth]!)];
    await writeTransaction(db, lease, (trx) =>
      saveChained(trx, { merchantNo, currency }, { figures, done: [day], left: [] }),
    );
  }
  const file = { merchant_no: merchantNo, revision: 1, byte_count: 1, published_at: NOW };
  await recordUnderLease(db, lease, merchantNo, {
    statements: days(made.published).map(({ currency, day }) => ({
      ...{
        ...file,
        currency,
        day,
        sha256: `${merchantNo}${day}`,
        object_key: `${merchantNo}/${day}${currency}.csv`,
      },
      ...{
        row_count: 0,
        columns: 'entry',
        opening: '0',
        closing: '0.10',
        verdict: 'continuous',
        restarted: false,
      },
      ...{
        credit_total: '0.10',
        credit_count: 1,
        debit_total: '0',
        debit_count: 0,
        break_count: 0,
        breaks_after: 0,
      },
      ...{
        unreadable_count: 0,
        over_midnight: 0,
        last_balance: null,
        other_closings: '',
        supersedes: null,
        reason: null,
        run_id: null,
      },
    })),
    stored: days(made.published).map(({ currency, day }) => ({
      ...{ merchant_no: merchantNo, day, object_key: `${merchantNo}/${day}${currency}.csv`, sha256: 'a' },
      ...{ byte_count: 1, etag: `"${currency}"` },
    })),
  });
}

/** A reading of each day as the platform sends it now. */
const readingsOf = (merchantNo: string, made: Merchant, runId: number): WindowToStore[] =>
  DAYS.map((day) => {
    const window = windowOf(day);
    const own = sentOf(made).filter(
      ({ bookedMs, currency }) =>
        bookedMs >= window.beginMs &&
        bookedMs <= window.endMs &&
        (made.currency === null || currency === made.currency),
    );
    return { merchantNo, window, currency: made.currency, reading: certified(own), runId, now: NOW };
  });

/** All that one merchant asks, each question by its name. Lists that have no order are sorted. */
function questionsOf(db: Db, merchantNo: string, made: Merchant, runId: number) {
  const { currency } = made;
  const inOrder = <Item>(items: readonly Item[]) =>
    items.toSorted((a, b) => (String(a) < String(b) ? -1 : 1));
  return {
    countByFigures: () => countByFigures(db, merchantNo, { from: FROM, to: TO }, ALL),
    countStored: () => countStored(db, merchantNo, ALL, currency),
    storedIn: () => storedIn(db, merchantNo, ALL),
    firstStoredIn: () => storedIn(db, merchantNo, windowOf(FROM), 1 + Math.floor(made.all.length / 2)),
    seenWindows: () => seenWindows(db, { ...ALL, merchantNo }).then((rows) => rows.map(withoutPlace)),
    knownDays: async () => {
      const known = await knownDays(db, { merchantNo, fromDay: FROM, toDay: TO });
      return known.map((day) => ({
        ...withoutPlace(day),
        ...{ statements: inOrder(day.statements), stored: inOrder(day.stored) },
      }));
    },
    compareWithStored: async () => {
      const unstored = await compareWithStored(db, readingsOf(merchantNo, made, runId));
      return unstored.map((one) => ({ ...one, lacking: inOrder(one.lacking) }));
    },
    differingDays: () =>
      differingDays(db, { merchantNo, entries: sentOf(made), unreadable: unreadableOf(made) }),
  };
}

/** The place among those that asked is no part of the answer. */
const withoutPlace = <Row extends object>(row: Row): Omit<Row, 'nth'> => {
  const { nth, ...own } = row as Row & { readonly nth?: number };
  void nth;
  return own;
};

async function opened(merchants: readonly Merchant[]) {
  const { db } = database;
  await emptyTables(db);
  const runId = await startRun(db, { command: 'sync', holder: 'test', fromDay: null, toDay: null, now: NOW });
  const names = merchants.map((_, at) => `M${at}, "of" {many}\\`);
  await Promise.all(
    merchants.map(async (made, at) => {
      const name = merchantLease(names[at]!);
      const lease = await acquireLease(db, { name, holder: 'test:1:-', ttlMs: 60_000 });
      await store(db, lease, names[at]!, made, runId);
    }),
  );
  return merchants.map((made, at) => questionsOf(db, names[at]!, made, runId));
}

async function expectSameTogether(merchants: readonly Merchant[]) {
  const questions = (await opened(merchants)).flatMap((own) => Object.entries(own));
  const alone: unknown[] = [];
  for (const [name, ask] of questions) alone.push([name, await ask()]);
  const together = await Promise.all(questions.map(async ([name, ask]) => [name, await ask()]));
  expect(together).toEqual(alone);
}

test('what many ask in one moment is answered as what each asks alone', async () => {
  await fc.assert(fc.asyncProperty(fc.array(merchant, { minLength: 2, maxLength: 4 }), expectSameTogether), {
    numRuns: Number(process.env['RUNS'] ?? 15),
  });
});

test('entries with every fate and text: each merchant gets its own answers, together as alone', async () => {
  const stored = (fate: One['fate'], nth: number, change: Partial<One> = {}): One => ({
    ...{ batchNo: NUMBERS[nth]!, currency: 'USD', day: 1, second: nth % 4, amount: '1.50', fate },
    ...{ hasVanished: false, ...change },
  });
  const all = [
    ...FATES.map((fate, nth) => stored(fate, nth)),
    stored('as stored', 6, { hasVanished: true }),
    stored('lacking', 7, { hasVanished: true }),
  ];
  const quiet: Merchant = {
    ...{ all: [stored('as stored', 0, { amount: '2.00' }), stored('as stored', 4)] },
    ...{ figured: [], published: [], failed: null, unreadable: [], currency: null },
  };
  const busy: Merchant = {
    ...quiet,
    all,
    figured: [['USD', 1]],
    published: [['USD', 1]],
    unreadable: ['B1'],
  };
  await expectSameTogether([busy, quiet, busy]);

  const [first, second] = await opened([busy, quiet]);
  const [own, other] = await Promise.all([first!.compareWithStored(), second!.compareWithStored()]);
  expect(own.map(({ entries, lacking }) => [entries.map(({ batchNo }) => batchNo), lacking])).toEqual([
    [[], []],
    // What has another amount, what is new, and what had vanished. Only the lacking and the moved one did not come on that day.
    [[NUMBERS[2], NUMBERS[5], NUMBERS[6]], [NUMBERS[4]]],
    [[NUMBERS[3]], []],
  ]);
  expect(other.map(({ entries, lacking }) => [entries, lacking])).toEqual(DAYS.map(() => [[], []]));
  expect(await Promise.all([first!.countStored(), second!.countStored()])).toEqual([5, 2]);
  expect(await Promise.all([first!.differingDays(), second!.differingDays()])).toEqual([DAYS.slice(1), []]);
});
