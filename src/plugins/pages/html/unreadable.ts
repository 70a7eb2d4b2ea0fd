/** The pages of entries that could not be read: the list, and each one as it came, with the form that acknowledges it. */
import { dayOf } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { NOTE_CHARACTERS_MAX } from '../../../store/breaks/break-cases.ts';
import type { QuarantineRow } from '../../../store/quarantine.ts';
import { addressWith, monthAddress, unreadableAddress } from './addresses.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { merchantPart } from './names.ts';
import { dayTime, link, pagingLinks, table } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';

export interface UnreadableShown {
  readonly rows: readonly QuarantineRow[];
  /** Null for every merchant, or every day. */
  readonly merchantNo: string | null;
  readonly day: BusinessDay | null;
  readonly all: boolean;
  readonly page: number;
  readonly hasMore: boolean;
}

/** The days on which it can lie, with the way to their month. */
function daysOf(view: View, { merchant_no: merchantNo, begin_ms, end_ms }: QuarantineRow): Part {
  const [from, to] = [dayOf(begin_ms, view.zone), dayOf(end_ms, view.zone)];
  const days = from === to ? dayTime(view, from) : [dayTime(view, from), ' – ', dayTime(view, to)];
  return link(monthAddress(merchantNo, from.slice(0, 'YYYY-MM'.length)), days);
}

/** What has become of it. */
export const unreadableState = ({ unreadable }: View['texts'], row: QuarantineRow): string =>
  row.released_at !== null
    ? unreadable.released
    : row.acknowledged_at !== null
      ? unreadable.acknowledged
      : unreadable.open;

export function unreadablePage(view: View, shown: UnreadableShown): string {
  const { texts, format, address } = view;
  const { unreadable } = texts;
  const { rows, merchantNo, day, all, page: number } = shown;
  return page(view, {
    title: unreadable.title,
    section: 'status',
    content: html`<h1 id="list">${unreadable.title}</h1>
      <p class="soft">${unreadable.about}</p>
      ${when(merchantNo !== null || day !== null, () => html`<p>${when(merchantNo !== null, () => merchantPart(view, merchantNo!))} ${when(day !== null, () => dayTime(view, day!))} · ${link('/unreadable', unreadable.everywhere)}</p>`)}
      <p>
        ${link(addressWith(address, { all: all ? null : 'yes', page: null }), all ? unreadable.showOpen : unreadable.showAll)}
      </p>
      ${
        rows.length === 0
          ? html`<p>${unreadable.nothing}</p>`
          : table({ by: 'list' }, rows, [
              [unreadable.number, ({ id }) => link(unreadableAddress(id), id), 'name'],
              [texts.search.merchant, (row) => merchantPart(view, row.merchant_no), 'line'],
              [texts.breaks.day, (row) => daysOf(view, row), 'line'],
              [texts.day.batchNo, (row) => row.batch_no],
              [unreadable.reason, ({ reason }) => reason, 'wide'],
              [unreadable.firstSeen, (row) => format.shown.instant(row.first_seen_at), 'line'],
              [texts.breaks.state, (row) => unreadableState(texts, row), 'line'],
            ])
      }
      ${pagingLinks(view, [
        number > 1 && [addressWith(address, { page: number - 1 }), texts.previous],
        shown.hasMore && [addressWith(address, { page: number + 1 }), texts.next],
      ])}`,
  });
}

export interface OneUnreadableShown {
  readonly row: QuarantineRow;
  /** The result of the last action. */
  readonly said: Said | null;
  /** The typed text of a refused note. */
  readonly note: string;
}

export function unreadableOnePage(view: View, { row, said, note }: OneUnreadableShown): string {
  const { texts, format, person } = view;
  const { unreadable } = texts;
  const isOperator = person?.role === 'operator';
  const isOpen = row.released_at === null && row.acknowledged_at === null;
  const title = unreadable.one(row.id);
  return page(view, {
    title,
    section: 'status',
    content: html`<p class="up">${link('/unreadable', unreadable.title)}</p>
      <h1>${title}</h1>
      ${saidPart(view, said)}
      <p>
        ${merchantPart(view, row.merchant_no)},
        ${daysOf(view, row)}${when(row.batch_no !== null, () => html`, ${row.batch_no}`)}
      </p>
      <p><strong>${unreadableState(texts, row)}</strong>: ${row.reason}</p>
      <p>
        ${filled(texts.entry.unreadableSince, format.shown.instant(row.first_seen_at))}${when(row.occurrences > 1, () => html`; ${unreadable.times(row.occurrences)}`)}
      </p>
      ${when(row.acknowledged_at !== null, () => html`<p>${filled(unreadable.acknowledgedAt, format.shown.instant(row.acknowledged_at!))}: <q>${row.note}</q></p>`)}
      <h2 id="raw">${unreadable.raw}</h2>
      ${
        isOperator
          ? html`<pre tabindex="0" role="region" aria-labelledby="raw">${row.raw}</pre>`
          : html`<p class="soft">${unreadable.viewer}</p>`
      }
      ${when(isOpen && isOperator, () => acknowledgeForm(view, row, note))}`,
  });
}

const acknowledgeForm = ({ texts, formToken }: View, { id }: QuarantineRow, note: string): Html =>
  html`<h2 id="acknowledge">${texts.unreadable.acknowledge}</h2>
    <p>${texts.unreadable.meaningOfIt}</p>
    <form method="post" action="${unreadableAddress(id)}">
      <input type="hidden" name="form_token" value="${formToken}" />
      <p>
        <label for="note">${texts.unreadable.note}</label
        ><textarea id="note" name="note" rows="2" cols="34" maxlength="${NOTE_CHARACTERS_MAX}" required>
${note}</textarea>
      </p>
      <p><button class="main">${texts.unreadable.acknowledge}</button></p>
    </form>`;
