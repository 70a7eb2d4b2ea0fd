/** The days of a month: each account's as a mark, and what the marks mean. */
import type { Account, BusinessDay } from '../../../ledger/entry.ts';
import { DAY_NOTES, DAY_STATES, type DayNote, type DayState } from '../../../run/day-state.ts';
import type { Month } from '../../../months/month.ts';
import type { ClosedMonth } from '../../../months/closes.ts';
import type { AccountFacts } from '../../../store/day-facts.ts';
import { addressWith, dayAddresses, monthAddress } from './addresses.ts';
import { html, when, type Html, type Part } from './html.ts';
import { accountPart } from './names.ts';
import { scrolling } from './parts.ts';
import type { View } from './view.ts';

export interface DayMark {
  readonly day: BusinessDay;
  readonly state: DayState;
  readonly notes: readonly DayNote[];
  /** Revised since this person downloaded it. */
  readonly isRevised: boolean;
  /** Not what the close of its month froze. */
  readonly isAdjusted: boolean;
  /** Open breaks that concern the day, of those that lie between two days both. */
  readonly breaks: readonly number[];
}

export interface MarkedAccount {
  readonly account: Account;
  /** What they were judged by. */
  readonly facts: AccountFacts;
  readonly days: readonly DayMark[];
  /** Null where their month is not closed. */
  readonly closed: ClosedMonth | null;
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

/** On a narrow screen days longer ago than these last ones of the month's are left to the month's own page. */
const RECENT_DAYS = 7;

/** Each account's days of one month, a mark a day that leads there. */
export function daysGrid(view: View, month: Month, accounts: readonly MarkedAccount[]): Html {
  const { texts, format } = view;
  const name = format.plain.month(month.name);
  const days = accounts[0]!.days;
  const over = days.findLastIndex(({ state }) => state !== 'not-over');
  const recentFrom = Math.max(0, over + 1 - RECENT_DAYS);
  const isRecent = (at: number): boolean => at >= recentFrom && at <= Math.max(over, recentFrom);
  const className = (at: number): string | null => (isRecent(at) ? null : 'early');
  return scrolling(
    { label: texts.months.caption(name) },
    html`<table class="grid">
      <caption>
        ${texts.months.caption(name)}
      </caption>
      <thead>
        <tr>
          <th scope="col">${texts.months.account}</th>
          ${days.map(({ day }, at) => html`<th scope="col" class="${className(at)}">${Number(day.slice(8))}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${accounts.map(({ account, days: own }) => {
          const addressOf = dayAddresses(account);
          const address = addressWith(monthAddress(account.merchantNo, month.name), {
            currency: account.currency,
          });
          return html`<tr>
            <th scope="row">${accountPart(view, account, address)}</th>
            ${own.map((mark, at) => cell(view, mark, addressOf, className(at)))}
          </tr> `;
        })}
      </tbody>
    </table>`,
  );
}

/** Whether the month is closed, and whether that still holds. */
export const closedMark = ({ texts }: View, { adjustments }: Pick<ClosedMonth, 'adjustments'>): Html =>
  html`<span class="s closed"
    >${adjustments.length === 0 ? texts.close.closed : texts.close.closedAdjusted}</span
  >`;

const cell = (
  view: View,
  mark: DayMark,
  addressOf: (day: BusinessDay) => string,
  className: string | null,
): Html =>
  WITHOUT_PAGE.includes(mark.state) || (mark.state === 'not-over' && !mark.isRevised)
    ? html`<td class="${mark.state} ${className}">${SIGNS[mark.state]}</td>`
    : html`<td class="${mark.state}${mark.isRevised ? ' revised' : null} ${className}">
        <a class="${mark.state}" href="${addressOf(mark.day)}" aria-label="${stateText(view, mark)}"
          >${SIGNS[mark.state]}${noteSigns(mark)}</a
        >
      </td>`;

const ADJUSTED = '∆';
const REVISED = '↓';

type Mark = Omit<DayMark, 'day' | 'breaks'>;

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

const PLAIN: Mark = { state: 'proven', notes: [], isRevised: false, isAdjusted: false };

/** What the marks mean, of those kinds that are in use. */
export function legendOf(view: View, accounts: readonly MarkedAccount[]): Html {
  const { texts } = view;
  const marks = accounts.flatMap(({ days }) => days);
  const isUsed = (test: (mark: DayMark) => boolean): boolean => marks.some(test);
  const legendItem = (mark: Mark, meaning: string): Html =>
    html`<li>
      <span class="s proven${mark.isRevised ? ' revised' : null}">${SIGNS.proven}${noteSigns(mark)}</span>
      ${meaning}
    </li> `;
  return html`<h3 class="soft">${texts.months.legend}</h3>
    <ul class="legend">
      ${DAY_STATES.filter((state) => state !== 'before' && isUsed((mark) => mark.state === state)).map(
        (state) => html`<li>${stateMark(view, { ...PLAIN, state })} ${texts.stateMeaning[state]}</li>`,
      )}
      ${DAY_NOTES.filter((note) => isUsed((mark) => mark.notes.includes(note))).map((note) =>
        legendItem({ ...PLAIN, notes: [note] }, texts.note[note]),
      )}
      ${when(
        isUsed(({ isRevised }) => isRevised),
        () => legendItem({ ...PLAIN, isRevised: true }, texts.revised),
      )}
      ${when(
        isUsed(({ isAdjusted }) => isAdjusted),
        () => legendItem({ ...PLAIN, isAdjusted: true }, texts.close.adjustedDay),
      )}
    </ul>`;
}
