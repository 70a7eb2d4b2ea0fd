/** A ledger in a real database that tests sync, reconcile and publish without a platform. */
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { publishDays, type PublishOptions, type PublishReport } from '../../src/statements/publish.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { openReadLedger, ZONE, type ReadLedger } from '../support/read-ledger.ts';

export { MERCHANT, ZONE } from '../support/read-ledger.ts';

export interface Book extends ReadLedger {
  readonly database: Database;
  /** Publishes what is due. The book's time moves forward by an hour first. */
  readonly published: (objects: ObjectStore, change?: Partial<PublishOptions>) => Promise<PublishReport>;
}

export async function openBook(database: Database): Promise<Book> {
  const { db } = database;
  const signal = new AbortController().signal;
  const book: Book = Object.assign(await openReadLedger(db), {
    database,
    published: (objects: ObjectStore, change: Partial<PublishOptions> = {}) => {
      book.now = new Date(book.now.getTime() + 3_600_000);
      return publishDays({
        db,
        lease: book.lease,
        objects,
        accounts: EVERY_ACCOUNT,
        zone: ZONE,
        clockToleranceS: 2,
        runId: book.runId,
        now: () => book.now,
        signal,
        ...change,
      });
    },
  });
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
