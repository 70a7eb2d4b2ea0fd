/** How many statements it takes to publish a merchant's night and to compare what lies in the store. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { accountsOf } from '../../src/ledger/account-filter.ts';
import { addDays } from '../../src/ledger/business-day.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { repairFiles } from '../../src/statements/repair-files.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { freshDatabase } from '../support/database.ts';
import { startFaultyWire } from '../support/faulty-wire.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, ZONE } from './book.ts';

const FIRST = '2026-01-02';
const CURRENCIES = ['USD', 'EUR', 'HKD'];

let close: (() => Promise<unknown>)[];
beforeEach(() => (close = []));
afterEach(async () => {
  for (const one of close.reverse()) await one();
});

interface Night {
  readonly days: number;
  readonly accounts: number;
  /** To the database, in each direction. */
  readonly delayMs?: number;
}

/** How many statements publishing and comparing take, for a merchant with twenty entries a day in each account. */
async function statementsOf({ days, accounts, delayMs = 0 }: Night) {
  const database = await freshDatabase();
  close.push(() => database.close());
  const wire = await startFaultyWire(database.url);
  close.push(() => wire.close());
  const { db, close: closeWired } = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  close.push(closeWired);
  const folder = await mkdtemp(join(tmpdir(), 'daybook-trips-'));
  close.push(() => rm(folder, { recursive: true }));
  const objects = createDirectoryStore(folder);

  const book = await openBook(database);
  const all = Array.from({ length: 1 + days }, (_, nth) => addDays(FIRST, nth));
  const entriesOf = (named: readonly string[]) =>
    CURRENCIES.slice(0, accounts).flatMap((currency) =>
      accountEntries(
        100_00,
        named.flatMap((day) =>
          Array.from({ length: 20 }, (_, nth): [string, number] => [
            `${day} ${String(nth).padStart(2, '0')}:00:00`,
            1_00,
          ]),
        ),
        currency[0],
      ).map((entry) => ({ ...entry, currency })),
    );
  await book.synced(entriesOf(all), all.slice(0, 1));
  await book.reconciled();
  await book.published(objects);
  await book.synced(entriesOf(all), all.slice(1));
  await book.reconciled();

  const counted = () => {
    const taken = wire.takeStatements().filter((statement) => !statement.startsWith('SET datestyle'));
    const asks = taken.filter((statement) => /^\s*SELECT [^;]* FROM lease/.test(statement));
    return { asks: asks.length, others: taken.length - asks.length };
  };
  await db.selectFrom('lease').selectAll().execute();
  counted();
  wire.delayMs = delayMs;
  const { published } = await book.published(objects, {
    db,
    accounts: accountsOf(MERCHANT),
  });
  expect(published).toHaveLength(days * accounts);
  const publishing = counted();
  const { repaired } = await repairFiles({
    db,
    lease: book.lease,
    objects,
    zone: ZONE,
    clockToleranceS: 2,
    runId: book.runId,
    now: () => book.now,
    signal: new AbortController().signal,
    merchantNo: MERCHANT,
    fromDay: FIRST,
    toDay: all.at(-1)!,
  });
  expect(repaired).toEqual([]);
  return { publishing, comparing: counted() };
}

/** Files written side by side share a question for the lease, each kind of file one at least. What was published of a day is recorded with it, all else is asked for many days at once. */
const othersMax = (days: number, accounts: number): number => 24 + days * (3 + 2 * accounts);
const COMPARING_MAX = 3;

test.each([
  { days: 1, accounts: 1, asksMax: 3 },
  { days: 1, accounts: 3, asksMax: 5 },
  { days: 6, accounts: 1, asksMax: 18 },
  { days: 6, accounts: 3, asksMax: 30 },
  { days: 60, accounts: 1, asksMax: 180 },
])('$days days of $accounts accounts take a few statements a day', async ({ asksMax, ...night }) => {
  const { publishing, comparing } = await statementsOf(night);
  expect(publishing.others).toBeLessThanOrEqual(othersMax(night.days, night.accounts));
  expect(publishing.asks).toBeLessThanOrEqual(asksMax);
  expect(comparing.asks).toBe(0);
  expect(comparing.others).toBeLessThanOrEqual(COMPARING_MAX);
});

test(
  'the slower the connection, the more files share a question for the lease',
  { tags: ['long'] },
  async () => {
    const { publishing } = await statementsOf({ days: 24, accounts: 1, delayMs: 20 });
    // Eight days at once, three files each, one after the other.
    expect(publishing.asks).toBeLessThanOrEqual(24);
  },
);
