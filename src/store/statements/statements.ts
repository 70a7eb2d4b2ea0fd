/** Stores published statements, and says which revision is current and which certificates cover each day. */
import { sql, type RawBuilder, type Selectable } from 'kysely';
import { EVERY_ACCOUNT, type AccountFilter } from '../../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofCurrencies, ofMerchants } from '../account-filter.ts';
import { ofDays, type DayFilter, type FigureColumns } from '../account-days.ts';
import { type Db, rowsOf, type ValueOrSql } from '../engine/database.ts';
import type { Statement } from '../engine/schema.ts';

export type StatementRow = Selectable<Statement>;

/** A revision of a day's summary. */
export interface SummaryRow extends Pick<
  StatementRow,
  'merchant_no' | 'day' | 'revision' | 'sha256' | 'object_key' | 'published_at'
> {
  /** Its text where it names resolved breaks, as it could not be made again. */
  readonly content: string | null;
}

/** The currencies that the merchant has statements in, as a recursive query of that name. One jump along the primary key finds each. */
export const publishedAccounts = (
  merchantNo: ValueOrSql,
  name: 'account' | 'published' = 'account',
): RawBuilder<unknown> => sql`${sql.raw(name)} (currency) AS (
    (SELECT currency FROM statement WHERE merchant_no = ${merchantNo} ORDER BY currency LIMIT 1)
    UNION ALL
    SELECT next.currency FROM ${sql.raw(name)} AS known CROSS JOIN LATERAL (
      SELECT currency FROM statement WHERE merchant_no = ${merchantNo} AND currency > known.currency
      ORDER BY currency LIMIT 1
    ) AS next
  )`;

/** One jump along the primary key finds each currency that the merchant has statements in. */
export async function currenciesOf(db: Db, merchantNo: string): Promise<string[]> {
  const rows = await rowsOf(db)<{ currency: string }>`
    WITH RECURSIVE ${publishedAccounts(merchantNo)} SELECT currency FROM account`;
  return rows.map(({ currency }) => currency);
}

/** All revisions of these days, by currency, day and revision. */
export const statementsOfDays = async (
  db: Db,
  merchantNo: string,
  currencies: readonly string[],
  days: readonly BusinessDay[],
): Promise<StatementRow[]> =>
  currencies.length === 0
    ? []
    : db
        .selectFrom('statement')
        .selectAll()
        .where('merchant_no', '=', merchantNo)
        .where('currency', 'in', currencies)
        .where('day', 'in', days)
        .orderBy('currency')
        .orderBy('day')
        .orderBy('revision')
        .execute();

/** All revisions of a merchant's day, by currency, oldest first. Uses the primary key; a merchant has few accounts. */
export const statementsOfDay = (db: Db, merchantNo: string, day: BusinessDay): Promise<StatementRow[]> =>
  db
    .selectFrom('statement')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('day', '=', day)
    .orderBy('currency')
    .orderBy('revision')
    .execute();

export const statementOf = (
  db: Db,
  account: Account,
  day: BusinessDay,
  revision?: number,
): Promise<StatementRow | undefined> =>
  ofAccount(db, account)
    .where('day', '=', day)
    .$if(revision !== undefined, (query) => query.where('revision', '=', revision!))
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst();

export const newestStatements = (db: Db, limit: number) => rowsOf(db)<
  Pick<StatementRow, 'object_key' | 'sha256'>
>`
  SELECT object_key, sha256 FROM statement ORDER BY published_at DESC LIMIT ${limit}`;

export async function publishedMerchants(
  db: Db,
  fromDay: BusinessDay,
  toDay: BusinessDay,
): Promise<string[]> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT DISTINCT merchant_no AS "merchantNo" FROM statement WHERE day >= ${fromDay} AND day <= ${toDay} ORDER BY 1`;
  return rows.map(({ merchantNo }) => merchantNo);
}

const ofAccount = (db: Db, { merchantNo, currency }: Account) =>
  db
    .selectFrom('statement')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('currency', '=', currency);

export interface RevisionsOfAccount {
  readonly account: Account;
  readonly revisions: readonly number[];
}

/** By merchant and currency. Without merchants, one jump along the key finds each account, as the days of all years lie in between. */
export async function revisionsOnDay(
  db: Db,
  day: BusinessDay,
  { merchants, currencies }: AccountFilter,
): Promise<RevisionsOfAccount[]> {
  const everyAccount = sql`
    (SELECT merchant_no, currency FROM statement ORDER BY merchant_no, currency LIMIT 1)
    UNION ALL
    SELECT next.* FROM account CROSS JOIN LATERAL (
      SELECT s.merchant_no, s.currency FROM statement s
      WHERE (s.merchant_no, s.currency) > (account.merchant_no, account.currency)
      ORDER BY s.merchant_no, s.currency LIMIT 1
    ) AS next`;
  const named = sql`SELECT DISTINCT s.merchant_no, s.currency FROM statement s
    WHERE ${ofMerchants(merchants, 's')} AND s.day = ${day}`;
  return rowsOf(db)<RevisionsOfAccount>`
    WITH RECURSIVE account (merchant_no, currency) AS (${merchants === null ? everyAccount : named})
    SELECT json_build_object('merchantNo', account.merchant_no, 'currency', account.currency) AS account,
      array_agg(s.revision ORDER BY s.revision) AS revisions
    FROM account JOIN statement s
      ON s.merchant_no = account.merchant_no AND s.currency = account.currency AND s.day = ${day}
    WHERE ${ofCurrencies(currencies, 'account')}
    GROUP BY account.merchant_no, account.currency ORDER BY account.merchant_no, account.currency`;
}

/** Statements for a person, every revision, by merchant, day, currency and revision. */
/** An account's day in a list of statements. */
export interface StatementPlace extends Account {
  readonly day: BusinessDay;
}

/** By merchant, day, currency and revision, from behind a place on where that is given. */
export const listStatements = (
  db: Db,
  {
    after,
    ...filter
  }: DayFilter & {
    readonly limit?: number | undefined;
    readonly after?: StatementPlace | undefined;
  } = EVERY_ACCOUNT,
): Promise<StatementRow[]> =>
  db
    .selectFrom('statement')
    .selectAll()
    .where(ofDays(filter))
    .$if(after !== undefined, (query) =>
      query.where(
        sql<boolean>`(merchant_no, day, currency) > (${after!.merchantNo}, ${after!.day}::date, ${after!.currency})`,
      ),
    )
    .orderBy('merchant_no')
    .orderBy('day')
    .orderBy('currency')
    .orderBy('revision')
    .$if(filter.limit !== undefined, (query) => query.limit(filter.limit!))
    .execute();

export const summariesOfDay = (db: Db, merchantNo: string, day: BusinessDay) => rowsOf(db)<SummaryRow>`
    SELECT merchant_no, day, revision, sha256, object_key, published_at, content FROM artifact
    WHERE merchant_no = ${merchantNo} AND day = ${day} AND kind = 'summary' ORDER BY revision`;

/** A file without rows is the same whatever the balance, so amounts are compared as well. */
const CONTENT = [
  'sha256',
  'opening',
  'credit_total',
  'credit_count',
  'debit_total',
  'debit_count',
  'closing',
] as const satisfies readonly ('sha256' | keyof FigureColumns)[];

/** Whether rows of `statement` have the same file and amounts: who has the one does not need the other, whatever their verdicts. */
export const sameContent = (one: string, other: string): RawBuilder<boolean> =>
  sql.join(
    CONTENT.map((column) => sql`${sql.ref(`${one}.${column}`)} = ${sql.ref(`${other}.${column}`)}`),
    sql` AND `,
  );
