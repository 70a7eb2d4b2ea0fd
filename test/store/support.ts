/** Makers for store tests, and the two databases on which every store test runs. */
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import type { LedgerEntry, UnreadableEntry, Window } from '../../src/ledger/entry.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import type { WindowReading, WindowToStore } from '../../src/store/compare-with-stored.ts';
import { countNameless, judgeReading } from '../../src/store/windows.ts';
import { storeWindow } from '../support/store-window.ts';
import { emptyTables, freshDatabase, freshEmbedded, hasEmbedded } from '../support/database.ts';

export const NOW = new Date('2026-03-10T02:00:00Z');
export const MERCHANT = 'M1001';
/** Midnight of 2026-03-09 for a platform in UTC. */
export const DAY_BEGIN_MS = Date.UTC(2026, 2, 9);
export const DAY: Window = { beginMs: DAY_BEGIN_MS, endMs: DAY_BEGIN_MS + 86_400_000 - 1 };

/** The n-th entry of the day: ten seconds after the one before, a credit of n. */
export function entry(n: number, change: Partial<LedgerEntry> = {}): LedgerEntry {
  const bookedMs = DAY_BEGIN_MS + n * 10_000;
  return {
    batchNo: `B${String(n).padStart(6, '0')}`,
    currency: 'USD',
    transactionType: '1001',
    credit: `${n}.00`,
    debit: null,
    balance: `${1000 + n}.00`,
    bookedAt: new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' '),
    bookedMs,
    ...change,
  };
}

export const entries = (...numbers: number[]): LedgerEntry[] => numbers.map((n) => entry(n));

export const unreadable = (raw: string): UnreadableEntry => ({ raw, reason: 'no batchNo', batchNo: null });

export const certified = (
  list: readonly LedgerEntry[],
  wrecks: readonly UnreadableEntry[] = [],
): WindowReading => ({
  entries: list,
  unreadable: wrecks,
  total: list.length + wrecks.length,
  requests: 1,
  certified: true,
  problem: null,
});

export const uncertified = (list: readonly LedgerEntry[], problem = 'total moved'): WindowReading => ({
  ...certified(list),
  total: list.length + 1,
  certified: false,
  problem,
});

/** Stores a reading of a complete window, and judges what it lacks as the end of a run does. */
export async function storeAndJudge(db: Kysely<DB>, lease: Lease, toStore: WindowToStore) {
  const { absent, ...stored } = await storeWindow(db, lease, toStore);
  const { merchantNo, window: planned, runId, now, reading } = toStore;
  if (absent === 0 || !reading.certified) return { ...stored, doubt: null };
  const whole = { merchantNo, planned, currency: null, runId, now, namelessCount: countNameless(reading) };
  const [judged] = await judgeReading(db, lease, [whole]);
  return { ...stored, vanished: judged!.vanished, doubt: judged!.doubt };
}

export interface StoreUnderTest {
  database: Database;
  db: Kysely<DB>;
  lease: Lease;
  runId: number;
}

/**
 * Runs the tests on a PostgreSQL server and, where there is one, on the embedded database: there with the long tests, unless `isSmoke`. Each
 * test starts with empty tables, a lease and a run.
 */
export function onBothDatabases(
  claims: (store: () => StoreUnderTest) => void,
  { isSmoke = false }: { readonly isSmoke?: boolean } = {},
): void {
  claimsOn('PostgreSQL', freshDatabase, claims, []);
  if (hasEmbedded) claimsOn('embedded', freshEmbedded, claims, isSmoke ? [] : ['long']);
}

function claimsOn(
  name: string,
  open: () => Promise<Database>,
  claims: (store: () => StoreUnderTest) => void,
  tags: string[],
): void {
  describe(name, { tags }, () => {
    let store: StoreUnderTest;
    let database: Database;
    beforeAll(async () => {
      database = await open();
    });
    afterAll(() => database.close());
    beforeEach(async () => {
      const { db } = database;
      await emptyTables(db);
      const lease = await acquireLease(db, { name: 'merchant/M1', holder: 'test:1:-', ttlMs: 60_000 });
      const runId = await startRun(db, {
        command: 'sync',
        holder: 'test:1:-',
        fromDay: null,
        toDay: null,
        now: NOW,
      });
      store = { database, db, lease, runId };
    });
    claims(() => store);
  });
}

/** Where each entry's row is, and who wrote or locked it. If it is unchanged, nothing was written. */
export async function footprints(db: Kysely<DB>): Promise<unknown[]> {
  const tables = [
    'ledger_entry',
    'ledger_entry_version',
    'quarantined_entry',
    'certificate',
    'foreign_account_day',
    'absent_entry',
    'silent_account',
  ];
  const all: unknown[] = [];
  for (const table of tables) {
    const { rows } = await sql`
      SELECT ${table} AS table, ctid::text, xmin::text, xmax::text FROM ${sql.table(table)} ORDER BY ctid`.execute(
      db,
    );
    all.push(...rows);
  }
  return all;
}
