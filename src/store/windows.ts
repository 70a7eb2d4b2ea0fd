/** Stores one reading of one window, completely or not at all. Entries get into the database in no other way. */
import type { Kysely, Transaction } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { cutFailedSpans, storeCertificates } from './certificates.ts';
import type { Lease } from './engine/lease.ts';
import { isAllStored, compareWithStored, type Compared } from './compare-with-stored.ts';
import {
  judgeAbsent,
  noteAbsent,
  type AbsenceJudged,
  type PlannedWindow,
  type CompleteReading,
} from './mark-vanished.ts';
import { storeUnreadable } from './quarantine.ts';
import type { DB } from './engine/schema.ts';
import { storeEntries } from './store-entries.ts';
import { isPlain, storePlain } from './store-plain.ts';
import { recordChanges } from './events.ts';
import {
  cutAtPlanned,
  NOTHING_CHANGED,
  type StoredWindow,
  type WideToStore,
  type WindowReading,
  type WindowToStore,
} from './window-reading.ts';
import { writeTransaction } from './engine/write-transaction.ts';

export { uncertifiedOfEach, type UncertifiedWindow } from './certificates.ts';
export { certifiedOfEach, certifiedWindows, certifiedWindowsOf } from './certified-windows.ts';
export type { StoredWindow, WindowReading, WindowToStore } from './window-reading.ts';

export interface WindowStored extends StoredWindow {
  /** How many entries of the planned window are absent. They are only noted: `judgeReading` judges them. */
  readonly absent: number;
}

/** What storing a wide reading changed, and how many entries of each planned window are absent. */
export interface WideStored extends StoredWindow {
  readonly absent: readonly number[];
}

/**
 * Stores entries, what they were before, what is absent, what was unreadable and the certificate, in one transaction
 * under the lease. Storing the same reading again changes nothing. What it lacks is only noted: `judgeReading` judges it.
 * Throws `LeaseLost` or `StoreUnreachable`.
 */
export async function storeWindow(
  db: Kysely<DB>,
  lease: Lease,
  toStore: WindowToStore,
): Promise<WindowStored> {
  const [unstored] = await compareWithStored(db, [toStore]);
  const { figures, absent } = await storeParts(db, lease, [{ part: toStore, unstored: unstored! }]);
  return { ...figures, absent: absent[0]! };
}

/** Cuts a wide reading into its planned windows, and says of each what is not stored yet, and what of the stored it lacks. */
export async function compareWideWithStored(db: Kysely<DB>, toStore: WideToStore): Promise<Compared[]> {
  const parts = cutAtPlanned(toStore);
  const compared = await compareWithStored(db, parts);
  return parts.map((part, at) => ({ part, unstored: compared[at]! }));
}

/** Does what `storeWindow` does for planned windows of a wide reading, all in one transaction. Each has its own certificate. */
export async function storeWide(
  db: Kysely<DB>,
  lease: Lease,
  checked: readonly Compared[],
): Promise<WideStored> {
  const { figures, absent } = await storeParts(db, lease, checked);
  return { ...figures, absent };
}

interface PartsStored {
  readonly figures: StoredWindow;
  readonly absent: readonly number[];
}

/** Stores readings of one merchant. Opens no transaction if all is stored as it is. */
async function storeParts(db: Kysely<DB>, lease: Lease, checked: readonly Compared[]): Promise<PartsStored> {
  const open = checked.filter(({ unstored }) => !isAllStored(unstored));
  const known = sum(checked.map(({ part: { reading } }) => new Set(reading.entries.map(numberOf)).size));
  if (open.length === 0) {
    return { figures: { ...NOTHING_CHANGED, unchanged: known }, absent: checked.map(() => 0) };
  }
  const entries = lastOfEach(open.flatMap(({ unstored }) => unstored.entries));
  const written = await write(db, lease, open, entries);
  const absentOf = new Map(open.map(({ part }, at) => [part, written.absent[at]!]));
  const unchanged = written.figures.unchanged + known - entries.length;
  return {
    figures: { ...written.figures, unchanged },
    absent: checked.map(({ part }) => absentOf.get(part) ?? 0),
  };
}

/** Writes what is open: in one statement if that can do it, else in a transaction. */
async function write(
  db: Kysely<DB>,
  lease: Lease,
  open: readonly Compared[],
  entries: readonly LedgerEntry[],
): Promise<PartsStored> {
  const inTransaction = () => writeTransaction(db, lease, (trx) => writeOpen(trx, open, entries));
  if (!isPlain(open, entries)) return inTransaction();
  const { inserted, isAll } = await storePlain(db, lease, open, entries);
  if (isAll) return { figures: { ...NOTHING_CHANGED, inserted }, absent: open.map(() => 0) };
  const { figures, absent } = await inTransaction();
  return {
    figures: { ...figures, inserted: inserted + figures.inserted, unchanged: figures.unchanged - inserted },
    absent,
  };
}

async function writeOpen(
  trx: Transaction<DB>,
  open: readonly Compared[],
  entries: readonly LedgerEntry[],
): Promise<PartsStored> {
  const { merchantNo, runId, now } = open[0]!.part;
  const stored = await storeEntries(trx, { merchantNo, entries, runId, now });
  const came = open.flatMap(({ part: { reading } }) => [...reading.entries, ...reading.unreadable]);
  const batchNos = came.flatMap(({ batchNo }) => batchNo ?? []);
  const absent: number[] = [];
  let quarantined = 0;
  for (const { part, unstored } of open) {
    const { window, reading } = part;
    const noted = { ...withinOf(part), window, certified: reading.certified, batchNos };
    absent.push(unstored.isAbsenceOpen ? await noteAbsent(trx, noted) : 0);
    if (unstored.isQuarantineOpen) quarantined += await storeUnreadable(trx, part);
  }
  const uncertain = open.filter(({ unstored }) => unstored.isCertificateOpen || unstored.isFailureOpen);
  await storeCertificates(
    trx,
    uncertain.map(({ part }) => part),
  );
  for (const { part, unstored } of open) if (unstored.isFailureOpen) await cutFailedSpans(trx, part);
  await recordChanges(trx, { merchantNo, runId, now }, { amended: stored.amended, vanished: 0 });
  return { figures: { ...stored, vanished: 0, quarantined }, absent };
}

const withinOf = ({ merchantNo, planned, window, currency, runId, now }: WindowToStore): PlannedWindow => ({
  merchantNo,
  planned: planned ?? window,
  currency,
  runId,
  now,
});

const numberOf = ({ batchNo }: LedgerEntry): string => batchNo;

const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0);

/**
 * Judges the absent entries of planned windows of one merchant that were read completely and certified, once all that the run reads
 * is stored. The answers are in the order of the windows. Throws like `storeWindow`.
 */
export function judgeReading(
  db: Kysely<DB>,
  lease: Lease,
  windows: readonly CompleteReading[],
): Promise<AbsenceJudged[]> {
  return writeTransaction(db, lease, async (trx) => {
    const judged = await judgeAbsent(trx, windows);
    const vanished = sum(judged.map((one) => one.vanished));
    const { merchantNo, runId, now } = windows[0]!;
    await recordChanges(trx, { merchantNo, runId, now }, { amended: 0, vanished });
    return judged;
  });
}

/** Number of unreadable entries without batchNo. Identical ones are counted each. */
export const countNameless = ({ unreadable }: WindowReading): number =>
  unreadable.filter(({ batchNo }) => batchNo === null).length;

/**
 * Keeps the last one of entries with equal numbers. An uncertified reading may hold an entry twice, if the platform's
 * pages moved while they were read; the later page is right.
 */
function lastOfEach(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const byBatchNo = new Map(entries.map((entry) => [entry.batchNo, entry]));
  return byBatchNo.size === entries.length ? entries : [...byBatchNo.values()];
}
