/** One reading of one window into the database, whole or not at all: the only way entries get in. */
import { sql, type Kysely } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { storeCertificate } from './certificates.ts';
import type { Lease } from './lease.ts';
import { markVanished } from './mark-vanished.ts';
import { storeRejected } from './quarantine.ts';
import type { DB } from './schema.ts';
import { storeEntries } from './store-entries.ts';
import type { StoredWindow, WindowToStore } from './window-reading.ts';
import { writeTransaction } from './write-transaction.ts';

export { certifiedWindows, uncertifiedWindows, type UncertifiedWindow } from './certificates.ts';
export type { StoredWindow, WindowReading, WindowToStore } from './window-reading.ts';

/** Class of the advisory lock that puts a merchant's windows one after the other. */
const MERCHANT_LOCK_CLASS = 0x64_61_79;

/**
 * Stores entries, what they were before, what vanished, what was rejected and the certificate, in one transaction
 * under the lease. Storing the same reading again changes nothing. Throws `LeaseLost` or `StoreUnreachable`.
 */
export function storeWindow(db: Kysely<DB>, lease: Lease, toStore: WindowToStore): Promise<StoredWindow> {
  const { merchantNo, window, currency, reading, runId, now } = toStore;
  const entries = lastOfEach(reading.entries);
  return writeTransaction(db, lease, async (trx) => {
    await sql`SELECT pg_advisory_xact_lock(${MERCHANT_LOCK_CLASS}, hashtext(${merchantNo}))`.execute(trx);
    const stored = await storeEntries(trx, { merchantNo, entries, runId, now });
    const batchNos = entries.map((entry) => entry.batchNo);
    const vanished = reading.certified
      ? await markVanished(trx, { merchantNo, window, currency, batchNos, now })
      : 0;
    const quarantined = await storeRejected(trx, toStore);
    await storeCertificate(trx, toStore);
    return { ...stored, vanished, quarantined };
  });
}

/** An uncertified reading may hold an entry twice, as pages moved under it: the later page knows better. */
function lastOfEach(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const byBatchNo = new Map(entries.map((entry) => [entry.batchNo, entry]));
  return byBatchNo.size === entries.length ? entries : [...byBatchNo.values()];
}
