/** Stores one reading of one window, completely or not at all. Entries get into the database in no other way. */
import { sql } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { cutFailedSpans, storeCertificates, keptCertificates } from './certificates.ts';
import type { Lease } from './engine/lease.ts';
import {
  isAllStored,
  compareWithStored,
  type Compared,
  cutAtPlanned,
  sum,
  NOTHING_CHANGED,
  type StoredWindow,
  type WideToStore,
  type WindowReading,
  type WindowToStore,
} from './compare-with-stored.ts';
import {
  judgeAbsent,
  noteAbsent,
  type AbsenceJudged,
  type PlannedWindow,
  type CompleteReading,
} from './absent-entries.ts';
import { storeUnreadable } from './quarantine.ts';
import { type Db, type Trx, rowsOf } from './engine/database.ts';
import {
  storeEntries,
  ENTRIES_A_STATEMENT,
  freshEntries,
  heldWriters,
  sentRowsOfEach,
  type Writer,
} from './store-entries.ts';
import { recordChanges } from './events.ts';
import { sharedWrite, writeTransaction } from './engine/write-transaction.ts';

/**
 * What storing readings changed, and how many entries of each planned window are absent. They are only noted:
 * `judgeReading` judges them.
 */
interface PartsStored extends StoredWindow {
  readonly absent: readonly number[];
}

/**
 * Stores entries, what they were before, what is absent, what was unreadable and the certificate, in one transaction
 * under the lease. Storing the same reading again changes nothing. What it lacks is only noted: `judgeReading` judges it.
 * Throws `LeaseLost` or `StoreUnreachable`.
 */
export async function storeWindow(
  db: Db,
  lease: Lease,
  toStore: WindowToStore,
  /** Called before anything is written; what it throws leaves the window as it was. */
  check?: (compared: readonly Compared[]) => Promise<void>,
): Promise<StoredWindow & { readonly absent: number }> {
  const [unstored] = await compareWithStored(db, [toStore]);
  await check?.([{ part: toStore, unstored: unstored! }]);
  const { absent, ...figures } = await storeWide(db, lease, [{ part: toStore, unstored: unstored! }]);
  return { ...figures, absent: absent[0]! };
}

/** Cuts a wide reading into its planned windows, and says of each what is not stored yet, and what of the stored it lacks. */
export async function compareWideWithStored(db: Db, toStore: WideToStore): Promise<Compared[]> {
  const parts = cutAtPlanned(toStore);
  const compared = await compareWithStored(db, parts);
  return parts.map((part, at) => ({ part, unstored: compared[at]! }));
}

/**
 * Does what `storeWindow` does for planned windows of a wide reading, all in one transaction. Each has its own certificate.
 * Opens no transaction if all is stored as it is.
 */
export async function storeWide(db: Db, lease: Lease, checked: readonly Compared[]): Promise<PartsStored> {
  const open = checked.filter(({ unstored }) => !isAllStored(unstored));
  const known = sum(checked.map(({ part: { reading } }) => new Set(reading.entries.map(numberOf)).size));
  if (open.length === 0) return { ...NOTHING_CHANGED, unchanged: known, absent: checked.map(() => 0) };
  const entries = lastOfEach(open.flatMap(({ unstored }) => unstored.entries));
  const written = await write(db, lease, open, entries);
  const absentOf = new Map(open.map(({ part }, at) => [part, written.absent[at]!]));
  return {
    ...written,
    unchanged: written.unchanged + known - entries.length,
    absent: checked.map(({ part }) => absentOf.get(part) ?? 0),
  };
}

async function write(
  db: Db,
  lease: Lease,
  open: readonly Compared[],
  entries: readonly LedgerEntry[],
): Promise<PartsStored> {
  const inTransaction = () => writeTransaction(db, lease, (trx) => writeOpen(trx, open, entries));
  if (!isPlain(open, entries)) return inTransaction();
  const { inserted, isAll } = await storePlain(db, lease, open, entries);
  if (isAll) return { ...NOTHING_CHANGED, inserted, absent: open.map(() => 0) };
  const stored = await inTransaction();
  return { ...stored, inserted: inserted + stored.inserted, unchanged: stored.unchanged - inserted };
}

async function writeOpen(
  trx: Trx,
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
  const parts = uncertain.map(({ part }) => part);
  await storeCertificates(trx, parts);
  for (const { part, unstored } of open) if (unstored.isFailureOpen) await cutFailedSpans(trx, part);
  await recordChanges(trx, { merchantNo, runId, now }, { amended: stored.amended, vanished: 0 });
  return { ...stored, vanished: 0, quarantined, absent };
}

const withinOf = ({ merchantNo, planned, window, currency, runId, now }: WindowToStore): PlannedWindow => ({
  merchantNo,
  planned: planned ?? window,
  currency,
  runId,
  now,
});

const numberOf = ({ batchNo }: LedgerEntry): string => batchNo;

/**
 * Judges the absent entries of planned windows of one merchant that were read completely and certified, once all that the run reads
 * is stored. The answers are in the order of the windows. Throws like `storeWindow`.
 */
export function judgeReading(
  db: Db,
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

/**
 * Holds all that is stored in these windows, as another ledger was answered in place of it: it stays until it is shown again, or
 * a person accepts that it is gone. Throws like `storeWindow`.
 */
export function holdStored(db: Db, lease: Lease, windows: readonly PlannedWindow[]): Promise<void> {
  return writeTransaction(db, lease, async (trx) => {
    for (const one of windows)
      await noteAbsent(trx, { ...one, window: one.planned, certified: true, batchNos: [] });
    await judgeAbsent(
      trx,
      windows.map((one) => ({ ...one, namelessCount: 0 })),
    );
  });
}

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

const isPlain = (open: readonly Compared[], entries: readonly LedgerEntry[]): boolean =>
  entries.length <= ENTRIES_A_STATEMENT &&
  open.every(
    ({ unstored }) => !unstored.isAbsenceOpen && !unstored.isQuarantineOpen && !unstored.isFailureOpen,
  );

/**
 * Inserts the entries and stores the certificates, if none of the entries is stored yet: all of it or nothing, and nothing
 * without the lease. `inserted`: now, or by an attempt whose answer was lost. `isAll` is false if some entries are known:
 * nothing was written now, and the known ones may have to be amended. Throws `LeaseLost` or `StoreUnreachable`.
 */
export const storePlain = (
  db: Db,
  lease: Lease,
  open: readonly Compared[],
  entries: readonly LedgerEntry[],
): Promise<PlainStored> => writePlain(db, lease, { ...open[0]!.part, open, entries });

interface PlainStored {
  readonly inserted: number;
  readonly isAll: boolean;
}

interface PlainWrite extends Writer {
  readonly open: readonly Compared[];
  readonly entries: readonly LedgerEntry[];
}

const writePlain = sharedWrite<PlainWrite, PlainStored>(async (db, asks, held) => {
  const uncertain = asks.map(({ open }) =>
    open.flatMap(({ part, unstored }) => (unstored.isCertificateOpen ? [part] : [])),
  );
  const rows = await rowsOf(db)<{ nth: number; isNew: boolean; inserted: number }>`
    WITH held AS MATERIALIZED ${heldWriters(asks, held)},
    entry AS MATERIALIZED (SELECT * FROM ${sentRowsOfEach(asks.map((one) => one.entries))}),
    known AS MATERIALIZED (SELECT DISTINCT nth FROM entry JOIN held USING (nth) CROSS JOIN LATERAL (
      SELECT FROM ledger_entry e WHERE e.merchant_no = held.merchant_no AND e.batch_no = entry.batch_no OFFSET 0
    ) AS own),
    unknown AS MATERIALIZED (SELECT * FROM held WHERE nth NOT IN (SELECT nth FROM known)),
    ${freshEntries(sql`unknown AS held JOIN entry AS sent USING (nth)`)},
    ${keptCertificates(uncertain, sql`unknown`)}
    SELECT nth::int AS nth, nth IN (SELECT nth FROM unknown) AS "isNew", coalesce(own.inserted, 0) AS inserted
    FROM held LEFT JOIN (SELECT merchant_no, count(*) AS inserted FROM fresh GROUP BY merchant_no) AS own USING (merchant_no)`;
  const answers = asks.map((): PlainStored | null => null);
  for (const { nth, isNew, inserted } of rows) answers[nth - 1] = { inserted, isAll: isNew };
  return answers;
});
