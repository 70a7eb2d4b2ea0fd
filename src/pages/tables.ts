/** Parts that many tables have. */
import { html, type Html, type Part } from './html.ts';
import type { View } from './view.ts';

/**
 * A table that scrolls sideways by itself where the window is narrow, by keyboard too. It is named by the element with the
 * id `by`, or by `label`.
 */
export const scrolling = (name: { readonly by: string } | { readonly label: string }, table: Part): Html =>
  'by' in name
    ? html`<div class="scroll" role="region" tabindex="0" aria-labelledby="${name.by}">${table}</div>`
    : html`<div class="scroll" role="region" tabindex="0" aria-label="${name.label}">${table}</div>`;

/** The heads of an entry's amounts. */
export const amountHeads = ({ texts: { day } }: Pick<View, 'texts'>): Html =>
  html`<th scope="col" class="n">${day.credit}</th>
    <th scope="col" class="n">${day.debit}</th>
    <th scope="col" class="n">${day.balance}</th>`;
