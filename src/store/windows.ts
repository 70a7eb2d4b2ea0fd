/** Stores one reading of one window, whole or not at all. Entries get into the database in no other way. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { storeCertificate } from './certificates.ts';
import type { Lease } from './engine/lease.ts';
import { judgeAbsent, noteAbsent, type AbsenceJudged, type WholeReading } from './mark-vanished.ts';
import { storeUnreadable } from './quarantine.ts';
import type { DB } from './engine/schema.ts';
import { storeEntries } from './store-entries.ts';
import { noteUntold } from './untold-changes.ts';
import type { StoredWindow, WindowReading, WindowToStore } from './window-reading.ts';
import { writeTransaction } from './engine/write-transaction.ts';

export { uncertifiedWindows, type UncertifiedWindow } from './certificates.ts';
export { certifiedOfEach, certifiedWindows, certifiedWindowsOf } from './certified-windows.ts';
export type { StoredWindow, WindowReading, WindowToStore } from './window-reading.ts';

/** Class of the advisory lock under which a merchant's windows are stored one after the other. */
const MERCHANT_LOCK_CLASS = 0x64_61_79;

export interface WindowStored extends StoredWindow {
  /** A sentence that says why the planned window is not proven yet; null if it is. */
  readonly doubt: string | null;
  /** The reading is a part of a planned window, and entries are absent. `settlePlanned` still has to judge them. */
  readonly isToBeJudged: boolean;
}

/**
 * Stores entries, what they were before, what vanished, what was unreadable and the certificate, in one transaction
 * under the lease. Storing the same reading again changes nothing. Of a part of a planned window, what it lacks is only
 * noted: `judgePlanned` judges it. Throws `LeaseLost` or `StoreUnreachable`.
 */
export function storeWindow(db: Kysely<DB>, lease: Lease, toStore: WindowToStore): Promise<WindowStored> {
  const { merchantNo, window, currency, reading, runId, now } = toStore;
  const planned = toStore.planned ?? window;
  const isWhole = planned.beginMs === window.beginMs && planned.endMs === window.endMs;
  const entries = lastOfEach(reading.entries);
  return writeTransaction(db, lease, async (trx) => {
    await lockMerchant(trx, merchantNo);
    const stored = await storeEntries(trx, { merchantNo, entries, runId, now });
    const batchNos = [...entries, ...reading.unreadable].flatMap(({ batchNo }) => batchNo ?? []);
    const namelessCount = countNameless(reading);
    const within = { merchantNo, planned, currency, runId, now };
    const absent = await noteAbsent(trx, { ...within, window, certified: reading.certified, batchNos });
    const quarantined = await storeUnreadable(trx, toStore);
    await storeCertificate(trx, toStore);
    const isJudged = absent > 0 && isWhole && reading.certified;
    const judged = isJudged
      ? await judgeAbsent(trx, { ...within, namelessCount })
      : { vanished: 0, doubt: null };
    await noteUntold(trx, toStore, { amended: stored.amended, vanished: judged.vanished });
    return { ...stored, ...judged, quarantined, isToBeJudged: absent > 0 && !isWhole };
  });
}

/** Judges the absent entries of a planned window once all of its parts are stored. Throws like `storeWindow`. */
export function judgePlanned(db: Kysely<DB>, lease: Lease, whole: WholeReading): Promise<AbsenceJudged> {
  return writeTransaction(db, lease, async (trx) => {
    await lockMerchant(trx, whole.merchantNo);
    const judged = await judgeAbsent(trx, whole);
    await noteUntold(trx, whole, { amended: 0, vanished: judged.vanished });
    return judged;
  });
}

/** Number of unreadable entries without batchNo. Identical ones are counted each. */
export const countNameless = ({ unreadable }: WindowReading): number =>
  unreadable.filter(({ batchNo }) => batchNo === null).length;

const lockMerchant = (trx: Transaction<DB>, merchantNo: string) =>
  sql`SELECT pg_advisory_xact_lock(${MERCHANT_LOCK_CLASS}, hashtext(${merchantNo}))`.execute(trx);

/**
 * Keeps the last one of entries with equal numbers. An uncertified reading may hold an entry twice, if the platform's
 * pages moved while they were read; the later page is right.
 */
function lastOfEach(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const byBatchNo = new Map(entries.map((entry) => [entry.batchNo, entry]));
  return byBatchNo.size === entries.length ? entries : [...byBatchNo.values()];
}
