/** The part of a day's page about entries that came, but could not be read. */
import type { UnreadableWithin } from '../store/quarantine.ts';
import { html, when, type Html, type Part } from './html.ts';
import type { View } from './view.ts';

/** Nothing where there are none. `inAll` says of how many these are the first ones. */
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
