/** The page that finds entries: one by its full number, or a merchant's over all days by amount, type, currency, days and part of the number. */
import type { LedgerEntry } from '../../../ledger/entry.ts';
import type { EntryHistory } from '../../../store/entry-history.ts';
import type { QuarantineRow } from '../../../store/quarantine.ts';
import { addressWith, dayAddress, entryAddress } from './addresses.ts';
import { unreadablePart } from './entry.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { amountColumns, link, pagingLinks, table } from './parts.ts';
import { page, type View } from './view.ts';

/** What was typed into the form, by the names of its fields. */
export type SearchGiven = Readonly<
  Record<'number' | 'merchant' | 'currency' | 'from' | 'to' | 'amount' | 'amountTo' | 'type', string>
>;

export interface NumberFound {
  readonly kind: 'number';
  readonly entries: readonly EntryHistory[];
  readonly unreadable: readonly QuarantineRow[];
}

export interface EntriesShown {
  readonly kind: 'entries';
  readonly merchantNo: string;
  readonly entries: readonly LedgerEntry[];
  /** The place behind which the next ones lie; null on the last page. */
  readonly next: string | null;
  readonly isFirst: boolean;
  /** How far back entries were checked; null where all of the days were. */
  readonly searchedTo: Date | null;
  readonly unreadable: readonly QuarantineRow[];
}

export type SearchResult = NumberFound | EntriesShown | { readonly kind: 'problem'; readonly text: string };

/** `result`: null before anything is asked. */
export const searchPage = (view: View, given: SearchGiven, result: SearchResult | null): string =>
  page(view, {
    title: view.texts.search.title,
    section: 'entry',
    content: html`<h1>${view.texts.search.title}</h1>
      ${form(view, given)} ${when(result !== null, () => resultPart(view, given, result!))}`,
  });

function form({ texts: { search } }: View, given: SearchGiven): Html {
  const field = (name: keyof SearchGiven, type = 'text'): Html =>
    html`<p>
      <label for="${name}">${search[name]}</label
      ><input id="${name}" name="${name}" type="${type}" value="${given[name]}" />
    </p>`;
  return html`<form class="line" method="get" action="/entry" role="search">
    ${field('merchant')} ${field('number', 'search')} ${field('currency')} ${field('amount')}
    ${field('amountTo')} ${field('type')} ${field('from', 'date')} ${field('to', 'date')}
    <p><button class="main">${search.submit}</button></p>
  </form>`;
}

function resultPart(view: View, given: SearchGiven, result: SearchResult): Part {
  if (result.kind === 'problem') return html`<p class="said wrong" role="alert">${result.text}</p>`;
  return result.kind === 'number' ? numberPart(view, given.number, result) : entriesPart(view, result);
}

const numberPart = (view: View, number: string, { entries, unreadable }: NumberFound): Html => {
  const { search, entry } = view.texts;
  const none = unreadable.length === 0 ? search.unknown(number) : entry.onlyUnreadable(number);
  return html`${
    entries.length === 0
      ? html`<p role="status">${none}</p>`
      : html`<p>${search.several}</p>
          <ul>
            ${entries.map(({ merchantNo }) => html`<li>${link(entryAddress(merchantNo, number), number)} ${entry.of(merchantNo)}</li>`)}
          </ul>`
  }
  ${unreadablePart(view, unreadable)}`;
};

function entriesPart(view: View, shown: EntriesShown): Html {
  const { texts, format, address } = view;
  const { search } = texts;
  const { entries, merchantNo, next, isFirst, searchedTo, unreadable } = shown;
  const dayOf = ({ currency, bookedAt }: LedgerEntry): string =>
    `${addressWith(dayAddress({ merchantNo, currency }, bookedAt.slice(0, 10)), { q: bookedAt.slice(11) })}#rows`;
  const bound = searchedTo && filled(search.searchedTo, format.shown.instant(searchedTo));
  return html`<h2 id="found">${search.found}</h2>
    ${when(entries.length > 0, () => html`<p>${link(addressWith(address.replace(/^\/entry\b/, '/entry.csv'), { after: null }), search.csv)}</p>`)}
    ${
      entries.length === 0
        ? html`<p role="status">${search.nothing} ${bound}</p>`
        : html`${when(bound !== null, () => html`<p class="soft">${bound}</p>`)}
          ${table(
            { by: 'found' },
            entries,
            [
              [
                texts.day.batchNo,
                ({ batchNo }) => link(entryAddress(merchantNo, batchNo), batchNo),
                'nameId',
              ],
              [
                texts.entry.booked,
                (one) => link(dayOf(one), format.shown.instant(new Date(one.bookedMs))),
                'line',
              ],
              [search.currency, ({ currency }) => currency],
              [texts.day.type, ({ transactionType }) => transactionType],
              ...amountColumns<LedgerEntry>(view, (entry) => entry),
            ],
            { tableClass: 'entries' },
          )}`
    }
    ${pagingLinks(view, [
      !isFirst && [addressWith(address, { after: null }), texts.first],
      next !== null && [addressWith(address, { after: next }), search.earlier],
    ])}
    ${unreadablePart(view, unreadable)}`;
}
