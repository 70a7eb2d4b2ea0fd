/** The page of what changed since a day: statements that were revised, and why. */
import type { BusinessDay } from '../../../ledger/entry.ts';
import type { RevisedRow } from '../../../store/downloaded.ts';
import { addressWith, dayAddress } from './addresses.ts';
import { html, when, type Html } from './html.ts';
import { accountPart } from './names.ts';
import { dayTime, link, pagingLinks, table } from './parts.ts';
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
      ${revised.length === 0 ? html`<p>${texts.changes.nothing}</p>` : revisedTable(view, revised)}
      ${pagingLinks(view, [
        !isFirst && [addressWith(address, { after: null }), texts.first],
        next !== null && [addressWith(address, { since, after: next }), texts.changes.older],
      ])}`,
  });
}

const revisedTable = (view: View, revised: readonly RevisedShown[]): Html => {
  const { texts, format } = view;
  const addressOf = ({ merchant_no: merchantNo, currency, day }: RevisedRow): string =>
    dayAddress({ merchantNo, currency }, day);
  const compared = (row: RevisedRow): Html => {
    const { revision, late, supersedes } = row;
    if (late !== null) return link(addressOf(row), texts.changes.first(revision));
    const before = supersedes ?? revision - 1;
    const address = `${addressWith(addressOf(row), { revision, against: before })}#compared`;
    return link(address, texts.changes.compare(before, revision));
  };
  return table({ by: 'revised' }, revised, [
    [texts.changes.at, ({ row }) => format.shown.instant(row.published_at), 'line'],
    [
      texts.changes.account,
      ({ row: { merchant_no: merchantNo, currency } }) => accountPart(view, { merchantNo, currency }),
      'line',
    ],
    [texts.changes.day, ({ row }) => link(addressOf(row), dayTime(view, row.day)), 'nameLine'],
    [texts.day.compare, ({ row }) => compared(row), 'line'],
    [
      texts.changes.why,
      ({ row: { late, reason, row_count: rows }, isRevised }) => [
        late === null ? reason : texts.changes.late[late](format.count(rows)),
        when(isRevised, () => html` <span class="s revised">${texts.revised}</span>`),
      ],
      'wide',
    ],
  ]);
};
