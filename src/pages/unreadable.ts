/** The section of a day's page on received entries that could not be read. */
import type { UnreadableWithin } from '../store/quarantine.ts';
import { html, when, type Html, type Part } from './html.ts';
import type { View } from './view.ts';

/** `inAll`: how many there are; `entries` may be only the first of them. */
export const unreadableSection = (
  { texts, format }: View,
  entries: readonly UnreadableWithin[],
  inAll: number,
): Part =>
  when(
    entries.length > 0,
    () =>
      html`<h2>${texts.unreadable.title}</h2>
        <p class="soft">${texts.unreadable.meaning}</p>
        <ul>
          ${entries.map((one) => item(texts, one))}
        </ul>
        ${when(inAll > entries.length, () => html`<p>${texts.unreadable.more(format.count(inAll - entries.length))}</p>`)}`,
  );

const item = (
  { unreadable }: View['texts'],
  { id, batchNo, reason, acknowledgedAt }: UnreadableWithin,
): Html =>
  html`<li>
    ${batchNo ?? unreadable.numberless(id)}:
    ${reason}${when(acknowledgedAt !== null, () => html` (${unreadable.acknowledged})`)}
  </li> `;
