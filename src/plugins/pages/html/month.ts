/** The page of a merchant's month: of one account, which tabs choose, its sum, what is open, and every day. */
import { MONTH_FORMATS, STATEMENT_FORMATS } from '../../../statements/formats/all.ts';
import { monthFigures, type AccountMonth, type Month } from '../../../months/month.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { inForce } from '../../../months/closes.ts';
import type { OpenDay } from '../../../months/open-days.ts';
import type { DayState } from '../../../run/day-state.ts';
import { addressWith, monthAddress, monthDownloadAddress, monthOverviewAddress } from './addresses.ts';
import { closeSection, daysText, type CloseShown } from './close.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { closedMark, stateMark, WITHOUT_PAGE, type DayMark } from './months.ts';
import {
  amountOrNothing,
  arrows,
  breakLink,
  dayLink,
  dayTime,
  menu,
  otherFormats,
  table,
  tabs,
} from './parts.ts';
import { merchantPart, merchantText, namesLine } from './names.ts';
import { sumOf } from './sum.ts';
import { page, saidPart, type Said, type View } from './view.ts';
import { workForm } from './work.ts';

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
  /** The days that can be read again; null where none is over. */
  readonly overDays: { readonly from: BusinessDay; readonly to: BusinessDay } | null;
  /** The account whose days are shown, with its marks; null if there is none. */
  readonly chosen: { readonly account: AccountMonth; readonly days: readonly DayMark[] } | null;
}

export function monthPage(view: View, shown: MonthShown): string {
  const { texts, format } = view;
  const { merchantNo, month, accounts, chosen, close } = shown;
  const hasStatements = accounts.some(({ statements }) => statements.length > 0);
  const way = (name: string): readonly [string, Part] => [
    addressWith(monthAddress(merchantNo, name), { currency: chosen?.account.currency ?? null }),
    format.shown.month(name),
  ];
  return page(view, {
    title: texts.month.title(merchantText(view, merchantNo), format.plain.month(month.name)),
    section: 'home',
    content: html`<h1>
        ${filled(texts.month.title, merchantPart(view, merchantNo), format.shown.month(month.name))}
        ${when(close !== null && inForce(close.closes) !== undefined, () => closedMark(view, close!))}
      </h1>
      ${saidPart(view, shown.said)} ${namesLine(view, merchantNo, chosen?.account.currency ?? null)}
      <div class="bar">
        ${arrows(view, way(shown.before), way(shown.after))}
        ${when(hasStatements, () => menu(texts.download, downloads(view, shown)))}
      </div>
      ${chosen === null ? html`<p>${texts.month.nothing}</p>` : accountPart(view, shown, chosen)}
      ${when(close !== null && accounts.length > 0, () => closeSection(view, { ...close!, merchantNo, month: month.name, hasStatements }))}
      ${when(chosen !== null, () => daysTable(view, shown, chosen!))}
      ${when(
        shown.overDays !== null && view.person?.role === 'operator',
        () =>
          html`<h2 id="work">${texts.work.form}</h2>
            ${workForm(view, { kinds: ['read', 'publish'], merchantNo, ...shown.overDays!, canChoose: true })}`,
      )}`,
  });
}

/** The month's overview, all accounts as one file, the chosen account as one, and the daily statements in each format. */
function downloads(
  { texts }: View,
  { merchantNo, month: { name: month }, chosen }: MonthShown,
): (readonly [string, string])[] {
  const address = monthDownloadAddress(merchantNo, month);
  const file = (extension: string): string => monthOverviewAddress(merchantNo, month, extension);
  const { currency, statements } = chosen?.account ?? { currency: '', statements: [] };
  const nameOf = new Map<string, string>(otherFormats(texts));
  return [
    ...STATEMENT_FORMATS.filter((format) => format.month !== undefined).map(
      ({ extension }) => [file(extension), texts.month.overview] as const,
    ),
    ...MONTH_FORMATS.map(({ extension }) => [file(extension), texts.month.workbook] as const),
    ...STATEMENT_FORMATS.filter(({ holdsMonth }) => holdsMonth && statements.length > 0).map(
      ({ name, extension }) =>
        [
          addressWith(file(extension), { currency }),
          texts.month.accountFile(currency, nameOf.get(name) ?? 'CSV'),
        ] as const,
    ),
    [address, texts.month.download],
    ...otherFormats(texts).map(
      ([format, name]) => [addressWith(address, { format }), texts.month.downloadAs(name)] as const,
    ),
  ];
}

/** One of the accounts, which tabs choose: its sum, and what of it is open. */
function accountPart(
  view: View,
  { accounts, openDays }: MonthShown,
  { account }: NonNullable<MonthShown['chosen']>,
): Html {
  const { texts, format, address } = view;
  const { month } = texts;
  const openOf = (currency: string): OpenDay[] => openDays.filter((one) => one.currency === currency);
  const open = openOf(account.currency);
  const bounds = [
    ...new Set([account.statements[0], account.statements.at(-1)].flatMap((row) => row?.day ?? [])),
  ];
  const days = bounds.map(
    (day, at) => html`<span class="together">${at === 0 ? null : '– '}${format.shown.day(day)}</span> `,
  );
  return html`${tabs(
    month.accounts,
    accounts.map(({ currency }) => ({
      address: addressWith(address, { currency, close: null, done: null }),
      name: openOf(currency).every(({ cause }) => cause === 'not-over')
        ? currency
        : month.withOpenDays(currency),
      isChosen: currency === account.currency,
    })),
  )}
  ${when(bounds.length > 0, () => html`<p class="soft">${month.figuresOf} ${days}</p>`)}
  ${sumTable(view, account, open)}
  ${when(
    open.length > 0,
    () =>
      html`<h2>${month.openDays}</h2>
        ${openList(view, open)}`,
  )}`;
}

/**
 * Opening and what came and went make the expected closing. Amounts are exact text, so any digit but 0 makes a difference. It is
 * explained if the account has breaks and no day that is over is open.
 */
function sumTable(view: View, account: AccountMonth, open: readonly OpenDay[]): Part {
  const figures = monthFigures(account);
  if (figures.opening === null || figures.closing === null) return null;
  const isExplained =
    account.statements.some((row) => row.break_count > 0) && open.every(({ cause }) => cause === 'not-over');
  const { opening, closing } = figures;
  return sumOf(view, { label: view.texts.month.sum(account.currency), columns: [null] }, [
    { ...figures, opening, closing, isExplained },
  ]);
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
  const all = days
    .filter(({ state }) => state !== 'before')
    .map((mark) => ({ mark, row: published.get(mark.day) }));
  const rows = all.filter(({ mark: { state }, row }) => row !== undefined || !IDLE.includes(state)).reverse();
  const dayOf = ({ day, state }: DayMark): Html =>
    WITHOUT_PAGE.includes(state) ? dayTime(view, day) : dayLink(view, { merchantNo, currency }, day);
  const unpublished = ({ state }: DayMark): Part => when(!IDLE.includes(state), () => month.notPublished);
  return html`<h2 id="days">${month.days(currency)}</h2>
    ${when(all.length > rows.length, () => html`<p class="soft">${month.idleDays(all.length - rows.length)}</p>`)}
    ${table({ by: 'days' }, rows, [
      [month.day, ({ mark }) => dayOf(mark), 'nameLine'],
      [
        month.state,
        ({ mark }) => [stateMark(view, mark), ...mark.breaks.map((id) => html` ${breakLink(view, id)}`)],
        'state',
      ],
      [month.opening, ({ row }) => amountOrNothing(format, row?.opening), 'number'],
      [month.credits, ({ row }) => amountOrNothing(format, row?.credit_total), 'number'],
      [month.debits, ({ row }) => amountOrNothing(format, row?.debit_total), 'number'],
      [month.closing, ({ row }) => amountOrNothing(format, row?.closing), 'number'],
      [month.entries, ({ row }) => row && format.count(row.credit_count + row.debit_count), 'number'],
      [month.statement, ({ mark, row }) => (row ? month.revision(row.revision) : unpublished(mark))],
    ])}`;
}

/** States of days of which there is nothing to see yet. */
const IDLE: readonly DayState[] = ['not-over', 'not-read'];
