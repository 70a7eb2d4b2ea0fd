/** Stores one reading of one window, whole or not at all. Entries get into the database in no other way. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { storeCertificate } from './certificates.ts';
import type { Lease } from './engine/lease.ts';
import { judgeAbsent, noteAbsent, type AbsenceJudged, type WholeReading } from './mark-vanished.ts';
import { storeRejected } from './quarantine.ts';
import type { DB } from './engine/schema.ts';
import { storeEntries } from './store-entries.ts';
import { noteUntold } from './untold-changes.ts';
import type { StoredWindow, WindowReading, WindowToStore } from './window-reading.ts';
import { writeTransaction } from './engine/write-transaction.ts';

export { certifiedWindows, uncertifiedWindows, type UncertifiedWindow } from './certificates.ts';
export type { StoredWindow, WindowReading, WindowToStore } from './window-reading.ts';

/** Class of the advisory lock under which a merchant's windows are stored one after the other. */
const MERCHANT_LOCK_CLASS = 0x64_61_79;

export interface WindowStored extends StoredWindow {
  /** A sentence that says why the planned window is not proven yet; null if it is. */
  readonly doubt: string | null;
  /** The reading is a part of a planned window, and entries are absent. `settlePlanned` still has to judge them. */
  readonly isUnsettled: boolean;
}

/**
 * Stores the reading in one transaction under the lease: entries, their old contents, vanished and rejected entries,
 * and the certificate. Storing the same reading again changes nothing. If the reading is only a part of a planned
 * window, entries that it lacks are noted as absent; `settlePlanned` judges them later. Throws `LeaseLost` or
 * `StoreUnreachable`.
 */
export function storeWindow(db: Kysely<DB>, lease: Lease, toStore: WindowToStore): Promise<WindowStored> {
  const { merchantNo, window, currency, reading, runId, now } = toStore;
  const planned = toStore.planned ?? window;
  const isWhole = planned.beginMs === window.beginMs && planned.endMs === window.endMs;
  const entries = lastOfEach(reading.entries);
  return writeTransaction(db, lease, async (trx) => {
    await lockMerchant(trx, merchantNo);
    const stored = await storeEntries(trx, { merchantNo, entries, runId, now });
    const batchNos = [...entries, ...reading.rejected].flatMap(({ batchNo }) => batchNo ?? []);
    const namelessWrecks = countNameless(reading);
    const within = { merchantNo, planned, currency, runId, now };
    const absent = await noteAbsent(trx, { ...within, window, certified: reading.certified, batchNos });
    const quarantined = await storeRejected(trx, toStore);
    await storeCertificate(trx, toStore);
    const isJudged = absent > 0 && isWhole && reading.certified;
    const judged = isJudged
      ? await judgeAbsent(trx, { ...within, namelessWrecks })
      : { vanished: 0, doubt: null };
    await noteUntold(trx, toStore, { amended: stored.amended, vanished: judged.vanished });
    return { ...stored, ...judged, quarantined, isUnsettled: absent > 0 && !isWhole };
  });
}

/** Judges the absent entries of a planned window once all of its parts are stored. Throws like `storeWindow`. */
export function settlePlanned(db: Kysely<DB>, lease: Lease, whole: WholeReading): Promise<AbsenceJudged> {
  return writeTransaction(db, lease, async (trx) => {
    await lockMerchant(trx, whole.merchantNo);
    const judged = await judgeAbsent(trx, whole);
    await noteUntold(trx, whole, { amended: 0, vanished: judged.vanished });
    return judged;
  });
}

/** Number of unreadable entries without batchNo. Identical ones are counted each. */
export const countNameless = ({ rejected }: WindowReading): number =>
  rejected.filter(({ batchNo }) => batchNo === null).length;

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
