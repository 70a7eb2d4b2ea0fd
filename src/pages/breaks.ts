/** The list of breaks. */
import { causeOf } from '../ledger/hints/stories.ts';
import type { CaseState } from '../store/breaks/break-cases.ts';
import { knownBreak, type BreakRow } from '../store/breaks/breaks.ts';
import { addressWith, breakAddress, dayAddress } from './addresses.ts';
import { html, when, type Html } from './html.ts';
import { scrolling } from './tables.ts';
import { page, type View } from './view.ts';

export interface BreakListed {
  readonly row: BreakRow;
  readonly state: CaseState;
  readonly takenBy: string | null;
}

export interface BreaksShown {
  readonly breaks: readonly BreakListed[];
  readonly all: boolean;
  readonly page: number;
  readonly hasMore: boolean;
}

export function breaksPage(view: View, { breaks, all, page: number, hasMore }: BreaksShown): string {
  const { texts, address } = view;
  const title = all ? texts.breaks.all : texts.breaks.open;
  return page(view, {
    title,
    section: 'breaks',
    content: html`<h1 id="list">${title}</h1>
      <p>
        <a href="${addressWith(address, { all: all ? null : 'yes', page: null })}"
          >${all ? texts.breaks.showOpen : texts.breaks.showAll}</a
        >
      </p>
      ${breaks.length === 0 ? html`<p>${all ? texts.breaks.nothingAtAll : texts.breaks.nothing}</p>` : table(view, breaks)}
      ${when(
        number > 1 || hasMore,
        () =>
          html`<nav class="paging" aria-label="${texts.paging}">
            <ul class="links">
              ${when(number > 1, () => html`<li><a href="${addressWith(address, { page: number - 1 })}">${texts.previous}</a></li>`)}
              ${when(hasMore, () => html`<li><a href="${addressWith(address, { page: number + 1 })}">${texts.next}</a></li>`)}
            </ul>
          </nav>`,
      )}`,
  });
}

const table = (view: View, breaks: readonly BreakListed[]): Html => {
  const { breaks: texts } = view.texts;
  return scrolling(
    { by: 'list' },
    html`<table>
      <thead>
        <tr>
          <th scope="col">${texts.id}</th>
          <th scope="col">${texts.account}</th>
          <th scope="col">${texts.day}</th>
          <th scope="col" class="n">${texts.net}</th>
          <th scope="col">${texts.state}</th>
          <th scope="col">${texts.cause}</th>
        </tr>
      </thead>
      <tbody>
        ${breaks.map((one) => breakRow(view, one))}
      </tbody>
    </table>`,
  );
};

function breakRow(view: View, { row, state, takenBy }: BreakListed): Html {
  const { texts, format } = view;
  const known = knownBreak(row);
  return html`<tr>
    <th scope="row"><a href="${breakAddress(row.id)}">${row.id}</a></th>
    <td class="t">${row.merchant_no} ${row.currency}</td>
    <td class="t">
      <a href="${dayAddress(known.account, row.day)}"
        ><time datetime="${row.day}">${format.shown.day(row.day)}</time></a
      >
    </td>
    <td class="n">${format.amount(row.missing_net)}</td>
    <td class="t">
      <span class="s ${state}">${texts.caseState[state]}</span
      >${when(takenBy !== null, () => html` ${texts.breaks.takenBy(takenBy!)}`)}
    </td>
    <td class="w">${state === 'healed' ? null : causeOf(known)}</td>
  </tr> `;
}
