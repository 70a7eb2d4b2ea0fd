/** The entries of a day: searched, sorted and a page at a time, with the breaks where they lie. */
import type { Account, LedgerEntry } from '../../../ledger/entry.ts';
import { netText } from '../../../ledger/hints/stories.ts';
import { knownBreak, type BreakRow } from '../../../store/breaks/breaks.ts';
import { SORTS, type Sort } from '../stored.ts';
import { addressWith, breakAddress, entryAddress } from './addresses.ts';
import { html, when, type Html, type Part } from './html.ts';
import { amountColumns, link, pagingLinks, table } from './parts.ts';
import type { View } from './view.ts';

/** The entries shown: a page of the matching ones, or those from a time on. */
export type RowsPlace =
  | {
      readonly kind: 'page';
      readonly offset: number;
      readonly total: number;
      readonly page: number;
      readonly pages: number;
    }
  | { readonly kind: 'from'; readonly time: string; readonly page: number; readonly hasMore: boolean };

export interface RowsShown {
  readonly entries: readonly LedgerEntry[];
  /** Whether they stand as in the statement. */
  readonly isChained: boolean;
  readonly place: RowsPlace;
  readonly search: string;
  readonly sort: Sort;
  /** The day has so many entries that not all ways of searching and sorting are there; the most it may have. */
  readonly isLarge: boolean;
  readonly searchableMax: number;
  /** By the number of the entry behind each. */
  readonly breaks: ReadonlyMap<string, BreakRow>;
}

export function rowsSection(view: View, account: Account, shown: RowsShown): Html {
  const { texts } = view;
  const { entries } = shown;
  return html`<h2 id="rows">${texts.day.rows}</h2>
    ${searchForm(view, shown)}
    ${
      entries.length === 0
        ? html`<p>${shown.search === '' ? texts.day.noEntries : texts.day.noRows}</p>`
        : html`<p class="soft">
              ${placeText(view, shown)}${when(shown.sort === 'time', () => html` ${shown.isChained ? texts.day.rowsOrder : texts.day.rowsOrderTime}`)}
            </p>
            ${rowsTable(view, account, shown)}`
    }
    ${paging(view, shown)}`;
}

function searchForm({ texts, address, format, isExact }: View, shown: RowsShown): Html {
  const sorts: Readonly<Record<Sort, string>> = {
    time: texts.day.sortTime,
    latest: texts.day.sortLatest,
    largest: texts.day.sortLargest,
    number: texts.day.sortNumber,
  };
  const [path = ''] = address.split('?', 1);
  return html`<form class="line" method="get" action="${path}#rows" role="search">
      ${when(isExact, () => html`<input type="hidden" name="digits" value="exact" />`)}
      <p>
        <label for="q">${shown.isLarge ? texts.day.searchLarge : texts.day.search}</label
        ><input id="q" name="q" type="search" value="${shown.search}" />
      </p>
      ${when(
        !shown.isLarge,
        () =>
          html`<p>
            <label for="sort">${texts.day.sort}</label
            ><select id="sort" name="sort">
              ${SORTS.map((sort) => html`<option value="${sort}" ${sort === shown.sort ? html` selected` : null}>${sorts[sort]}</option>`)}
            </select>
          </p>`,
      )}
      <p><button>${texts.day.searchDo}</button></p>
      ${when(shown.search !== '', () => html`<p><a href="${addressWith(address, { q: null, page: null })}#rows">${texts.day.searchAll}</a></p>`)}
    </form>
    ${when(shown.isLarge, () => html`<p class="soft">${texts.day.tooMany(format.count(shown.searchableMax))}</p>`)}`;
}

function placeText({ texts, format }: View, { place, entries }: RowsShown): string {
  if (place.kind === 'from') return texts.day.rowsFrom(place.time);
  const first = place.offset + 1;
  return texts.day.rowsShown(
    format.count(first),
    format.count(place.offset + entries.length),
    format.count(place.total),
  );
}

function rowsTable(view: View, { merchantNo }: Account, { entries, sort, breaks }: RowsShown): Html {
  const { day } = view.texts;
  return table<LedgerEntry>(
    { by: 'rows' },
    entries,
    [
      [day.batchNo, ({ batchNo }) => link(entryAddress(merchantNo, batchNo), batchNo), 'nameId'],
      [day.time, ({ bookedAt }) => bookedAt.slice(11), 'line'],
      [day.type, ({ transactionType }) => transactionType],
      ...amountColumns<LedgerEntry>(view, (entry) => entry),
    ],
    {
      tableClass: 'entries',
      above: ({ batchNo }) => {
        const found = sort === 'time' ? breaks.get(batchNo) : undefined;
        return found && breakRow(view, found);
      },
    },
  );
}

function breakRow({ texts: { day } }: View, row: BreakRow): Html {
  const isExplained = row.status === 'resolved';
  const text = isExplained ? day.breakHereExplained : day.breakHere;
  return html`<tr class="break${isExplained ? ' explained' : null}">
    <td colspan="6">${link(breakAddress(row.id), text(row.id, netText(knownBreak(row))))}</td>
  </tr> `;
}

function paging(view: View, { place }: RowsShown): Part {
  const { texts, address } = view;
  const { page } = place;
  const hasMore = place.kind === 'from' ? place.hasMore : page < place.pages;
  const to = (name: string, number: number) =>
    [`${addressWith(address, { page: number })}#rows`, name] as const;
  return pagingLinks(view, [
    page > 1 && to(texts.first, 1),
    page > 1 && to(texts.previous, page - 1),
    hasMore && to(texts.next, page + 1),
    hasMore && place.kind === 'page' && to(texts.last, place.pages),
  ]);
}
