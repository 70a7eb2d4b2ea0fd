/**
 * Finds stored entries that came again at another time, all moved by the same offset: the platform changed its time zone, and
 * filters by the new times, so that no question about an instant shows it. What is stored is the memory. Pure.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import { counted, shellWord } from '../ledger/text.ts';

/** Offsets of time zones are multiples of this. */
const OFFSET_STEP_MS = 15 * 60_000;
/** One entry alone may have been corrected. */
const MOVED_MIN = 2;

interface Moved {
  readonly count: number;
  readonly offsetMs: number;
  /** The oldest of them, as it is stored and as it came. */
  readonly before: LedgerEntry;
  readonly after: LedgerEntry;
}

/**
 * Null if the times of these entries mean what they meant. From the first moved entry on, every known entry has to be moved by
 * the same offset, with all else as before: entries that are corrected one by one leave others between them as they were.
 */
export function movedAlike(
  came: readonly LedgerEntry[],
  stored: ReadonlyMap<string, LedgerEntry>,
): Moved | null {
  const known = came
    .flatMap((after) => {
      const before = stored.get(after.batchNo);
      return before === undefined ? [] : [{ before, after, offsetMs: after.bookedMs - before.bookedMs }];
    })
    .sort((one, two) => one.before.bookedMs - two.before.bookedMs);
  const first = known.findIndex(({ offsetMs }) => offsetMs !== 0);
  if (first < 0) return null;
  const moved = known.slice(first);
  const { offsetMs, before, after } = moved[0]!;
  const isAlike = moved.every((one) => one.offsetMs === offsetMs && isElseTheSame(one.before, one.after));
  return moved.length >= MOVED_MIN && offsetMs % OFFSET_STEP_MS === 0 && isAlike
    ? { count: moved.length, offsetMs, before, after }
    : null;
}

const isElseTheSame = (before: LedgerEntry, after: LedgerEntry): boolean =>
  before.currency === after.currency &&
  before.transactionType === after.transactionType &&
  isEqual(before.credit, after.credit) &&
  isEqual(before.debit, after.debit) &&
  isEqual(before.balance, after.balance);

const isEqual = (one: string | null, other: string | null): boolean =>
  one === null || other === null ? one === other : compareAmounts(one, other) === 0;

/** The entries of a merchant came moved by an offset of time zones; nothing of that reading was written. */
export class TimestampsMoved extends ExpectedError {
  override readonly name = 'TimestampsMoved';
  readonly exitCode = EXIT.incomplete;

  constructor(merchantNo: string, { count, offsetMs, before, after }: Moved) {
    const minutes = Math.abs(offsetMs) / 60_000;
    const size = minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
    super(
      `the platform changed the time zone of this merchant's timestamps: ${counted(count, 'stored entry', 'stored entries')} ` +
        `came ${size} ${offsetMs > 0 ? 'later' : 'earlier'} with all else as before, such as ${before.batchNo}, booked ` +
        `${before.bookedAt}, now ${after.bookedAt}. Nothing of that reading was written, and no statement follows it. Ask the platform ` +
        'why the timestamps changed. If the new ones are right, ' +
        `\`PLATFORM_TIME_ZONE_PROOF=trusted daybook run --merchant ${shellWord(merchantNo)}\` takes them over.`,
    );
  }
}
