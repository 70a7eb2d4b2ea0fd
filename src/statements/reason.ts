/**
 * Finds out why rows came, went or changed from one revision to the next, and puts it into words for finance:
 * `2 late entries (59101, 59102), opening moved by 10.00`. Rows are from the files, causes from the database.
 */
import type { Kysely } from 'kysely';
import { entriesIn } from '../ledger/chain/figures.ts';
import type { Account, BusinessDay, Figures, StatedFigures } from '../ledger/entry.ts';
import { compareAmounts, subtractAmounts } from '../ledger/money.ts';
import { counted } from '../ledger/text.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { figuresOf, type FigureColumns } from '../store/account-days.ts';
import type { DB } from '../store/engine/schema.ts';
import {
  ENTRIES_ASKED_MAX,
  healedBreaks,
  pastOfEntries,
  type EntryPast,
  type HealedBreak,
  type PastContent,
} from '../store/entry-history.ts';
import { isUnreadable, rowsBetween, type Revision } from './fetch.ts';
import type { Cells, RowDifference } from './formats/format.ts';

export type Cause =
  /** It came after the earlier revision was published. */
  | { readonly kind: 'late'; readonly since: Date }
  /** It counted as vanished when the earlier revision was published, and is shown again. */
  | { readonly kind: 'returned' }
  /** The platform no longer shows it; `since` is null if it shows it again by now. */
  | { readonly kind: 'vanished'; readonly since: Date | null }
  /** The platform amended it. The later revision shows this version. */
  | { readonly kind: 'amended'; readonly version: number; readonly since: Date }
  /** By an amendment of its time or currency it moved here from that account day, or away to it. */
  | {
      readonly kind: 'moved-here' | 'moved-away';
      readonly currency: string;
      readonly day: BusinessDay;
      readonly version: number;
      readonly since: Date;
    }
  /** This database does not know enough to say. */
  | { readonly kind: 'unknown' };

export interface CausedRow extends RowDifference {
  readonly cause: Cause;
  readonly heals: readonly number[];
}

interface Between {
  readonly account: Account;
  readonly day: BusinessDay;
  /** When the earlier revision was published. */
  readonly publishedAt: Date;
}

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
const placeText = (
  { currency, day }: { readonly currency: string; readonly day: BusinessDay },
  account: Account,
): string => (currency === account.currency ? day : `${currency} ${day}`);

/** Most entries of one kind that are named; the rest is counted. */
export const ENTRIES_NAMED_MAX = 5;

/** In the order in which a reason names them. */
const SAID = {
  late: (count: number) => counted(count, 'late entry', 'late entries'),
  returned: (count: number) => `${entries(count)} that came back`,
  'moved-here': (count: number) => `${entries(count)} moved here`,
  vanished: (count: number) => `${entries(count)} no longer held by the platform`,
  'moved-away': (count: number) => `${entries(count)} moved away`,
  amended: (count: number) => `${entries(count)} amended`,
  more: (count: number) => `${entries(count)} more`,
  fewer: (count: number) => `${entries(count)} fewer`,
  other: (count: number) => `${entries(count)} changed`,
};
type Kind = keyof typeof SAID;

const entries = (count: number): string => counted(count, 'entry', 'entries');

/** What happened to entries from one revision to the next: the number of each kind, and the first few batch numbers. */
type RowChanges = ReadonlyMap<Kind, { readonly count: number; readonly named: readonly string[] }>;

/** Counts rows as they come. Of the rows themselves, only the batch numbers to be named are kept. */
export function countChanges(account: Account): {
  readonly take: (rows: readonly CausedRow[]) => void;
  readonly changes: RowChanges;
} {
  const changes = new Map<Kind, { count: number; named: string[] }>();
  return {
    changes,
    take: (rows) => {
      for (const row of rows) {
        const kind = kindOf(row);
        const known = changes.get(kind) ?? { count: 0, named: [] };
        changes.set(kind, known);
        known.count += 1;
        if (known.named.length < ENTRIES_NAMED_MAX) known.named.push(nameOf(row, account));
      }
    },
  };
}

function kindOf({ cause, before, after }: CausedRow): Kind {
  if (cause.kind !== 'unknown') return cause.kind;
  if (before === null) return 'more';
  return after === null ? 'fewer' : 'other';
}

function nameOf({ cause, batchNo }: CausedRow, account: Account): string {
  if (cause.kind === 'moved-here') return `${batchNo} from ${placeText(cause, account)}`;
  return cause.kind === 'moved-away' ? `${batchNo} to ${placeText(cause, account)}` : batchNo;
}

function rowsSaid(changes: RowChanges): string[] {
  return (Object.keys(SAID) as Kind[]).flatMap((kind) => {
    const found = changes.get(kind);
    if (found === undefined) return [];
    const { count, named } = found;
    const more = count > named.length ? ` and ${count - named.length} more` : '';
    return `${SAID[kind](count)} (${named.join(', ')}${more})`;
  });
}

/** If the rows could not be compared, only their number can be. */
function rowCountSaid(before: Figures, after: Figures): string[] {
  const more = entriesIn(after) - entriesIn(before);
  return more === 0 ? [] : [more > 0 ? SAID.more(more) : SAID.fewer(-more)];
}

function breaksSaid(more: number, where: string): string[] {
  if (more > 0) return [counted(more, `break found${where}`, `breaks found${where}`)];
  return more < 0 ? [counted(-more, `break healed${where}`, `breaks healed${where}`)] : [];
}

/** The reason as one text. `changes` is null if the earlier revision cannot be read, so that its rows are not known. */
export function reasonOf(before: StatedFigures, after: StatedFigures, changes: RowChanges | null): string {
  const said = changes === null ? rowCountSaid(before, after) : rowsSaid(changes);
  const openingMoved = subtractAmounts(after.opening, before.opening);
  const closingMoved = subtractAmounts(after.closing, before.closing);
  if (compareAmounts(openingMoved, '0') !== 0) said.push(`opening moved by ${openingMoved}`);
  else if (said.length === 0 && compareAmounts(closingMoved, '0') !== 0) {
    said.push(`closing moved by ${closingMoved}`);
  }
  const own = ({ breakCount, breaksAfter }: Figures): number => breakCount - breaksAfter;
  said.push(
    ...breaksSaid(own(after) - own(before), ''),
    ...breaksSaid(after.breaksAfter - before.breaksAfter, ' between it and the next entry'),
  );
  if (before.breakCount === after.breakCount && before.verdict !== after.verdict)
    said.push(`${before.verdict} became ${after.verdict}`);
  if (after.otherClosings !== undefined && before.otherClosings === undefined)
    said.push('other balances fit as well');
  if (before.otherClosings !== undefined && after.otherClosings === undefined) said.push('balance decided');
  if (after.restarted && !before.restarted) said.push('opening derived from the first entry');
  if (before.restarted && !after.restarted) said.push('opening taken up from the day before');
  if (changes === null)
    said.push('the file of the revision before could not be read, so entries are not named');
  return said.length === 0 ? 'the same entries in another order' : said.join(', ');
}

/** The rows, some at a time, each with its cause. Throws `StoreUnreachable`, and what reading the rows throws. */
export async function* causesOf(
  db: Kysely<DB>,
  rows: AsyncIterable<RowDifference> | Iterable<RowDifference>,
  before: Revision,
  after: Pick<Revision, 'published_at'>,
): AsyncGenerator<readonly CausedRow[]> {
  const account = { merchantNo: before.merchant_no, currency: before.currency };
  const between = { account, day: before.day, publishedAt: before.published_at };
  const times = { from: before.published_at, to: after.published_at };
  const healed = await healedBreaks(db, account, before.day, times);
  const caused = async (batch: readonly RowDifference[]): Promise<CausedRow[]> => {
    const pasts = await pastOfEntries(
      db,
      account.merchantNo,
      batch.map(({ batchNo }) => batchNo),
    );
    return batch.map((row) => {
      const past = pasts.get(row.batchNo);
      return { ...row, cause: causeOf(row, past, between), heals: healedBy(row.batchNo, past, healed) };
    });
  };
  let batch: RowDifference[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < ENTRIES_ASKED_MAX) continue;
    yield await caused(batch);
    batch = [];
  }
  if (batch.length > 0) yield await caused(batch);
}

/**
 * Compares the two files. If a file is missing, altered or denied (moved to an archive, for example), the day is
 * still published: the reason is then worded from the figures alone, and says so. Throws `StoreUnreachable`,
 * `ObjectStoreUnreachable` for a failure that may pass, or the signal's reason.
 */
export async function reasonBetween(
  before: Revision & FigureColumns,
  after: Revision & FigureColumns,
  {
    db,
    objects,
    signal,
  }: { readonly db: Kysely<DB>; readonly objects: ObjectStore; readonly signal: AbortSignal },
): Promise<string> {
  const figures = [figuresOf(before), figuresOf(after)] as const;
  const counter = countChanges({ merchantNo: before.merchant_no, currency: before.currency });
  try {
    for await (const rows of causesOf(db, rowsBetween(objects, before, after), before, after)) {
      signal.throwIfAborted();
      counter.take(rows);
    }
    return reasonOf(...figures, counter.changes);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return reasonOf(...figures, null);
  }
}
