/** The page of what changed since a day: statements that were revised, and why. */
import type { BusinessDay } from '../ledger/entry.ts';
import type { RevisedRow } from '../store/pages/downloaded.ts';
import { addressWith, dayAddress } from './addresses.ts';
import { html, when, type Html } from './html.ts';
import { scrolling } from './tables.ts';
import { page, type View } from './view.ts';

export interface RevisedShown {
  readonly row: RevisedRow;
  /** This person downloaded an earlier revision of its day, and not the current one. */
  readonly isRevised: boolean;
}

export interface ChangesShown {
  readonly since: BusinessDay;
  readonly revised: readonly RevisedShown[];
  readonly isFirst: boolean;
  /** The place that the next page begins behind; null on the last one. */
  readonly next: string | null;
}

export function changesPage(view: View, { since, revised, isFirst, next }: ChangesShown): string {
  const { texts, address } = view;
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
      ${when(
        !isFirst || next !== null,
        () =>
          html`<nav class="paging" aria-label="${texts.paging}">
            <ul class="links">
              ${when(!isFirst, () => html`<li><a href="${addressWith(address, { after: null })}">${texts.first}</a></li>`)}
              ${when(next !== null, () => html`<li><a href="${addressWith(address, { since, after: next })}">${texts.changes.older}</a></li>`)}
            </ul>
          </nav>`,
      )}`,
  });
}

const table = (view: View, revised: readonly RevisedShown[]): Html => {
  const { changes, day } = view.texts;
  return scrolling(
    { by: 'revised' },
    html`<table>
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
        ${revised.map((one) => revisedRow(view, one))}
      </tbody>
    </table>`,
  );
};

function revisedRow({ texts, format }: View, { row, isRevised }: RevisedShown): Html {
  const { day, revision, late } = row;
  const before = row.supersedes ?? revision - 1;
  const address = dayAddress({ merchantNo: row.merchant_no, currency: row.currency }, day);
  return html`<tr>
    <td class="t">${format.shown.instant(row.published_at)}</td>
    <td class="t">${row.merchant_no} ${row.currency}</td>
    <th scope="row" class="t">
      <a href="${address}"><time datetime="${day}">${format.shown.day(day)}</time></a>
    </th>
    <td class="t">
      ${late === null ? html`<a href="${addressWith(address, { revision, against: before })}#compared">${texts.changes.compare(before, revision)}</a>` : html`<a href="${address}">${texts.changes.first(revision)}</a>`}
    </td>
    <td class="w">
      ${late === null ? row.reason : texts.changes.late[late](format.count(row.row_count))}${when(isRevised, () => html` <span class="s revised">${texts.revised}</span>`)}
    </td>
  </tr> `;
}
