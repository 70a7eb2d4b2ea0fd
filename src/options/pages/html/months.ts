/** The page of all months: each account's days of one month, a mark a day. */
import { addDays } from '../../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../../ledger/entry.ts';
import { DAY_NOTES, DAY_STATES, type DayNote, type DayState } from '../../../run/day-state.ts';
import type { Month } from '../../../statements/month.ts';
import type { ClosedMonth } from '../../../statements/closes.ts';
import type { AccountFacts } from '../../../store/day-facts.ts';
import { addressWith, dayAddresses, monthAddress } from './addresses.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { link, pagingLinks, scrolling } from './parts.ts';
import { page, type View } from './view.ts';

export interface DayMark {
  readonly day: BusinessDay;
  readonly state: DayState;
  readonly notes: readonly DayNote[];
  /** Revised since this person downloaded it. */
  readonly isRevised: boolean;
  /** Not what the close of its month froze. */
  readonly isAdjusted: boolean;
}

export interface MarkedAccount {
  readonly account: Account;
  /** What they were judged by. */
  readonly facts: AccountFacts;
  readonly days: readonly DayMark[];
  /** Null where their month is not closed. */
  readonly closed: ClosedMonth | null;
}

export interface MonthsShown {
  readonly month: Month;
  /** Part of the merchants' numbers that was asked for. */
  readonly contains: string;
  readonly accounts: readonly MarkedAccount[];
  readonly isFirst: boolean;
  /** The address of the next page; null on the last one. */
  readonly next: Account | null;
}

/** The marks are also letters and signs, as not everybody sees the colours. */
const SIGNS: Readonly<Record<DayState, string>> = {
  proven: '✓',
  reordered: '↕',
  broken: '✗',
  explained: '¶',
  unreadable: '!',
  empty: '–',
  'not-over': '…',
  uncertified: '?',
  'not-read': '·',
  before: ' ',
};

/** They stand behind the sign of the state. */
const NOTE_SIGNS: Readonly<Record<DayNote, string>> = {
  unreadable: '!',
  derived: '⊢',
  unpublished: '↑',
  due: '↻',
};

/** States of days that have no page. */
export const WITHOUT_PAGE: readonly DayState[] = ['before', 'not-read'];

export function monthsPage(view: View, shown: MonthsShown): string {
  const { texts, format } = view;
  const { month, contains, accounts } = shown;
  return page(view, {
    title: texts.months.of(format.plain.month(month.name)),
    section: 'months',
    content: html`<h1>${filled(texts.months.of, format.shown.month(month.name))}</h1>
      <ul class="links paging">
        <li>${link(adjacentMonth(view, addDays(month.from, -1)), texts.months.earlier)}</li>
        <li>${link(adjacentMonth(view, addDays(month.to, 1)), texts.months.later)}</li>
      </ul>
      <form class="line" method="get" action="/">
        <p>
          <label for="month">${texts.months.month}</label
          ><input id="month" name="month" type="month" value="${month.name}" />
        </p>
        <p>
          <label for="q">${texts.months.filter}</label
          ><input id="q" name="q" type="search" value="${contains}" />
        </p>
        <p><button>${texts.months.show}</button></p>
      </form>
      ${accounts.length === 0 ? html`<p>${texts.months.nothing}</p>` : grid(view, shown, format.plain.month(month.name))}
      ${paging(view, shown)} ${legend(view)}`,
  });
}

const adjacentMonth = ({ address }: View, day: BusinessDay): string =>
  addressWith(address, { month: day.slice(0, 7), after: null });

const grid = (view: View, { month, accounts }: MonthsShown, name: string): Html =>
  scrolling(
    { label: view.texts.months.caption(name) },
    html`<table class="grid">
      <caption>
        ${view.texts.months.caption(name)}
      </caption>
      <thead>
        <tr>
          <th scope="col">${view.texts.months.account}</th>
          ${accounts[0]!.days.map(({ day }) => html`<th scope="col">${Number(day.slice(8))}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${accounts.map(({ account, days, closed }) => {
          const addressOf = dayAddresses(account);
          return html`<tr>
            <th scope="row">
              ${link(monthAddress(account.merchantNo, month.name), account.merchantNo)} ${account.currency}
              ${when(closed !== null, () => closedMark(view, ofAccount(closed!, account)))}
            </th>
            ${days.map((mark) => cell(view, mark, addressOf))}
          </tr> `;
        })}
      </tbody>
    </table>`,
  );

/** Of a closed month, what adjusts this account's days. */
const ofAccount = (closed: ClosedMonth, { currency }: Account): Pick<ClosedMonth, 'adjustments'> => ({
  adjustments: closed.adjustments.filter((one) => one.currency === currency),
});

/** Whether the month is closed, and whether that still holds. */
export const closedMark = ({ texts }: View, { adjustments }: Pick<ClosedMonth, 'adjustments'>): Html =>
  html`<span class="s closed"
    >${adjustments.length === 0 ? texts.close.closed : texts.close.closedAdjusted}</span
  >`;

const cell = (view: View, mark: DayMark, addressOf: (day: BusinessDay) => string): Html =>
  WITHOUT_PAGE.includes(mark.state) || (mark.state === 'not-over' && !mark.isRevised)
    ? html`<td class="${mark.state}">${SIGNS[mark.state]}</td>`
    : html`<td class="${mark.state}${mark.isRevised ? ' revised' : null}">
        <a class="${mark.state}" href="${addressOf(mark.day)}" aria-label="${stateText(view, mark)}"
          >${SIGNS[mark.state]}${noteSigns(mark)}</a
        >
      </td>`;

const ADJUSTED = '∆';
const REVISED = '↓';

type Mark = Omit<DayMark, 'day'>;

const noteSigns = ({ notes, isAdjusted, isRevised }: Omit<Mark, 'state'>): Part => {
  const signs = [
    ...notes.map((note) => NOTE_SIGNS[note]),
    ...(isAdjusted ? [ADJUSTED] : []),
    ...(isRevised ? [REVISED] : []),
  ];
  return when(signs.length > 0, () => html`<sup>${signs.join('')}</sup>`);
};

const stateText = ({ texts }: View, { state, notes, isRevised, isAdjusted }: Mark): string =>
  [
    texts.state[state],
    ...notes.map((note) => texts.note[note]),
    ...(isAdjusted ? [texts.close.adjustedDay] : []),
    ...(isRevised ? [texts.revised] : []),
  ].join(', ');

/** A day's state as a mark with its word. */
export const stateMark = (view: View, mark: Mark): Html =>
  html`<span class="s ${mark.state}${mark.isRevised ? ' revised' : null}"
    >${SIGNS[mark.state]}${noteSigns(mark)} ${stateText(view, mark)}</span
  >`;

const paging = (view: View, { isFirst, next }: MonthsShown): Part => {
  const { texts, address } = view;
  return pagingLinks(view, [
    !isFirst && [addressWith(address, { after: null }), texts.first],
    next !== null && [addressWith(address, { after: `${next.merchantNo} ${next.currency}` }), texts.next],
  ]);
};

const PLAIN: Mark = { state: 'proven', notes: [], isRevised: false, isAdjusted: false };

const legend = (view: View): Html => {
  const { texts } = view;
  const legendItem = (mark: Mark, meaning: string): Html =>
    html`<li>
      <span class="s proven${mark.isRevised ? ' revised' : null}">${SIGNS.proven}${noteSigns(mark)}</span>
      ${meaning}
    </li> `;
  return html`<h2>${texts.months.legend}</h2>
    <ul class="legend">
      ${DAY_STATES.filter((state) => state !== 'before').map((state) => html`<li>${stateMark(view, { ...PLAIN, state })} ${texts.stateMeaning[state]}</li>`)}
      ${DAY_NOTES.filter((note) => note !== 'unreadable').map((note) => legendItem({ ...PLAIN, notes: [note] }, texts.note[note]))}
      ${legendItem({ ...PLAIN, isRevised: true }, texts.revised)}
      ${legendItem({ ...PLAIN, isAdjusted: true }, texts.close.adjustedDay)}
    </ul>`;
};
