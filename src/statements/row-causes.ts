/** Finds out why a row of a statement came, went or changed from one revision to another. Pure. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { PastContent, EntryPast, HealedBreak } from '../store/entry-history.ts';
import type { Cells, RowDifference } from './differing-rows.ts';

/** What happened to the entry at the platform. */
export type Cause =
  /** It came after the earlier revision was published. */
  | { readonly kind: 'late'; readonly since: Date }
  /** It counted as vanished when the earlier revision was published, and is shown again. */
  | { readonly kind: 'returned' }
  /** The platform no longer shows it; `since` is null if it shows it again by now. */
  | { readonly kind: 'vanished'; readonly since: Date | null }
  /** The platform amended it. The later revision shows this version. */
  | { readonly kind: 'amended'; readonly version: number; readonly since: Date }
  /**
   * The platform amended its time or currency, so that it moved here from that account day, or away to that account
   * day.
   */
  | {
      readonly kind: 'moved-here' | 'moved-away';
      readonly currency: string;
      readonly day: BusinessDay;
      readonly version: number;
      readonly since: Date;
    }
  /** This database does not know enough to say. */
  | { readonly kind: 'unknown' };

/** A row with its cause. */
export interface CausedRow extends RowDifference {
  readonly cause: Cause;
  /** Ids of the breaks that healed because of this row. */
  readonly heals: readonly number[];
}

export interface Between {
  readonly account: Account;
  readonly day: BusinessDay;
  /** When the earlier revision was published. */
  readonly publishedAt: Date;
}

/** The cause of a row. `past` is that of its entry; undefined if this database knows nothing of the entry. */
export function causeOf(
  { before, after }: RowDifference,
  past: EntryPast | undefined,
  between: Between,
): Cause {
  if (past === undefined) return { kind: 'unknown' };
  if (before === null) return causeOfComing(after!, past, between);
  if (after === null) return causeOfGoing(before, past, between);
  const is = shownIn(after, past.contents);
  return is === undefined || is.version === 1
    ? { kind: 'unknown' }
    : { kind: 'amended', version: is.version, since: is.since };
}

function causeOfComing(after: Cells, { contents }: EntryPast, { account, day, publishedAt }: Between): Cause {
  const is = shownIn(after, contents);
  const was = contents[contents.indexOf(is!) - 1];
  if (is !== undefined && was !== undefined && is.since >= publishedAt && !isOf(was, account, day))
    return { ...placeOf(was), kind: 'moved-here', version: is.version, since: is.since };
  const firstSeenAt = contents[0]!.since;
  return firstSeenAt >= publishedAt ? { kind: 'late', since: firstSeenAt } : { kind: 'returned' };
}

function causeOfGoing(before: Cells, { contents, vanishedAt }: EntryPast, { account, day }: Between): Cause {
  const was = shownIn(before, contents);
  const later = was === undefined ? [] : contents.slice(contents.indexOf(was) + 1);
  const is = later.find((content) => !isOf(content, account, day));
  return is === undefined
    ? { kind: 'vanished', since: vanishedAt }
    : { ...placeOf(is), kind: 'moved-away', version: is.version, since: is.since };
}

const isOf = (content: PastContent, account: Account, day: BusinessDay): boolean =>
  content.currency === account.currency && content.day === day;
const placeOf = ({ currency, day }: PastContent) => ({ currency, day });

/** The newest content that equals the row. */
const shownIn = (row: Cells, contents: readonly PastContent[]): PastContent | undefined =>
  contents.findLast((content) =>
    Object.entries(cellsOf(content)).every(([column, cell]) => (row[column] ?? cell) === cell),
  );

const cellsOf = (content: PastContent): Cells => ({
  booked_at: content.bookedAt,
  currency: content.currency,
  transaction_type: content.transactionType,
  credit: content.credit ?? '',
  debit: content.debit ?? '',
  balance: content.balance,
});

/** Ids of the healed breaks right next to the entry, or in whose span it is booked. */
export const healedBy = (
  batchNo: string,
  past: EntryPast | undefined,
  healed: readonly HealedBreak[],
): number[] =>
  healed
    .filter(
      ({ beginMs, endMs, afterBatchNo, beforeBatchNo }) =>
        batchNo === afterBatchNo ||
        batchNo === beforeBatchNo ||
        past?.contents.some(({ bookedMs }) => bookedMs >= beginMs && bookedMs <= endMs) === true,
    )
    .map(({ id }) => id);

/** A clause for a person; `time` formats an instant. */
export function causeText({ cause, heals }: CausedRow, account: Account, time: (at: Date) => string): string {
  const healed = heals.length === 0 ? '' : `; heals break ${heals.join(', ')}`;
  return `${ownText(cause, account, time)}${healed}`;
}

function ownText(cause: Cause, account: Account, time: (at: Date) => string): string {
  switch (cause.kind) {
    case 'late':
      return `late entry, first seen ${time(cause.since)}`;
    case 'returned':
      return 'came back: the platform did not show it when the earlier revision was published';
    case 'vanished':
      return cause.since === null
        ? 'vanished on the platform, which holds it again by now'
        : `vanished on the platform, missing since ${time(cause.since)}`;
    case 'amended':
      return `amended by the platform: version ${cause.version}, seen ${time(cause.since)}`;
    case 'moved-here':
    case 'moved-away': {
      const way = cause.kind === 'moved-here' ? 'from' : 'to';
      return (
        `moved ${way} ${placeText(cause, account)} by an amendment: version ${cause.version}, ` +
        `seen ${time(cause.since)}`
      );
    }
    case 'unknown':
      return 'this database does not know the cause';
  }
}

/** A day, with its currency if that is not the account's. */
export const placeText = (
  { currency, day }: { readonly currency: string; readonly day: BusinessDay },
  account: Account,
): string => (currency === account.currency ? day : `${currency} ${day}`);
