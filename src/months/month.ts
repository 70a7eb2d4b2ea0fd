/** A month of an account in one line: what it opened and closed on, what came and went, and which days are still open. */
import { addDays, daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { csvText } from '../statements/formats/csv.ts';
import { missingNetOf, sumOfDays, type MonthFigures } from '../ledger/month-figures.ts';
import { type Kysely, sql } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { DB } from '../store/engine/schema.ts';
import { currentOf } from '../statements/summary.ts';
import { figuredCurrencies, figuresOf } from '../store/account-days.ts';
import { ofCurrencies } from '../store/account-filter.ts';

export interface Month {
  /** `2026-03`. */
  readonly name: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

export interface AccountMonth {
  readonly merchantNo: string;
  readonly currency: string;
  readonly statements: readonly StatementRow[];
  /** Days of the month since the account's first one that have no statement, or one that is out of date; in order. */
  readonly unpublished: readonly BusinessDay[];
}

export interface ListedMonth extends Omit<AccountMonth, 'unpublished'> {
  readonly openDays: readonly BusinessDay[];
  /** Number of the month's last close; left out where it is not closed. */
  readonly closed?: number;
  /** Days whose statement is not the one that this close froze, in order. */
  readonly adjustedDays?: readonly BusinessDay[];
}

export function monthOf(name: string): Month | null {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(name)) return null;
  const from = `${name}-01`;
  const next = `${addDays(from, 31).slice(0, 7)}-01`;
  return { name, from, to: addDays(next, -1) };
}

interface MonthLine {
  readonly month: string;
  readonly account: ListedMonth;
  readonly figures: MonthFigures;
}

const MONTH_CELLS: readonly (readonly [name: string, cell: (of: MonthLine) => string])[] = [
  ['merchant_no', ({ account }) => account.merchantNo],
  ['currency', ({ account }) => account.currency],
  ['month', ({ month }) => month],
  ['opening', ({ figures }) => figures.opening ?? ''],
  ['credit_total', ({ figures }) => figures.creditTotal],
  ['credit_count', ({ figures }) => String(figures.creditCount)],
  ['debit_total', ({ figures }) => figures.debitTotal],
  ['debit_count', ({ figures }) => String(figures.debitCount)],
  ['closing', ({ figures }) => figures.closing ?? ''],
  ['days_published', ({ account }) => String(account.statements.length)],
  ['days_broken', ({ figures }) => String(figures.daysBroken)],
  ['open_days', ({ account }) => stretches(account.openDays).join(' ')],
  ['closed', ({ account }) => String(account.closed ?? '')],
  ['adjusted_days', ({ account }) => stretches(account.adjustedDays ?? []).join(' ')],
  [
    'days_unreadable',
    ({ account }) => String(account.statements.filter((row) => (row.unreadable_count ?? 0) > 0).length),
  ],
  ['missing_net', ({ figures }) => missingNetOf(figures) ?? ''],
];

/**
 * The month's summary as CSV, a line an account. Opening and closing are those of its first and last published day, so
 * that opening + credits - debits is the closing where no day is open or broken; what they lack of it is reported.
 */
export const monthCsv = ({ name: month }: Month, accounts: readonly ListedMonth[]): string =>
  csvText([
    MONTH_CELLS.map(([name]) => name),
    ...accounts.map((account) => {
      const line = { month, account, figures: monthFigures(account) };
      return MONTH_CELLS.map(([, cell]) => cell(line));
    }),
  ]);

export const monthFigures = ({ statements }: Pick<AccountMonth, 'statements'>): MonthFigures =>
  sumOfDays(statements.map(figuresOf));

/** `2026-03-05 2026-03-08/2026-03-31`: days in a row as one. */
export function stretches(days: readonly BusinessDay[]): string[] {
  const found: [BusinessDay, BusinessDay][] = [];
  for (const day of days) {
    const last = found.at(-1);
    if (last !== undefined && addDays(last[1], 1) === day) last[1] = day;
    else found.push([day, day]);
  }
  return found.map(([from, to]) => (from === to ? from : `${from}/${to}`));
}

/** Of the merchant's accounts in these currencies, as far as they have begun by the end of the month. One statement. */
export async function accountMonths(
  db: Kysely<DB>,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
): Promise<{ accounts: AccountMonth[]; byDay: ReadonlyMap<BusinessDay, readonly StatementRow[]> }> {
  const known = await monthRows(db, { merchantNo, currencies }, month);
  const byDay = Map.groupBy(known.statements, ({ day }) => day);
  const current = Map.groupBy([...byDay.values()].flatMap(currentOf), ({ currency }) => currency);
  const due = Map.groupBy(known.due, ({ currency }) => currency);
  const accounts = [...firstDays(known.firstDays, current)]
    .filter(([, first]) => first <= month.to)
    .map(([currency, first]): AccountMonth => {
      const statements = current.get(currency) ?? [];
      const published = new Set(statements.map(({ day }) => day));
      for (const { day } of due.get(currency) ?? []) published.delete(day);
      const days = daysFromTo(first > month.from ? first : month.from, month.to);
      return { merchantNo, currency, statements, unpublished: days.filter((day) => !published.has(day)) };
    });
  return { accounts, byDay };
}

/** Each account's first day, by currency: with figures, or with a statement: one that was adopted has no figures yet. */
function firstDays(
  withFigures: ReadonlyMap<string, BusinessDay>,
  current: ReadonlyMap<string, readonly StatementRow[]>,
): [currency: string, first: BusinessDay][] {
  const first = new Map(withFigures);
  for (const [currency, [statement]] of current) {
    const known = first.get(currency);
    if (known === undefined || statement!.day < known) first.set(currency, statement!.day);
  }
  return [...first].sort(([a], [b]) => (a < b ? -1 : 1));
}

interface MonthRows {
  readonly statements: readonly StatementRow[];
  /** For each of the merchant's accounts, by currency, its first day with figures. */
  readonly firstDays: ReadonlyMap<string, BusinessDay>;
  readonly due: readonly { readonly currency: string; readonly day: BusinessDay }[];
}

/** A row of a statement, or else of what is known of an account; the columns of the other are null then. */
interface KnownRow extends StatementRow {
  readonly kind: 'first' | 'due' | null;
  readonly knownCurrency: string;
  readonly knownDay: BusinessDay;
}

/** Of the merchant's accounts in these currencies, the days from `from` to `to`. Every part goes along a primary key. */
export async function monthRows(
  db: Kysely<DB>,
  { merchantNo, currencies }: { readonly merchantNo: string; readonly currencies: Chosen },
  { from, to }: Pick<Month, 'from' | 'to'>,
): Promise<MonthRows> {
  const { rows } = await sql<KnownRow>`
    WITH RECURSIVE figured (currency) AS (${figuredCurrencies(merchantNo)}),
    account AS (
      SELECT currency FROM figured WHERE currency IS NOT NULL AND ${ofCurrencies(currencies)}
    ),
    known (kind, currency, day) AS (
      SELECT 'first', account.currency, first.day FROM account CROSS JOIN LATERAL (
        SELECT d.day FROM account_day d WHERE d.merchant_no = ${merchantNo} AND d.currency = account.currency
        ORDER BY d.day LIMIT 1
      ) AS first
      UNION ALL
      SELECT 'due', account.currency, d.day FROM account JOIN account_day d
        ON d.merchant_no = ${merchantNo} AND d.currency = account.currency AND d.day BETWEEN ${from} AND ${to}
        AND (d.version <> d.published_version OR d.revision IS NULL)
    )
    SELECT known.kind, known.currency AS "knownCurrency", known.day AS "knownDay", s.*
    FROM known FULL JOIN (
      SELECT * FROM statement
      WHERE merchant_no = ${merchantNo} AND ${ofCurrencies(currencies)} AND day BETWEEN ${from} AND ${to}
    ) AS s ON false
    ORDER BY s.day, s.currency, s.revision, known.currency`.execute(db);
  const statements: StatementRow[] = [];
  const firstDays = new Map<string, BusinessDay>();
  const due: MonthRows['due'][number][] = [];
  for (const { kind, knownCurrency: currency, knownDay: day, ...row } of rows) {
    if (kind === 'first') firstDays.set(currency, day);
    else if (kind === 'due') due.push({ currency, day });
    else statements.push(row);
  }
  return { statements, firstDays, due };
}
