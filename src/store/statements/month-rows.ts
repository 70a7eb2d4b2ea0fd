/** Reads what a merchant's month is made of, in one statement. */
import { sql, type Kysely } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { figuredCurrencies } from '../account-days.ts';
import { ofCurrencies } from '../account-filter.ts';
import type { DB } from '../engine/schema.ts';
import type { StatementRow } from './statements.ts';

export interface MonthRows {
  readonly statements: readonly StatementRow[];
  /** For each of the merchant's accounts, by currency, its first day with figures. */
  readonly firstDays: ReadonlyMap<string, BusinessDay>;
  readonly due: readonly { readonly currency: string; readonly day: BusinessDay }[];
}

/** A row of a statement, or else of what is known of an account; the columns of the other are null then. */
type Row = {
  readonly kind: 'first' | 'due' | null;
  readonly knownCurrency: string;
  readonly knownDay: BusinessDay;
} & StatementRow;

/** Of the merchant's accounts in these currencies, the days from `from` to `to`. Every part goes along a primary key. */
export async function monthRows(
  db: Kysely<DB>,
  { merchantNo, currencies }: { readonly merchantNo: Account['merchantNo']; readonly currencies: Chosen },
  { from, to }: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<MonthRows> {
  const { rows } = await sql<Row>`
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
        AND (d.is_due OR d.revision IS NULL)
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
