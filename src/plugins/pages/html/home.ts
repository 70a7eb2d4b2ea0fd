/** The page that people come to first: what each account holds and how far it is proven, then each account's days of a month. */
import { addDays } from '../../../ledger/business-day.ts';
import type { Account } from '../../../ledger/entry.ts';
import { compareAmounts } from '../../../ledger/money.ts';
import type { DayState } from '../../../run/day-state.ts';
import type { ProvenBalance } from '../../../run/proven.ts';
import type { Month } from '../../../months/month.ts';
import { addressWith, monthAddress } from './addresses.ts';
import { sparkline } from './chart.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { closedMark, daysGrid, legendOf, type MarkedAccount } from './months.ts';
import { accountPart } from './names.ts';
import { arrows, dayLink, link, pagingLinks, table } from './parts.ts';
import { page, type View } from './view.ts';

export interface HomeAccount {
  readonly marked: MarkedAccount;
  readonly balance: ProvenBalance;
  /** Of its merchant, those that no one has acknowledged. */
  readonly unreadable: number;
  /** When its merchant was last read to a good end, and how long ago; null if it never was. */
  readonly lastGood: { readonly at: Date; readonly ageMs: number } | null;
}

export interface HomeShown {
  readonly month: Month;
  /** Whether the month is over. */
  readonly isOver: boolean;
  /** Part of the merchants' numbers that was asked for. */
  readonly contains: string;
  readonly accounts: readonly HomeAccount[];
  readonly isFirst: boolean;
  /** The last account shown, where there are more. */
  readonly next: Account | null;
}

export function homePage(view: View, shown: HomeShown): string {
  const { texts, format, address } = view;
  const { month, contains, accounts, isFirst, next } = shown;
  const adjacent = (day: string): readonly [string, Part] => [
    addressWith(address, { month: day.slice(0, 7), after: null }),
    format.shown.month(day.slice(0, 7)),
  ];
  return page(view, {
    title: texts.home.title,
    section: 'home',
    content: html`<h1 id="accounts">${texts.home.title}</h1>
      ${when(contains !== '' || accounts.length > 1 || next !== null || !isFirst, () => filterForm(view, shown))}
      ${accounts.length === 0 ? html`<p>${contains === '' && isFirst ? texts.home.none : texts.home.nothing}</p>` : moneyTable(view, shown)}
      ${pagingLinks(view, [
        !isFirst && [addressWith(address, { after: null }), texts.first],
        next !== null && [addressWith(address, { after: `${next.merchantNo} ${next.currency}` }), texts.next],
      ])}
      ${when(
        accounts.length > 0,
        () =>
          html`<h2 id="month">${filled(texts.months.of, format.shown.month(month.name))}</h2>
            ${arrows(view, adjacent(addDays(month.from, -1)), adjacent(addDays(month.to, 1)))}
            ${monthPart(view, shown)}`,
      )}`,
  });
}

const filterForm = ({ texts }: View, { month, contains }: HomeShown): Html =>
  html`<form class="line" method="get" action="/" role="search">
    <p>
      <label for="q">${texts.months.filter}</label><input id="q" name="q" type="search" value="${contains}" />
    </p>
    <p>
      <label for="of">${texts.months.month}</label
      ><input id="of" name="month" type="month" value="${month.name}" />
    </p>
    <p><button>${texts.months.show}</button></p>
  </form>`;

function moneyTable(view: View, shown: HomeShown): Html {
  const { texts, format } = view;
  const { home } = texts;
  const { month, accounts } = shown;
  const monthLink = ({ marked: { account } }: HomeAccount): string =>
    addressWith(monthAddress(account.merchantNo, month.name), { currency: account.currency });
  return table({ by: 'accounts' }, accounts, [
    [texts.months.account, (one) => accountPart(view, one.marked.account, monthLink(one)), 'nameLine'],
    [home.balance, (one) => balancePart(view, one), 'number'],
    [home.trend, ({ marked }) => trend(view, marked), 'line'],
    [
      home.verified,
      ({ balance: { provenThrough } }) =>
        provenThrough === null ? html`<strong>${home.notVerified}</strong>` : format.shown.day(provenThrough),
      'line',
    ],
    [home.openBreaks, (one) => [breaksPart(view, one), unreadablePart(view, one)], 'line'],
    [format.shown.month(month.name), (one) => monthState(view, shown, one)],
    [home.lastGood, ({ lastGood }) => agePart(view, lastGood), 'line'],
  ]);
}

const balancePart = (view: View, { balance: { last, account } }: HomeAccount): Part =>
  last === null
    ? view.texts.home.noFigures
    : html`${view.format.amount(last.closing)}<br /><span class="soft"
          >${filled(view.texts.home.asOf, dayLink(view, account, last.day))}</span
        >`;

function breaksPart({ texts, format }: View, { balance }: HomeAccount): Part {
  const { openBreaks, unexplained, account } = balance;
  if (openBreaks === 0) return texts.home.noBreaks;
  const address = addressWith('/breaks', { merchant: account.merchantNo, currency: account.currency });
  const text = texts.home.breaks(openBreaks, `${format.amount(unexplained)} ${account.currency}`);
  return html`<span class="s open">${link(address, text)}</span>`;
}

const unreadablePart = ({ texts }: View, { unreadable, marked: { account } }: HomeAccount): Part =>
  when(unreadable > 0, () => {
    const address = addressWith('/unreadable', { merchant: account.merchantNo });
    return html`<br /><span class="s unreadable">${link(address, texts.unreadable.count(unreadable))}</span>`;
  });

/** What keeps a month from being closed; days that are not over do not count. */
const IS_OPEN: readonly DayState[] = ['broken', 'unreadable', 'uncertified'];

function monthState(view: View, { isOver }: HomeShown, { marked }: HomeAccount): Part {
  const { texts, format } = view;
  const { closed, days, account } = marked;
  if (closed !== null)
    return closedMark(view, {
      adjustments: closed.adjustments.filter(({ currency }) => currency === account.currency),
    });
  const open = days.filter(({ state, notes }) => IS_OPEN.includes(state) || notes.includes('unpublished'));
  if (open.length > 0) return texts.home.daysOpen(format.count(open.length));
  return isOver ? texts.home.readyToClose : texts.home.underWay;
}

const HOUR_MS = 3_600_000;

function agePart({ texts }: View, lastGood: HomeAccount['lastGood']): Part {
  if (lastGood === null) return html`<strong>${texts.home.never}</strong>`;
  const { at, ageMs } = lastGood;
  const hours = Math.floor(ageMs / HOUR_MS);
  return html`<time datetime="${at.toISOString()}"
    >${hours < 48 ? texts.home.hoursAgo(hours) : texts.home.daysAgo(Math.floor(hours / 24))}</time
  >`;
}

/** The balance at the end of each day of the month. */
function trend({ texts, format }: View, { facts, account }: MarkedAccount): Part {
  const closings = [...facts.days.values()].map(({ closing }) => closing);
  if (closings.length < 2) return null;
  const [first, last] = [closings[0]!, closings.at(-1)!].map(
    (amount) => `${format.amount(amount)} ${account.currency}`,
  );
  const lowest = closings.reduce((a, b) => (compareAmounts(b, a) < 0 ? b : a));
  return sparkline(closings.map(Number), texts.home.trendText(first!, last!, format.amount(lowest)));
}

function monthPart(view: View, { month, accounts }: HomeShown): Html {
  const { texts, format } = view;
  const marked = accounts.map((one) => one.marked);
  const hasAny = accounts.some(
    ({ marked: { facts, days } }) =>
      facts.days.size > 0 || days.some(({ state }) => !['not-read', 'before', 'not-over'].includes(state)),
  );
  if (hasAny) return html`${daysGrid(view, month, marked)} ${legendOf(view, marked)}`;
  const nearest = nearestMonth(accounts, month);
  return html`<p>
    ${filled(texts.home.emptyMonth, format.shown.month(month.name))}
    ${when(nearest !== null, () => filled(texts.home.nearest, link(addressWith(view.address, { month: nearest }), format.shown.month(nearest!))))}
  </p>`;
}

/** The month of the account's last day where that lies before the month, or of its first day where it lies after it. */
function nearestMonth(accounts: readonly HomeAccount[], { from, to }: Month): string | null {
  const before = accounts.flatMap(({ balance: { last } }) =>
    last !== null && last.day < from ? [last.day] : [],
  );
  const after = accounts.flatMap(({ marked: { facts } }) =>
    facts.firstDay !== null && facts.firstDay > to ? [facts.firstDay] : [],
  );
  const day = before.sort().at(-1) ?? after.sort()[0];
  return day?.slice(0, 7) ?? null;
}
