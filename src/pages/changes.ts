/** The page of what changed since a day: statements that were revised, and why. */
import type { BusinessDay } from '../ledger/entry.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { addressWith, dayAddress } from './addresses.ts';
import { html, when, type Html } from './html.ts';
import { page, type View } from './view.ts';

export interface ChangesShown {
  readonly since: BusinessDay;
  readonly revised: readonly StatementRow[];
  readonly hasMore: boolean;
}

export function changesPage(view: View, { since, revised, hasMore }: ChangesShown): string {
  const { texts } = view;
  return page(view, {
    title: texts.changes.title,
    section: 'changes',
    content: html`<h1>${texts.changes.title}</h1>
      <form class="line" method="get" action="/changes">
        <p>
          <label for="since">${texts.changes.since}</label
          ><input id="since" name="since" type="date" value="${since}" />
        </p>
        <p><button>${texts.changes.show}</button></p>
      </form>
      <h2 id="revised">${texts.changes.revised}</h2>
      ${revised.length === 0 ? html`<p>${texts.changes.nothing}</p>` : table(view, revised)}
      ${when(hasMore, () => html`<p>${texts.changes.more}</p>`)}`,
  });
}

const table = (view: View, revised: readonly StatementRow[]): Html => {
  const { changes, day } = view.texts;
  return html`<div class="scroll" role="region" tabindex="0" aria-labelledby="revised">
    <table>
      <thead>
        <tr>
          <th scope="col">${changes.at}</th>
          <th scope="col">${changes.account}</th>
          <th scope="col">${changes.day}</th>
          <th scope="col">${day.compare}</th>
          <th scope="col">${changes.why}</th>
        </tr>
      </thead>
      <tbody>
        ${revised.map((row) => revisedRow(view, row))}
      </tbody>
    </table>
  </div>`;
};

function revisedRow({ texts, format }: View, row: StatementRow): Html {
  const { day, revision } = row;
  const before = row.supersedes ?? revision - 1;
  const address = dayAddress({ merchantNo: row.merchant_no, currency: row.currency }, day);
  return html`<tr>
    <td class="t">${format.instant(row.published_at)}</td>
    <td class="t">${row.merchant_no} ${row.currency}</td>
    <th scope="row" class="t">
      <a href="${address}"><time datetime="${day}">${format.day(day)}</time></a>
    </th>
    <td class="t">
      <a href="${addressWith(address, { revision, against: before })}#compared"
        >${texts.changes.compare(before, revision)}</a
      >
    </td>
    <td class="w">${row.reason}</td>
  </tr> `;
}
