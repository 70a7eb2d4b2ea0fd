/** Readings that are checked against what the platform showed before: of several planned windows, and of one read again. */
import { compareWideWithStored, storeWide, storeWindow } from '../store/windows.ts';
import type { Asked } from './certificate.ts';
import type { NotedReading } from './certify.ts';
import type { ContradictedReadings } from './contradicted.ts';
import type { Outcome, ReadingStoreOptions } from './store-readings.ts';
import { wideOf, type WideWindow } from './wide-windows.ts';

/** Stores readings of several planned windows, and says of others whether they are to be stored now. */
export function createCheckedStore(
  { db, lease, merchantNo, runId, now }: ReadingStoreOptions,
  contradicted: ContradictedReadings,
  { tally, absences, uncertified }: Outcome,
) {
  const again: WideWindow[] = [];

  const storeSeveral = async (own: readonly Asked[], read: NotedReading): Promise<void> => {
    const windows = own.map(({ window }) => window);
    const wide = wideOf(windows, own[0]!.currency);
    const { currency } = wide;
    const toStore = { merchantNo, currency, runId, now: now(), planned: windows, reading: read.reading };
    const checked = await compareWideWithStored(db, toStore);
    const odd = contradicted.oddIn(wide, checked);
    if (odd.length > 0) {
      again.push(...contradicted.reject(wide, checked, odd));
      return;
    }
    contradicted.accept(wide, read);
    const sure = checked.filter(
      (one) => !contradicted.mustWait({ ...wide, window: one.part.window }, one, { read, isAlone: false }),
    );
    const did = await storeWide(db, lease, sure);
    tally.count(read, sure.length, did);
    sure.forEach(({ part: { window, reading } }, at) => {
      absences.note({ window, currency }, reading, did.absent[at]!);
    });
  };

  /**
   * Stores a reading that is not believed as one that was not certified: what came is kept, and the window is on record as
   * unproven, whatever proved it before.
   */
  const storeDoubted = async ({ window, currency }: Asked, read: NotedReading, problem: string) => {
    const reading = { ...read.reading, certified: false, problem };
    const did = await storeWindow(db, lease, { merchantNo, window, currency, runId, now: now(), reading });
    tally.count(read, 1, did);
    uncertified.push({ window, problem });
  };

  /** Whether a reading of a window that the platform contradicted itself about is to be stored now, as it is. */
  const isBelieved = async (part: Asked, read: NotedReading): Promise<boolean> => {
    const problem = contradicted.problemOf(part, read);
    contradicted.accept(part, read);
    if (problem !== null) {
      await storeDoubted(part, read, problem);
      return false;
    }
    const { reading } = read;
    if (reading.entries.length > 0) return true;
    const { window, currency } = part;
    const toStore = { merchantNo, currency, runId, now: now(), planned: [window], reading };
    const [checked] = await compareWideWithStored(db, toStore);
    return !contradicted.mustWait(part, checked!, { read, isAlone: true });
  };

  return { storeSeveral, isBelieved, storeDoubted, takeAgain: () => again.splice(0) };
}
