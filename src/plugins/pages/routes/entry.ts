/** `/entry` and `/entry/MERCHANT/BATCHNO`: a search of entries, and one by its number. */
import { dayWindow, isDay } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { isMerchantNo } from '../../../ledger/merchant-no.ts';
import { compareAmounts } from '../../../ledger/money.ts';
import { ALL_TIME } from '../../../ledger/window.ts';
import { CSV } from '../../../statements/formats/csv.ts';
import { STATEMENT_COLUMNS } from '../../../statements/formats/format.ts';
import { type RowCells } from '../../../verify/csv.ts';
import { entryPage } from '../html/entry.ts';
import { readAmount } from '../html/format.ts';
import { searchPage, type SearchGiven } from '../html/search.ts';
import { everyEntry, searchEntries, type EntriesAsked, type EntryPlace } from '../search.ts';
import { placesOf } from '../../../statements/entry-places.ts';
import { adjacentBreaks, findEntries, unreadableOfNumber } from '../../../store/entry-history.ts';
import {
  maySee,
  merchantIn,
  type Asked,
  type PagesContext,
  PageRefusal,
  type MakePage,
  YEARS,
} from './context.ts';

const NUMBER_CHARACTERS_MAX = 2_000;
const TYPE_CHARACTERS_MAX = 100;
const ENTRIES_A_PAGE = 50;
/** Of the query that is put on record. */
const NOTE_CHARACTERS_MAX = 500;

export const findEntry: MakePage = async (context, asked) => {
  const { db } = context;
  const given = givenIn(asked);
  const { number, merchant } = given;
  const isNumberAlone = Object.entries(given).every(
    ([name, text]) => text === '' || name === 'number' || name === 'merchant',
  );
  if (isNumberAlone && number !== '' && number.length <= NUMBER_CHARACTERS_MAX) {
    const merchants = merchant === '' ? asked.person.merchants : [merchant];
    const entries = maySearch(asked, merchant) ? await findEntries(db, number, merchants) : [];
    if (entries.length === 1) return entryOf(context, asked, entries[0]!.merchantNo, number);
    if (merchant === '') {
      const unreadable = await unreadableOfNumber(db, number, merchants);
      return searchPage(asked.view, given, { kind: 'number', entries, unreadable });
    }
  }
  if (Object.values(given).every((text) => text === '')) return searchPage(asked.view, given, null);
  const search = searchIn(context, asked, given);
  if (typeof search === 'string') return searchPage(asked.view, given, { kind: 'problem', text: search });
  const after = placeIn(asked.query('after'));
  const found = await searchEntries(db, search, after, { limit: ENTRIES_A_PAGE });
  const isAll = found.searchedToMs <= search.window.beginMs;
  return searchPage(asked.view, given, {
    ...{ kind: 'entries', merchantNo: merchant, entries: found.entries, isFirst: after === null },
    next: found.next && `${found.next.bookedMs} ${found.next.currency} ${found.next.batchNo}`,
    searchedTo: isAll ? null : new Date(found.searchedToMs),
    unreadable: number === '' ? [] : await unreadableOfNumber(db, number, [merchant]),
  });
};

/** `/entry.csv`: every entry that a search finds. Throws `PageRefusal` for a search that the page would refuse. */
export function searchFile(context: PagesContext, asked: Asked) {
  const given = givenIn(asked);
  const search = searchIn(context, asked, given);
  if (typeof search === 'string') throw new PageRefusal(400);
  async function* rows(): AsyncGenerator<readonly RowCells[]> {
    for await (const entries of everyEntry(context.db, search as EntriesAsked))
      yield entries.map((entry) => STATEMENT_COLUMNS.map(({ cell }) => cell(entry)));
  }
  return {
    command: 'search',
    subject: search.merchantNo,
    note: asked.view.address.split('?')[1]?.slice(0, NOTE_CHARACTERS_MAX),
    bytes: CSV.write({ columns: STATEMENT_COLUMNS, rows: rows() }),
    name: `entries-${encodeURIComponent(search.merchantNo)}.csv`,
    contentType: CSV.contentType,
  };
}

const givenIn = ({ query }: Asked): SearchGiven => {
  const of = (name: keyof SearchGiven): string => (query(name) ?? '').trim();
  return {
    ...{ number: of('number'), merchant: of('merchant'), currency: of('currency').toUpperCase() },
    ...{ from: of('from'), to: of('to'), type: of('type') },
    ...{ amount: of('amount'), amountTo: of('amountTo') },
  };
};

const maySearch = ({ person }: Asked, merchant: string): boolean =>
  merchant === '' || (isMerchantNo(merchant) && maySee(person, merchant));

/** The search that the fields ask for, or what is wrong with them. */
function searchIn({ zone }: PagesContext, asked: Asked, given: SearchGiven): EntriesAsked | string {
  const { search } = asked.view.texts;
  const { merchant: merchantNo, currency, number, type } = given;
  if (merchantNo === '') return search.needsMerchant;
  if (!maySearch(asked, merchantNo)) return search.unknownMerchant;
  if (number.length > NUMBER_CHARACTERS_MAX || type.length > TYPE_CHARACTERS_MAX) throw new PageRefusal(400);
  const amounts: (string | null)[] = [];
  for (const text of [given.amount, given.amountTo]) {
    const amount = text === '' ? null : readAmount(text, asked.view);
    if (text !== '' && amount === null) return search.wrongAmount(text);
    amounts.push(amount);
  }
  const days: (BusinessDay | null)[] = [];
  for (const text of [given.from, given.to]) {
    if (text !== '' && !(YEARS.test(text) && isDay(text))) return search.wrongDay(text);
    days.push(text === '' ? null : text);
  }
  const [from, to] = [amounts[0] ?? amounts[1] ?? null, amounts[1] ?? amounts[0] ?? null];
  const isAmountRange = from !== null && to !== null;
  const window = {
    beginMs: days[0] ? dayWindow(days[0], zone).beginMs : ALL_TIME.beginMs,
    endMs: days[1] ? dayWindow(days[1], zone).endMs : ALL_TIME.endMs,
  };
  if (window.beginMs > window.endMs || (isAmountRange && compareAmounts(from, to) > 0))
    return search.wrongRange;
  return {
    ...{ merchantNo, window, type, number, currency: currency === '' ? null : currency },
    amount: isAmountRange ? { from, to } : null,
  };
}

/** Where a further page begins. Throws `PageRefusal` for anything that no page links to. */
function placeIn(text: string | null): EntryPlace | null {
  if (text === null) return null;
  const [, bookedMs, currency, batchNo] = /^(\d{1,15}) (\S{1,16}) (.*)$/s.exec(text) ?? [];
  if (bookedMs === undefined) throw new PageRefusal(400);
  return { bookedMs: Number(bookedMs), currency: currency!, batchNo: batchNo! };
}

export const showEntry: MakePage = (context, asked) =>
  entryOf(context, asked, merchantIn(asked), asked.part('number'));

async function entryOf(
  { db, objects }: PagesContext,
  asked: Asked,
  merchantNo: string,
  batchNo: string,
): Promise<string> {
  const { view, query } = asked;
  const [history] = await findEntries(db, batchNo, [merchantNo]);
  const unreadable = await unreadableOfNumber(db, batchNo, [merchantNo]);
  if (history === undefined) {
    if (unreadable.length === 0) throw new PageRefusal(404);
    return searchPage(
      view,
      { ...givenIn(asked), number: batchNo, merchant: merchantNo },
      { kind: 'number', entries: [], unreadable },
    );
  }
  const stood = history.contents.map(({ entry }) => entry);
  return entryPage(view, {
    ...{ batchNo, history, unreadable },
    breaks: await adjacentBreaks(db, history, batchNo),
    places: query('lines') === null ? null : await placesOf({ db, objects }, merchantNo, stood),
  });
}
