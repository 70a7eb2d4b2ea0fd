/** The page of a merchant's month: the figures of each account with what is open, and every day of one of them. */
import { monthFigures, type AccountMonth, type Month } from '../statements/month.ts';
import { missingNetOf } from '../statements/close-file.ts';
import type { OpenDay } from '../statements/open-days.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { addressWith, dayAddress, monthAddress, monthDownloadAddress, monthPdfAddress } from './addresses.ts';
import { closeSection, daysText, type CloseShown } from './close.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { closedMark, stateMark, WITHOUT_PAGE, type DayMark } from './months.ts';
import { scrolling } from './tables.ts';
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
  readonly close: Omit<CloseShown, 'merchantNo' | 'month' | 'hasStatements'>;
  /** The result of the last action. */
  readonly said: Said | null;
  /** The account whose days are shown, with its marks; null if there is none. */
  readonly chosen: { readonly account: AccountMonth; readonly days: readonly DayMark[] } | null;
}

export function monthPage(view: View, shown: MonthShown): string {
  const { texts, format } = view;
  const { merchantNo, month, accounts, chosen } = shown;
  const title = (name: string): string => texts.month.title(merchantNo, name);
  const hasStatements = accounts.some(({ statements }) => statements.length > 0);
  return page(view, {
    title: title(format.plain.month(month.name)),
    section: 'months',
    content: html`<h1>
        ${filled(title, format.shown.month(month.name))}
        ${when(shown.close.closes.length > 0, () => closedMark(view, shown.close))}
      </h1>
      ${saidPart(shown.said)}
      <ul class="links paging">
        <li><a href="${monthAddress(merchantNo, shown.before)}">${texts.months.earlier}</a></li>
        <li><a href="${monthAddress(merchantNo, shown.after)}">${texts.months.later}</a></li>
        <li><a href="/?month=${month.name}">${texts.months.title}</a></li>
        ${when(hasStatements, () => downloads(view, merchantNo, month.name))}
      </ul>
      ${accounts.length === 0 ? html`<p>${texts.month.nothing}</p>` : accountsTable(view, shown)}
      ${when(accounts.length > 0, () => closeSection(view, { ...shown.close, merchantNo, month: month.name, hasStatements }))}
      ${when(chosen !== null, () => daysTable(view, shown, chosen!))}`,
  });
}

/** Links to the month's overview, and to its statements in each format. */
function downloads({ texts }: View, merchantNo: string, month: string): Part {
  const address = monthDownloadAddress(merchantNo, month);
  return [
    html`<li><a href="${monthPdfAddress(merchantNo, month)}">${texts.month.overview}</a></li>`,
    html`<li><a href="${address}">${texts.month.download}</a></li>`,
    ...Object.entries(texts.formats).map(
      ([format, name]) =>
        html`<li><a href="${addressWith(address, { format })}">${texts.month.downloadAs(name)}</a></li>`,
    ),
  ];
}

const accountsTable = (view: View, { accounts, openDays }: MonthShown): Html => {
  const { month } = view.texts;
  const open = Map.groupBy(openDays, ({ currency }) => currency);
  return html`<h2 id="accounts">${month.accounts}</h2>
    ${scrolling(
      { by: 'accounts' },
      html`<table>
        <thead>
          <tr>
            <th scope="col">${month.account}</th>
            <th scope="col">${month.figuresOf}</th>
            <th scope="col" class="n">${month.opening}</th>
            <th scope="col" class="n">${month.credits}</th>
            <th scope="col" class="n">${month.creditCount}</th>
            <th scope="col" class="n">${month.debits}</th>
            <th scope="col" class="n">${month.debitCount}</th>
            <th scope="col" class="n">${month.closing}</th>
            <th scope="col">${month.openDays}</th>
          </tr>
        </thead>
        <tbody>
          ${accounts.map((account) => accountRow(view, account, open.get(account.currency) ?? []))}
        </tbody>
      </table>`,
    )}
    ${accounts.map((account) => differencePart(view, account, open.get(account.currency) ?? []))}`;
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

function accountRow({ texts, format, address }: View, account: AccountMonth, open: readonly OpenDay[]): Html {
  const figures = monthFigures(account);
  const amount = (exact: string | null): Part => (exact === null ? null : format.amount(exact));
  const days = new Set([account.statements[0], account.statements.at(-1)].flatMap((row) => row?.day ?? []));
  return html`<tr>
    <th scope="row">
      <a href="${addressWith(address, { currency: account.currency })}#days">${account.currency}</a>
    </th>
    <td>
      ${[...days].map((day, at) => html`<span class="together">${at === 0 ? null : '– '}${format.shown.day(day)}</span> `)}
    </td>
    <td class="n">${amount(figures.opening)}</td>
    <td class="n">${amount(figures.creditTotal)}</td>
    <td class="n">${format.count(figures.creditCount)}</td>
    <td class="n">${amount(figures.debitTotal)}</td>
    <td class="n">${format.count(figures.debitCount)}</td>
    <td class="n">${amount(figures.closing)}</td>
    <td class="listed">${open.length === 0 ? texts.month.noneOpen : openList({ texts, format }, open)}</td>
  </tr> `;
}

/** Open days by what they wait for. */
const openList = ({ texts, format }: Pick<View, 'texts' | 'format'>, open: readonly OpenDay[]): Html[] =>
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
  { account, days }: NonNullable<MonthShown['chosen']>,
): Html {
  const { month } = view.texts;
  const published = new Map(account.statements.map((row) => [row.day, row]));
  return html`<h2 id="days">${month.days(account.currency)}</h2>
    ${scrolling(
      { by: 'days' },
      html`<table>
        <thead>
          <tr>
            <th scope="col">${month.day}</th>
            <th scope="col">${month.state}</th>
            <th scope="col" class="n">${month.opening}</th>
            <th scope="col" class="n">${month.credits}</th>
            <th scope="col" class="n">${month.debits}</th>
            <th scope="col" class="n">${month.closing}</th>
            <th scope="col" class="n">${month.entries}</th>
            <th scope="col">${month.statement}</th>
          </tr>
        </thead>
        <tbody>
          ${days.filter(({ state }) => state !== 'before').map((mark) => dayRow(view, { merchantNo, currency: account.currency }, mark, published.get(mark.day)))}
        </tbody>
      </table>`,
    )}`;
}

function dayRow(
  view: View,
  account: { readonly merchantNo: string; readonly currency: string },
  mark: DayMark,
  row: StatementRow | undefined,
): Html {
  const { format, texts } = view;
  const { day, state } = mark;
  const name = html`<time datetime="${day}">${format.shown.day(day)}</time>`;
  const amount = (exact: string | undefined): Part =>
    html`<td class="n">${exact === undefined ? null : format.amount(exact)}</td>`;
  return html`<tr>
    <th scope="row">
      ${WITHOUT_PAGE.includes(state) ? name : html`<a href="${dayAddress(account, day)}">${name}</a>`}
    </th>
    <td class="state">${stateMark(view, mark)}</td>
    ${amount(row?.opening)}${amount(row?.credit_total)}${amount(row?.debit_total)}${amount(row?.closing)}
    <td class="n">${row === undefined ? null : format.count(row.credit_count + row.debit_count)}</td>
    <td>
      ${row === undefined ? when(![...WITHOUT_PAGE, 'not-over'].includes(state), () => texts.month.notPublished) : texts.month.revision(row.revision)}
    </td>
  </tr> `;
}
