/** Chooses the entries of a day that a request asks for. */
import type { Kysely } from 'kysely';
import { instantsOf } from '../../ledger/business-day.ts';
import { createChain } from '../../ledger/chain/chain.ts';
import type { BusinessDay, LedgerEntry } from '../../ledger/entry.ts';
import { plainDecimal } from '../../ledger/money.ts';
import type { RowsShown } from '../../pages/day-rows.ts';
import type { BreakRow } from '../../store/breaks/breaks.ts';
import type { DB } from '../../store/engine/schema.ts';
import {
  entriesAt,
  entriesFrom,
  entriesSearched,
  entryNumbered,
  SORTS,
  type DayOfAccount,
  type Sort,
} from '../../store/pages/day-rows.ts';
import type { Asked, PagesContext } from './context.ts';

const ROWS_A_PAGE = 100;
/** A day with more entries is not searched through, as somebody waits for the page. */
const SEARCHABLE_MAX = 20_000;
const SEARCH_CHARACTERS_MAX = 500;
const PAGES_MAX = 1_000_000;
const TIME = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;

interface OfDay {
  readonly day: BusinessDay;
  /** How many entries the day has. */
  readonly total: number;
  readonly breaks: readonly BreakRow[];
}

export async function rowsOf(
  context: PagesContext,
  { query }: Asked,
  here: DayOfAccount,
  { day, total, breaks }: OfDay,
): Promise<RowsShown> {
  const isLarge = total > SEARCHABLE_MAX;
  const search = (query('q') ?? '').trim().slice(0, SEARCH_CHARACTERS_MAX);
  const wanted = SORTS.find((sort) => sort === query('sort')) ?? 'time';
  const sort: Sort = isLarge ? 'time' : wanted;
  const shared = {
    ...{ search, sort, isLarge },
    searchableMax: SEARCHABLE_MAX,
    breaks: new Map(breaks.map((row) => [row.before_batch_no, row])),
  };
  const tolerance = context.settings.clockToleranceS;
  const fromMs = timeIn(search, day, context.zone);
  if (fromMs !== null) {
    const entries = await entriesFrom(context.db, here, fromMs, ROWS_A_PAGE);
    return {
      ...shared,
      sort: 'time',
      entries: inChain(entries, tolerance),
      place: { kind: 'from', time: search },
    };
  }
  const page = pageIn(query('page'));
  const found = await foundOf(context.db, here, { search, sort, isLarge, total, page });
  const pages = Math.max(1, Math.ceil(found.total / ROWS_A_PAGE));
  return {
    ...shared,
    entries: sort === 'time' ? inChain(found.entries, tolerance) : found.entries,
    place: { kind: 'page', offset: (page - 1) * ROWS_A_PAGE, total: found.total, page, pages },
  };
}

async function foundOf(
  db: Kysely<DB>,
  here: DayOfAccount,
  asked: Pick<RowsShown, 'search' | 'sort' | 'isLarge'> & { readonly total: number; readonly page: number },
) {
  const { search, sort, isLarge, total, page } = asked;
  const [offset, limit] = [(page - 1) * ROWS_A_PAGE, ROWS_A_PAGE];
  if (search !== '' && isLarge) {
    const entry = await entryNumbered(db, here, search);
    return { entries: entry === null ? [] : [entry], total: entry === null ? 0 : 1 };
  }
  if (search === '' && sort === 'time')
    return { entries: await entriesAt(db, here, { offset, limit, total }), total };
  return entriesSearched(db, here, { contains: search, amount: amountIn(search), sort, offset, limit });
}

/** All entries of a small day, in the order of the statement. */
export async function allInOrder(
  db: Kysely<DB>,
  here: DayOfAccount,
  limit: number,
  clockToleranceS: number,
): Promise<readonly LedgerEntry[]> {
  return inChain(await entriesAt(db, here, { offset: 0, limit, total: limit }), clockToleranceS);
}

/** Entries of one second stand in the order of their balances, as in the statement. Where breaks lie is on record. */
function inChain(entries: readonly LedgerEntry[], clockToleranceS: number): readonly LedgerEntry[] {
  const chain = createChain<LedgerEntry>({ clockToleranceS, start: null });
  return [...chain.push(entries), ...chain.end()].map(({ entry }) => entry);
}

function pageIn(text: string | null): number {
  const page = /^[1-9]\d{0,6}$/.test(text ?? '') ? Number(text) : 1;
  return Math.min(page, PAGES_MAX);
}

/** The first instant at which the clock shows this time on the day; null if the text is no time. */
function timeIn(text: string, day: BusinessDay, zone: string): number | null {
  const [, hour, minute, second = '00'] = TIME.exec(text) ?? [];
  if (hour === undefined) return null;
  return instantsOf(`${day} ${hour.padStart(2, '0')}:${minute!}:${second}`, zone)[0] ?? null;
}

/** An amount as people write it, as a plain decimal; null if the text is none. */
function amountIn(text: string): string | null {
  const digits = text.replace(/[,\s']/g, '');
  return /^-?\d{1,30}(?:\.\d{1,30})?$/.test(digits)
    ? plainDecimal(digits.replace(/^(-?)0+(?=\d)/, '$1'))
    : null;
}
