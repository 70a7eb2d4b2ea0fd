/** Writes what chaining a merchant's days made, in one statement. */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { figureColumns, type DayFigures } from './account-days.ts';
import type { Gapless } from './chain-facts.ts';
import { forgetSum } from './historical-days.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import { HELD_ALREADY, type Lease } from './engine/lease.ts';
import type { Db, Trx } from './engine/database.ts';
import { writeStatement } from './engine/write-statement.ts';

interface CurrencyDay {
  readonly currency: string;
  readonly day: BusinessDay;
}

export interface Chained {
  readonly figures: readonly DayFigures[];
  /** Days to take off the list of changed ones. A sum of figures that one of them belongs to is forgotten. */
  readonly done: readonly CurrencyDay[];
  readonly left: readonly CurrencyDay[];
  /** Of each account, the days that are known to have figures without a gap; no search checks there again. */
  readonly gapless?: readonly (Gapless & { readonly currency: string })[];
}

export async function saveChained(trx: Trx, merchantNo: string, made: Chained): Promise<void> {
  await saving(merchantNo, made, HELD_ALREADY).execute(trx);
}

/**
 * Saves it in one statement, which asks for the lease itself: no one can take it over before the rows are stored. Throws
 * `LeaseLost`, or `StoreUnreachable` once the retries are used up.
 */
export async function saveChainedUnderLease(
  db: Db,
  lease: Lease,
  merchantNo: string,
  made: Chained,
): Promise<void> {
  await writeStatement(db, lease, async (held) => {
    const { rows } = await saving(merchantNo, made, held).execute(db);
    return rows[0] ?? null;
  });
}

/**
 * One row, or none if `held` has none: nothing is saved then. May be sent again if the answer to it was lost. Of the listed days, all of the merchant are checked: `IS TRUE` keeps the planner
 * from joining them with those done.
 */
const saving = (
  merchantNo: string,
  { figures, done, left, gapless = [] }: Chained,
  held: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
    WITH held AS MATERIALIZED ${held}, saved AS (
      INSERT INTO account_day (merchant_no, ${COLUMNS}, publish_due, entries_fingerprint)
      SELECT ${merchantNo}, ${COLUMNS}, true, coalesce((
        SELECT fingerprint FROM day_entries
        WHERE (merchant_no, currency, day) = (${merchantNo}, made.currency, made.day)
      ), 0) FROM held CROSS JOIN ${rowsToStore(figures)} AS made
      ON CONFLICT (merchant_no, currency, day) DO UPDATE SET (${COLUMNS}, publish_due, entries_fingerprint) = ROW (
        ${EXCLUDED}, true, excluded.entries_fingerprint
      )
    ), cleared AS (
      UPDATE day_entries SET figured_fingerprint = fingerprint
      WHERE merchant_no = ${merchantNo} AND is_changed
        AND ((currency, day) IN (SELECT one.* FROM ${rowsOf(done)})) IS TRUE AND EXISTS (SELECT FROM held)
    ), listed AS (
      INSERT INTO day_entries (merchant_no, currency, day)
      SELECT ${merchantNo}, one.* FROM held CROSS JOIN ${rowsOf(left)}
      ON CONFLICT (merchant_no, currency, day) DO UPDATE SET figured_fingerprint = NULL
    ), gapless AS (
      INSERT INTO ledger_cursor AS known (merchant_no, currency, figured_from, figured_through)
      SELECT ${merchantNo}, one.* FROM held CROSS JOIN unnest(
        ${arrayLiteral(gapless.map(({ currency }) => currency))}::text[],
        ${arrayLiteral(gapless.map(({ from }) => from))}::date[],
        ${arrayLiteral(gapless.map(({ through }) => through))}::date[]
      ) AS one
      ON CONFLICT (merchant_no, currency) DO UPDATE
        SET figured_from = excluded.figured_from, figured_through = excluded.figured_through
      WHERE (known.figured_from, known.figured_through)
        IS DISTINCT FROM (excluded.figured_from, excluded.figured_through)
    ), stale AS (${forgetSum(
      merchantNo,
      sql`(SELECT one.day FROM held CROSS JOIN unnest(${arrayLiteral(done.map(({ day }) => day))}::date[]) AS one (day))`,
    )})
    SELECT 1 FROM held`;

const rowsOf = (days: readonly CurrencyDay[]): RawBuilder<unknown> => sql`unnest(
  ${arrayLiteral(days.map(({ currency }) => currency))}::text[], ${arrayLiteral(days.map(({ day }) => day))}::date[]
) AS one (currency, day)`;

const columnsOf = (figures: DayFigures) => ({
  currency: figures.currency,
  day: figures.day,
  ...figureColumns(figures),
  last_batch_no: figures.lastBatchNo,
  last_booked_ms: figures.lastBookedMs,
  clean_end: figures.isOrderFinal,
  jumps_in: figures.startsWithBreak,
});

const NAMES =
  'currency, day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, ' +
  'breaks_after, restarted, other_closings, last_batch_no, last_booked_ms, clean_end, jumps_in';
const COLUMNS = sql.raw(NAMES);
const EXCLUDED = sql.raw(NAMES.replaceAll(/\w+/g, 'excluded.$&'));

/** As JSON, in which amounts are text: a number of JSON would lose digits. */
const rowsToStore = (figures: readonly DayFigures[]): RawBuilder<unknown> =>
  sql`json_populate_recordset(NULL::account_day, ${JSON.stringify(figures.map(columnsOf))}::json)`;
