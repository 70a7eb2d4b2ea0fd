/** Stores one reading of one window, completely or not at all. Entries get into the database in no other way. */
import type { LedgerEntry } from '../ledger/entry.ts';
import { changesDays, noteForeignDays, storeDays, type DayReading, type Writer } from './certificates.ts';
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
import type { Db, Trx } from './engine/database.ts';
import { storeEntries } from './store-entries.ts';
import { recordChanges } from './events.ts';
import { writeTransaction } from './engine/write-transaction.ts';

/**
 * What storing readings changed, and how many entries of each planned window are absent. They are only noted:
 * `judgeReading` judges them.
 */
interface PartsStored extends StoredWindow {
  readonly absent: readonly number[];
}

/**
 * Stores entries, what they were before, what is absent, what was unreadable and the certificates of days, in one transaction
 * under the lease. Storing the same reading again changes nothing. What it lacks is only noted: `judgeReading` judges it.
 * Throws `LeaseLost` or `StoreUnreachable`.
 */
export async function storeWindow(
  db: Db,
  lease: Lease,
  toStore: WindowToStore,
  days: readonly DayReading[],
  /** Called before anything is written; what it throws leaves the window as it was. */
  check?: (compared: readonly Compared[]) => Promise<void>,
): Promise<StoredWindow & { readonly absent: number }> {
  const [unstored] = await compareWithStored(db, [toStore]);
  await check?.([{ part: toStore, unstored: unstored! }]);
  const { absent, ...figures } = await storeWide(db, lease, [{ part: toStore, unstored: unstored! }], days);
  return { ...figures, absent: absent[0]! };
}

/** Cuts a wide reading into its planned windows, and says of each what is not stored yet, and what of the stored it lacks. */
export async function compareWideWithStored(db: Db, toStore: WideToStore): Promise<Compared[]> {
  const parts = cutAtPlanned(toStore);
  const compared = await compareWithStored(db, parts);
  return parts.map((part, at) => ({ part, unstored: compared[at]! }));
}

/**
 * Does what `storeWindow` does for planned windows of a wide reading, all in one transaction; `days` are what they say of their
 * days. Opens no transaction if all is stored as it is.
 */
export async function storeWide(
  db: Db,
  lease: Lease,
  checked: readonly Compared[],
  days: readonly DayReading[],
): Promise<PartsStored> {
  const open = checked.filter(({ unstored }) => !isAllStored(unstored));
  const known = sum(checked.map(({ part: { reading } }) => new Set(reading.entries.map(numberOf)).size));
  const [first] = checked;
  if (first === undefined || (open.length === 0 && !(await changesDays(db, first.part.merchantNo, days))))
    return { ...NOTHING_CHANGED, unchanged: known, absent: checked.map(() => 0) };
  const entries = lastOfEach(open.flatMap(({ unstored }) => unstored.entries));
  const written = await writeTransaction(db, lease, (trx) => write(trx, first.part, { open, entries, days }));
  const absentOf = new Map(open.map(({ part }, at) => [part, written.absent[at]!]));
  return {
    ...written,
    unchanged: written.unchanged + known - entries.length,
    absent: checked.map(({ part }) => absentOf.get(part) ?? 0),
  };
}

interface ToWrite {
  readonly open: readonly Compared[];
  readonly entries: readonly LedgerEntry[];
  readonly days: readonly DayReading[];
}

async function write(
  trx: Trx,
  { merchantNo, runId, now }: Writer,
  { open, entries, days }: ToWrite,
): Promise<PartsStored> {
  const writer = { merchantNo, runId, now };
  const stored = await storeEntries(trx, { ...writer, entries });
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
  await storeDays(trx, writer, days);
  await recordChanges(trx, writer, { amended: stored.amended, vanished: 0 });
  return { ...stored, vanished: 0, quarantined, absent };
}

const withinOf = ({ merchantNo, planned, window, runId, now }: WindowToStore): PlannedWindow => ({
  merchantNo,
  planned: planned ?? window,
  currency: null,
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
 * a person accepts that it is gone. `foreign` are days of an account that are not proven until then. Throws like `storeWindow`.
 */
export function holdStored(
  db: Db,
  lease: Lease,
  windows: readonly PlannedWindow[],
  foreign?: ForeignDays,
): Promise<void> {
  return writeTransaction(db, lease, async (trx) => {
    for (const one of windows)
      await noteAbsent(trx, { ...one, window: one.planned, certified: true, batchNos: [] });
    await judgeAbsent(
      trx,
      windows.map((one) => ({ ...one, namelessCount: 0 })),
    );
    if (foreign !== undefined && windows.length > 0)
      await noteForeignDays(trx, windows[0]!, foreign.currency, foreign.days);
  });
}

interface ForeignDays {
  readonly currency: string;
  readonly days: Parameters<typeof noteForeignDays>[3];
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
