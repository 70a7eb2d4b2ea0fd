/** The page of an entry by its number: what it held over time, adjacent breaks, its lines in the statements. */
import type { EntryPlaces } from '../../../statements/entry-places.ts';
import type { EntryContent, EntryHistory } from '../../../store/entry-history.ts';
import type { QuarantineRow } from '../../../store/quarantine.ts';
import { knownBreak, type BreakRow } from '../../../store/breaks/breaks.ts';
import { explain } from '../../../ledger/hints/stories.ts';
import { addressWith, dayAddress, dayDownloadAddress, unreadableAddress } from './addresses.ts';
import { curedPart } from './cures.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { amountColumns, breakLink, dayTime, link, table } from './parts.ts';
import { unreadableState } from './unreadable.ts';
import { page, type View } from './view.ts';

/** Entries of that number that could not be read. */
export const unreadablePart = ({ texts, format }: View, unreadable: readonly QuarantineRow[]): Part =>
  when(
    unreadable.length > 0,
    () =>
      html`<h2>${texts.entry.unreadable}</h2>
        <ul>
          ${unreadable.map(
            (row) =>
              html`<li>
                ${link(unreadableAddress(row.id), row.id)}, ${texts.entry.of(row.merchant_no)}: ${row.reason}
                (${filled(texts.entry.unreadableSince, format.shown.instant(row.first_seen_at))};
                ${unreadableState(texts, row)})
              </li>`,
          )}
        </ul>`,
  );

export interface EntryShown {
  readonly batchNo: string;
  readonly history: EntryHistory;
  readonly breaks: readonly BreakRow[];
  readonly unreadable: readonly QuarantineRow[];
  /** Null until requested: complete files are read for them. */
  readonly places: EntryPlaces | null;
}

export function entryPage(view: View, shown: EntryShown): string {
  const { texts, format } = view;
  const { batchNo, history, breaks, places } = shown;
  const title = texts.entry.title(batchNo);
  return page(view, {
    title,
    section: 'entry',
    content: html`<h1>${title}</h1>
      <p>${texts.entry.of(history.merchantNo)}</p>
      ${when(history.vanishedAt !== null, () => html`<p class="said wrong">${filled(texts.entry.vanished, format.shown.instant(history.vanishedAt!))}</p>`)}
      ${when(history.absentSince !== null, () => html`<p class="said">${filled(texts.entry.absent, format.shown.instant(history.absentSince!))}</p>`)}
      <h2 id="contents">${texts.entry.contents}</h2>
      ${contentsTable(view, history)}
      <h2>${texts.entry.breaks}</h2>
      ${
        breaks.length === 0
          ? html`<p>${texts.entry.noBreaks}</p>`
          : html`<ul>
              ${breaks.map((row) => html`<li>${breakLink(view, row.id)} <span class="s ${row.status}">${texts.caseState[row.status as 'open' | 'resolved' | 'healed']}</span> ${curedPart(texts, explain(knownBreak(row)))}</li>`)}
            </ul>`
      }
      ${unreadablePart(view, shown.unreadable)}
      <h2 id="places">${texts.entry.places}</h2>
      ${places === null ? html`<p>${link(`${addressWith(view.address, { lines: 'yes' })}#places`, texts.entry.placesShow)}</p>` : placesPart(view, history.merchantNo, places)}`,
  });
}

function contentsTable(view: View, { merchantNo, contents }: EntryHistory): Html {
  const { texts, format } = view;
  const toDay = ({ currency, bookedAt }: EntryContent['entry']): Html => {
    const day = bookedAt.slice(0, 10);
    const address = addressWith(dayAddress({ merchantNo, currency }, day), { q: bookedAt.slice(11) });
    return link(`${address}#rows`, dayTime(view, day));
  };
  return table<EntryContent>({ by: 'contents' }, contents, [
    [texts.entry.version, ({ version }) => version, 'name'],
    [texts.entry.seen, ({ seenAt }) => format.shown.instant(seenAt), 'line'],
    [texts.entry.booked, ({ entry }) => format.shown.instant(new Date(entry.bookedMs)), 'line'],
    [texts.breaks.account, ({ entry }) => entry.currency],
    [texts.day.type, ({ entry }) => entry.transactionType],
    ...amountColumns<EntryContent>(view, ({ entry }) => entry),
    [texts.entry.dayLink, ({ entry }) => toDay(entry), 'line'],
  ]);
}

const placesPart = ({ texts, format }: View, merchantNo: string, { places, unread }: EntryPlaces): Html =>
  html`${table({ by: 'places' }, places, [
    [
      texts.entry.file,
      ({ currency, day, revision, file }) =>
        link(dayDownloadAddress({ merchantNo, currency }, day, revision), file),
      'name',
    ],
    [texts.day.publishedAt, ({ publishedAt }) => format.shown.published(publishedAt), 'line'],
    [
      texts.entry.line,
      ({ problem, found }) =>
        problem !== null
          ? curedPart(texts, problem)
          : found === null
            ? texts.entry.notInFile
            : format.count(found.line),
      'number',
    ],
  ])}
  ${when(unread > 0, () => html`<p>${texts.entry.unread(format.count(unread))}</p>`)}`;
