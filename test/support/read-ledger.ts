/** A ledger in a real database that was read without a platform: a test says what each day holds. */
import { sql, type Kysely } from 'kysely';
import { dayWindow } from '../../src/ledger/business-day.ts';
import type { LedgerEntry, UnreadableEntry, Window } from '../../src/ledger/entry.ts';
import { createCurrencies } from '../../src/ledger/money.ts';
import { reconcileAccounts, type ReconcileOptions, type Reconciled } from '../../src/reconcile/reconcile.ts';
import { countNameless, judgeReading } from '../../src/store/windows.ts';
import { storeWindow } from './store-window.ts';
import type { WindowToStore } from '../../src/store/compare-with-stored.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { startRun } from '../../src/store/runs.ts';
import { certified } from '../store/support.ts';
import { acceptAllHeld } from './held.ts';

export const MERCHANT = 'M-TEST';
export const ZONE = 'UTC';
/** What is read at once when the ledger is reconciled: some of the days that tests use, but not all of them. */

interface Reading {
  readonly merchantNo?: string;
  readonly unreadable?: readonly UnreadableEntry[];
}

export interface ReadLedger {
  /** What is written under. A test may replace it by the lease of a later run. */
  lease: Lease;
  readonly runId: number;
  now: Date;
  /** Stores what the platform holds of complete days, each with a certificate; unreadable entries on the first of them. */
  readonly synced: (
    entries: readonly LedgerEntry[],
    days: readonly string[],
    reading?: Reading,
  ) => Promise<void>;
  /** Stores what the platform holds of a window, with a certificate. */
  readonly certified: (window: Window, held: readonly LedgerEntry[], reading?: Reading) => Promise<void>;
  /** Reconciles every account of `MERCHANT`, unless stated otherwise. */
  readonly reconciled: (change?: Partial<ReconcileOptions>) => Promise<Reconciled>;
}

/** Takes the lease and begins a run. */
export async function openReadLedger(db: Kysely<DB>): Promise<ReadLedger> {
  const now = new Date('2026-04-01T00:00:00Z');
  const holder = 'test:1:-';
  const ledger: ReadLedger = {
    lease: await acquireLease(db, { name: 'ledger', holder, ttlMs: 600_000 }),
    runId: await startRun(db, { command: 'run', holder, fromDay: null, toDay: null, now }),
    now,
    synced: async (entries, days, { unreadable = [], ...reading } = {}) => {
      for (const [nth, day] of days.entries()) {
        const window = dayWindow(day, ZONE);
        const held = entries.filter(({ bookedMs }) => bookedMs >= window.beginMs && bookedMs <= window.endMs);
        await ledger.certified(window, held, { ...reading, unreadable: nth === 0 ? unreadable : [] });
      }
    },
    certified: (window, held, { merchantNo = MERCHANT, unreadable = [] } = {}) => {
      const { runId, now } = ledger;
      return storeBelieved(db, ledger.lease, {
        merchantNo,
        window,
        reading: certified(held, unreadable),
        runId,
        now,
      });
    },
    reconciled: (change = {}) =>
      reconcileAccounts({
        db,
        lease: ledger.lease,
        zone: ZONE,
        clockToleranceS: 2,
        currencies: createCurrencies({}),
        accounts: { merchantNo: MERCHANT, currencies: null },
        runId: ledger.runId,
        now: () => ledger.now,
        signal: new AbortController().signal,
        ...change,
      }),
  };
  return ledger;
}

/** Stores a reading. What it lacks is accepted and judged as by a later run, so that it is believed. */
async function storeBelieved(db: Kysely<DB>, lease: Lease, toStore: WindowToStore): Promise<void> {
  const { absent } = await storeWindow(db, lease, toStore);
  if (absent === 0) return;
  await sql`UPDATE absent_entry SET absent_since = absent_since - interval '1 day'`.execute(db);
  const { merchantNo, window: planned, reading, now } = toStore;
  const run = { command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now };
  const runId = await startRun(db, run);
  const whole = { merchantNo, planned, currency: null, runId, now, namelessCount: countNameless(reading) };
  await judgeReading(db, lease, [whole]);
  await acceptAllHeld(db, now);
  await judgeReading(db, lease, [whole]);
}
