/** A ledger in a real database that tests sync, reconcile and publish without a platform. */
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import { dayWindow } from '../../src/ledger/business-day.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { createCurrencies } from '../../src/ledger/money.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { reconcileAccounts } from '../../src/reconcile/reconcile.ts';
import { publishDays, type PublishOptions, type PublishReport } from '../../src/statements/publish.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import { storeBelieved } from '../support/store-believed.ts';

export const MERCHANT = 'M-TEST';
export const ZONE = 'UTC';

export interface Book {
  readonly database: Database;
  /** The lease the book works under. A test may replace it by that of a later run. */
  lease: Lease;
  /** Stores what the platform holds of whole days, each with a certificate. */
  readonly synced: (entries: readonly LedgerEntry[], days: readonly string[]) => Promise<void>;
  readonly reconciled: () => Promise<void>;
  readonly published: (objects: ObjectStore, change?: Partial<PublishOptions>) => Promise<PublishReport>;
  /** The book's current time. Each publishing moves it forward by an hour. */
  now: Date;
}

export async function openBook(database: Database): Promise<Book> {
  const { db } = database;
  const started = new Date('2026-04-01T00:00:00Z');
  const lease = await acquireLease(db, {
    name: 'ledger',
    holder: 'test:1:-',
    ttlMs: 600_000,
  });
  const runId = await startRun(db, {
    command: 'run',
    holder: 'test',
    fromDay: null,
    toDay: null,
    now: started,
  });
  const signal = new AbortController().signal;
  const book: Book = {
    database,
    lease,
    now: started,
    synced: async (entries, days) => {
      for (const day of days) {
        const window = dayWindow(day, ZONE);
        const held = entries.filter(({ bookedMs }) => bookedMs >= window.beginMs && bookedMs <= window.endMs);
        await storeBelieved(db, book.lease, {
          merchantNo: MERCHANT,
          window,
          reading: {
            entries: held,
            rejected: [],
            total: held.length,
            requests: 1,
            certified: true,
            problem: null,
          },
          runId,
          now: book.now,
        });
      }
    },
    reconciled: async () => {
      await reconcileAccounts({
        db,
        lease: book.lease,
        zone: ZONE,
        clockToleranceS: 2,
        currencies: createCurrencies({}),
        accounts: EVERY_ACCOUNT,
        runId,
        now: () => book.now,
        signal,
      });
    },
    published: async (objects, change = {}) => {
      book.now = new Date(book.now.getTime() + 3_600_000);
      return publishDays({
        db,
        lease: book.lease,
        objects,
        accounts: EVERY_ACCOUNT,
        zone: ZONE,
        clockToleranceS: 2,
        runId,
        now: () => book.now,
        signal,
        ...change,
      });
    },
  };
  return book;
}

/** An object store that records every key written, and fails where it is asked to. */
export function watched(
  store: ObjectStore,
  failAt: (key: string) => Error | null = () => null,
): ObjectStore & { readonly puts: string[] } {
  const puts: string[] = [];
  return {
    ...store,
    puts,
    put: async (key, content, options) => {
      const failure = failAt(key);
      if (failure !== null) throw failure;
      const digest = await store.put(key, content, options);
      puts.push(key);
      return digest;
    },
  };
}
