/** The page of a merchant's month: the figures of each account with what is open, and every day of one of them. */
import { STATEMENT_FORMATS } from '../../../statements/formats/all.ts';
import { monthFigures, type AccountMonth, type Month } from '../../../statements/month.ts';
import { missingNetOf } from '../../../statements/month-figures.ts';
import type { OpenDay } from '../../../statements/open-days.ts';
import { addressWith, monthAddress, monthDownloadAddress, monthOverviewAddress } from './addresses.ts';
import { closeSection, daysText, type CloseShown } from './close.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { closedMark, stateMark, WITHOUT_PAGE, type DayMark } from './months.ts';
import { amountOrNothing, dayLink, dayTime, link, otherFormats, table } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';

export interface MonthShown {
  readonly merchantNo: string;
  readonly month: Month;
  /** Names of the adjacent months. */
  readonly before: string;
  readonly after: string;
  readonly accounts: readonly AccountMonth[];
  /** Of all accounts. */
  readonly openDays: readonly OpenDay[];
  /** Null where no option closes months. */
  readonly close: Omit<CloseShown, 'merchantNo' | 'month' | 'hasStatements'> | null;
  /** The result of the last action. */
  readonly said: Said | null;
  /** The account whose days are shown, with its marks; null if there is none. */
  readonly chosen: { readonly account: AccountMonth; readonly days: readonly DayMark[] } | null;
}

export function monthPage(view: View, shown: MonthShown): string {
  const { texts, format } = view;
  const { merchantNo, month, accounts, chosen, close } = shown;
  const title = (name: string): string => texts.month.title(merchantNo, name);
  const hasStatements = accounts.some(({ statements }) => statements.length > 0);
  return page(view, {
    title: title(format.plain.month(month.name)),
    section: 'months',
    content: html`<h1>
        ${filled(title, format.shown.month(month.name))}
        ${when(close !== null && close.closes.length > 0, () => closedMark(view, close!))}
      </h1>
      ${saidPart(shown.said)}
      <ul class="links paging">
        <li>${link(monthAddress(merchantNo, shown.before), texts.months.earlier)}</li>
        <li>${link(monthAddress(merchantNo, shown.after), texts.months.later)}</li>
        <li>${link(`/?month=${month.name}`, texts.months.title)}</li>
        ${when(hasStatements, () => downloads(view, merchantNo, month.name))}
      </ul>
      ${accounts.length === 0 ? html`<p>${texts.month.nothing}</p>` : accountsTable(view, shown)}
      ${when(close !== null && accounts.length > 0, () => closeSection(view, { ...close!, merchantNo, month: month.name, hasStatements }))}
      ${when(chosen !== null, () => daysTable(view, shown, chosen!))}`,
  });
}

/** Links to the month's overview, and to its statements in each format. */
function downloads({ texts }: View, merchantNo: string, month: string): Part {
  const address = monthDownloadAddress(merchantNo, month);
  return [
    ...STATEMENT_FORMATS.filter((format) => format.month !== undefined).map(
      ({ extension }) =>
        html`<li>${link(monthOverviewAddress(merchantNo, month, extension), texts.month.overview)}</li>`,
    ),
    html`<li>${link(address, texts.month.download)}</li>`,
    ...otherFormats(texts).map(
      ([format, name]) =>
        html`<li>${link(addressWith(address, { format }), texts.month.downloadAs(name))}</li>`,
    ),
  ];
}

const accountsTable = (view: View, { accounts, openDays }: MonthShown): Html => {
  const { format, address } = view;
  const { month } = view.texts;
  const rows = accounts.map((account) => ({
    account,
    figures: monthFigures(account),
    open: openDays.filter(({ currency }) => currency === account.currency),
  }));
  const days = ({ statements }: AccountMonth): Part =>
    [...new Set([statements[0], statements.at(-1)].flatMap((row) => row?.day ?? []))].map(
      (day, at) => html`<span class="together">${at === 0 ? null : '– '}${format.shown.day(day)}</span> `,
    );
  return html`<h2 id="accounts">${month.accounts}</h2>
    ${table({ by: 'accounts' }, rows, [
      [
        month.account,
        ({ account: { currency } }) => link(`${addressWith(address, { currency })}#days`, currency),
        'name',
      ],
      [month.figuresOf, ({ account }) => days(account)],
      [month.opening, ({ figures }) => amountOrNothing(format, figures.opening), 'number'],
      [month.credits, ({ figures }) => amountOrNothing(format, figures.creditTotal), 'number'],
      [month.creditCount, ({ figures }) => format.count(figures.creditCount), 'number'],
      [month.debits, ({ figures }) => amountOrNothing(format, figures.debitTotal), 'number'],
      [month.debitCount, ({ figures }) => format.count(figures.debitCount), 'number'],
      [month.closing, ({ figures }) => amountOrNothing(format, figures.closing), 'number'],
      [month.openDays, ({ open }) => (open.length === 0 ? month.noneOpen : openList(view, open)), 'listed'],
    ])}
    ${rows.map(({ account, open }) => differencePart(view, account, open))}`;
};

/**
 * Amounts are exact text, so any digit but 0 makes a difference. It is explained if the account has breaks and no day that
 * is over is open.
 */
function differencePart({ texts, format }: View, account: AccountMonth, open: readonly OpenDay[]): Part {
  const difference = missingNetOf(monthFigures(account));
  const isExplained =
    account.statements.some((row) => row.break_count > 0) && open.every(({ cause }) => cause === 'not-over');
  const text = isExplained ? texts.month.differenceExplained : texts.month.difference;
  return when(
    difference !== null && /[1-9]/.test(difference),
    () => html`<p class="soft">${text(account.currency, format.amount(difference!))}</p>`,
  );
}

/** Open days by what they wait for. */
const openList = ({ texts, format }: View, open: readonly OpenDay[]): Html[] =>
  [...Map.groupBy(open, ({ cause }) => cause)].map(
    ([cause, days]) =>
      html`<div>
        ${texts.close.causes[cause]}:
        ${daysText(
          format,
          days.map(({ day }) => day),
        )}
      </div>`,
  );

function daysTable(
  view: View,
  { merchantNo }: MonthShown,
  { account: { currency, statements }, days }: NonNullable<MonthShown['chosen']>,
): Html {
  const { format, texts } = view;
  const { month } = texts;
  const published = new Map(statements.map((row) => [row.day, row]));
  const rows = days
    .filter(({ state }) => state !== 'before')
    .map((mark) => ({ mark, row: published.get(mark.day) }));
  const dayOf = ({ day, state }: DayMark): Html =>
    WITHOUT_PAGE.includes(state) ? dayTime(view, day) : dayLink(view, { merchantNo, currency }, day);
  const unpublished = ({ state }: DayMark): Part =>
    when(![...WITHOUT_PAGE, 'not-over'].includes(state), () => month.notPublished);
  return html`<h2 id="days">${month.days(currency)}</h2>
    ${table({ by: 'days' }, rows, [
      [month.day, ({ mark }) => dayOf(mark), 'name'],
      [month.state, ({ mark }) => stateMark(view, mark), 'state'],
      [month.opening, ({ row }) => amountOrNothing(format, row?.opening), 'number'],
      [month.credits, ({ row }) => amountOrNothing(format, row?.credit_total), 'number'],
      [month.debits, ({ row }) => amountOrNothing(format, row?.debit_total), 'number'],
      [month.closing, ({ row }) => amountOrNothing(format, row?.closing), 'number'],
      [month.entries, ({ row }) => row && format.count(row.credit_count + row.debit_count), 'number'],
      [month.statement, ({ mark, row }) => (row ? month.revision(row.revision) : unpublished(mark))],
    ])}`;
}
