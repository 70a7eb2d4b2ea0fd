/** Chooses the entries of a day that a request asks for. */
import type { Kysely } from 'kysely';
import { instantsOf, splitAtTransitions } from '../../../ledger/business-day.ts';
import { createChain } from '../../../ledger/chain/chain.ts';
import type { BusinessDay, Window, LedgerEntry } from '../../../ledger/entry.ts';
import { wallSecond } from '../../../ledger/wall-time.ts';
import { readAmount } from '../html/format.ts';
import type { RowsPlace, RowsShown } from '../html/day-rows.ts';
import type { DB } from '../../../store/engine/schema.ts';
import { ENTRIES_WITHIN_MAX, entriesAround, entriesByNumber } from '../../../store/entries.ts';
import {
  breaksBefore,
  entriesSearched,
  entryNumbered,
  placesAt,
  SORTS,
  type DayOfAccount,
  type EntriesFound,
  type Sort,
  type EntryPlace,
} from '../stored.ts';
import type { Asked, PagesContext } from './context.ts';

const ROWS_A_PAGE = 100;
/** A day with more entries is not searched: a page must load quickly. */
const SEARCHABLE_MAX = 20_000;
const SEARCH_CHARACTERS_MAX = 500;
const PAGES_MAX = 1_000_000;
const TIME = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;

interface OfDay {
  readonly day: BusinessDay;
  /** How many entries the day has. */
  readonly total: number;
  readonly hasBreaks: boolean;
}

export async function rowsOf(
  context: PagesContext,
  { query, view }: Asked,
  here: DayOfAccount,
  { day, total, hasBreaks }: OfDay,
): Promise<RowsShown> {
  const { db, zone } = context;
  const isLarge = total > SEARCHABLE_MAX;
  const search = (query('q') ?? '').trim().slice(0, SEARCH_CHARACTERS_MAX);
  const wanted = SORTS.find((sort) => sort === query('sort')) ?? 'time';
  const fromMs = timeIn(search, day, here.window, zone);
  const sort: Sort = isLarge || fromMs !== null ? 'time' : wanted;
  const page = pageIn(query('page'));
  const found =
    fromMs !== null
      ? await rowsFrom(context, here, { fromMs, time: search, page })
      : search === '' && sort === 'time'
        ? await rowsAt(context, here, total, page)
        : await rowsSearched(db, here, { search, sort, isLarge, page, amount: readAmount(search, view) });
  const numbers = found.entries.map(({ batchNo }) => batchNo);
  const breaks =
    hasBreaks && sort === 'time' && numbers.length > 0
      ? await breaksBefore(db, here.account, day, numbers)
      : [];
  return {
    ...{ search, sort, isLarge, ...found },
    searchableMax: SEARCHABLE_MAX,
    breaks: new Map(breaks.map((row) => [row.before_batch_no, row])),
  };
}

type Found = InOrder & { readonly place: RowsPlace };

const offsetOf = (page: number): number => (page - 1) * ROWS_A_PAGE;

/** A page of a list, the last one where it ends before. */
function placeOf(total: number, wanted: number): Extract<RowsPlace, { readonly kind: 'page' }> {
  const pages = Math.max(1, Math.ceil(total / ROWS_A_PAGE));
  const page = Math.min(wanted, pages);
  return { kind: 'page', offset: offsetOf(page), total, page, pages };
}

async function rowsAt(
  context: PagesContext,
  here: DayOfAccount,
  total: number,
  page: number,
): Promise<Found> {
  const place = placeOf(total, page);
  const at = { offset: place.offset, limit: ROWS_A_PAGE, total };
  const places = await placesAt(context.db, here, at);
  return { ...(await inStatementOrder(context, here, places)), place };
}

/** Entries from a time on. How many come after it is not counted, so there is no last page. */
async function rowsFrom(
  context: PagesContext,
  here: DayOfAccount,
  { fromMs, time, page }: { readonly fromMs: number; readonly time: string; readonly page: number },
): Promise<Found> {
  const rest = { ...here, window: { beginMs: fromMs, endMs: here.window.endMs } };
  const offset = offsetOf(page);
  const at = { offset, limit: ROWS_A_PAGE + 1, total: Number.MAX_SAFE_INTEGER };
  const places = await placesAt(context.db, rest, at);
  if (places.length === 0 && page > 1) return rowsFrom(context, here, { fromMs, time, page: 1 });
  const ordered = await inStatementOrder(context, here, places.slice(0, ROWS_A_PAGE));
  return { ...ordered, place: { kind: 'from', time, page, hasMore: places.length > ROWS_A_PAGE } };
}

interface SearchAsked extends Pick<RowsShown, 'search' | 'sort' | 'isLarge'> {
  readonly page: number;
  readonly amount: string | null;
}

async function rowsSearched(db: Kysely<DB>, here: DayOfAccount, asked: SearchAsked): Promise<Found> {
  const { entries, total } = await entriesFound(db, here, asked);
  if (entries.length === 0 && asked.page > 1) {
    // Past the end nothing says how many there are.
    const { total: inAll } = await entriesFound(db, here, { ...asked, page: 1 });
    const last = placeOf(inAll, asked.page);
    return rowsSearched(db, here, { ...asked, page: last.page });
  }
  return { entries, isChained: false, place: placeOf(total, asked.page) };
}

async function entriesFound(
  db: Kysely<DB>,
  here: DayOfAccount,
  { search, sort, isLarge, page, amount }: SearchAsked,
): Promise<EntriesFound> {
  if (!isLarge)
    return entriesSearched(db, here, {
      ...{ contains: search, amount, sort },
      offset: offsetOf(page),
      limit: ROWS_A_PAGE,
    });
  const entry = await entryNumbered(db, here, search);
  const entries = entry === null || page > 1 ? [] : [entry];
  return { entries, total: entries.length };
}

function pageIn(text: string | null): number {
  const page = /^[1-9]\d{0,6}$/.test(text ?? '') ? Number(text) : 1;
  return Math.min(page, PAGES_MAX);
}

/**
 * The first instant at which the clock shows this time on the day, or where it skips the time, the instant after the
 * skip; null if the text is no time.
 */
function timeIn(text: string, day: BusinessDay, window: Window, zone: string): number | null {
  const [, hour, minute, second = '00'] = TIME.exec(text) ?? [];
  if (hour === undefined) return null;
  const wanted = `${day} ${hour.padStart(2, '0')}:${minute!}:${second}`;
  const [at] = instantsOf(wanted, zone);
  if (at !== undefined) return at;
  const parts = splitAtTransitions(window, zone);
  return parts.find(({ beginMs }) => wallSecond(beginMs, zone) > wanted)?.beginMs ?? null;
}

/** Entries chained on each side of those shown: their balances determine the order. */
const CHAINED_AROUND = 60;

interface InOrder {
  readonly entries: readonly LedgerEntry[];
  /** Whether they stand as in the statement; otherwise they are in order of time, or as they were asked for. */
  readonly isChained: boolean;
}

/**
 * The entries at these neighbouring places, as the statement has them there. Full seconds around them are read, and all
 * that may trade places with them. Where a second holds too many for that, they are given by time.
 */
async function inStatementOrder(
  { db, settings: { clockToleranceS } }: PagesContext,
  { account, window }: DayOfAccount,
  places: readonly EntryPlace[],
): Promise<InOrder> {
  const [first, last] = [places[0], places.at(-1)];
  if (first === undefined || last === undefined) return { entries: [], isChained: true };
  const span = {
    beginMs: first.bookedMs - clockToleranceS * 1_000,
    endMs: last.bookedMs + clockToleranceS * 1_000,
  };
  const around = await entriesAround(db, account, span, CHAINED_AROUND);
  const within = around.filter(({ bookedMs }) => bookedMs >= span.beginMs && bookedMs <= span.endMs);
  if (within.length >= ENTRIES_WITHIN_MAX) {
    const numbers = places.map(({ batchNo }) => batchNo);
    const found = await entriesByNumber(db, account.merchantNo, numbers);
    return { entries: numbers.flatMap((batchNo) => found.get(batchNo) ?? []), isChained: false };
  }
  const isOfDay = ({ bookedMs }: LedgerEntry): boolean =>
    bookedMs >= window.beginMs && bookedMs <= window.endMs;
  const from = around.filter(isOfDay).findIndex(({ batchNo }) => batchNo === first.batchNo);
  const chain = createChain<LedgerEntry>({ clockToleranceS, start: null });
  const chained = [...chain.push(around), ...chain.end()].map(({ entry }) => entry).filter(isOfDay);
  return { entries: chained.slice(from, from + places.length), isChained: true };
}
