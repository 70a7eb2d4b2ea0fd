/** Writes what chaining a merchant's days made, in one statement. */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { otherClosingsText } from '../ledger/chain/figures.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { DayFigures } from './account-days.ts';
import type { Gapless } from './chain-facts.ts';
import { forgetSum } from './historical-days.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import { HELD_ALREADY, type Lease } from './engine/lease.ts';
import type { DB } from './engine/schema.ts';
import { writeStatement } from './engine/write-statement.ts';

/** A day of one of the merchant's accounts. */
export interface CurrencyDay {
  readonly currency: string;
  readonly day: BusinessDay;
}

export interface Chained {
  /** Figures to store. Their days become due for publishing. */
  readonly figures: readonly DayFigures[];
  /**
   * Days to take off the list of changed ones. They are noted as still to be compared with other merchants, and a sum of
   * figures that one of them belongs to is forgotten.
   */
  readonly done: readonly CurrencyDay[];
  /** Days to put on that list. */
  readonly left: readonly CurrencyDay[];
  /** Of each account, the days that are known to have figures without a gap; no search checks there again. */
  readonly gapless?: readonly (Gapless & { readonly currency: string })[];
}

/** Saves it in a transaction of the caller. */
export async function saveChained(trx: Transaction<DB>, merchantNo: string, made: Chained): Promise<void> {
  await saving(merchantNo, made, HELD_ALREADY).execute(trx);
}

/**
 * Saves it in one statement, which asks for the lease itself: no one can take it over before the rows are stored. Throws
 * `LeaseLost`, or `StoreUnreachable` once the retries are used up.
 */
export async function saveChainedUnderLease(
  db: Kysely<DB>,
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
 * One row, or none if `held` has none: nothing is saved then. May be sent again if the answer to it was lost: days that are
 * off the list already are noted already. Of the listed days, all of the merchant are checked: `IS TRUE` keeps the planner
 * from joining them with those done.
 */
const saving = (
  merchantNo: string,
  { figures, done, left, gapless = [] }: Chained,
  held: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
    WITH held AS MATERIALIZED ${held}, saved AS (
      INSERT INTO account_day (merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count,
        closing, verdict, break_count, breaks_after, restarted, last_batch_no, last_booked_ms, clean_end, jumps_in,
        other_closings, publish_due, entries_fingerprint)
      SELECT ${merchantNo}, made.*, true, coalesce((
        SELECT fingerprint FROM day_entries
        WHERE (merchant_no, currency, day) = (${merchantNo}, made.currency, made.day)
      ), 0) FROM held CROSS JOIN unnest(${figureArrays(figures)}) AS made (currency, day)
      ON CONFLICT (merchant_no, currency, day) DO UPDATE SET
        opening = excluded.opening, credit_total = excluded.credit_total, credit_count = excluded.credit_count,
        debit_total = excluded.debit_total, debit_count = excluded.debit_count, closing = excluded.closing,
        verdict = excluded.verdict, break_count = excluded.break_count, breaks_after = excluded.breaks_after,
        restarted = excluded.restarted, last_batch_no = excluded.last_batch_no,
        last_booked_ms = excluded.last_booked_ms, clean_end = excluded.clean_end, jumps_in = excluded.jumps_in,
        other_closings = excluded.other_closings, publish_due = true,
        entries_fingerprint = excluded.entries_fingerprint
    ), cleared AS (
      UPDATE day_entries SET figured_fingerprint = fingerprint
      WHERE merchant_no = ${merchantNo} AND is_changed
        AND ((currency, day) IN (SELECT one.* FROM ${rowsOf(done)})) IS TRUE AND EXISTS (SELECT FROM held)
      RETURNING merchant_no, currency, day
    ), listed AS (
      INSERT INTO day_entries (merchant_no, currency, day)
      SELECT ${merchantNo}, one.* FROM held CROSS JOIN ${rowsOf(left)}
      ON CONFLICT (merchant_no, currency, day) DO UPDATE SET figured_fingerprint = NULL
    ), gapless AS (
      INSERT INTO figured_days AS known (merchant_no, currency, from_day, through_day)
      SELECT ${merchantNo}, one.* FROM held CROSS JOIN unnest(
        ${arrayLiteral(gapless.map(({ currency }) => currency))}::text[],
        ${arrayLiteral(gapless.map(({ from }) => from))}::date[],
        ${arrayLiteral(gapless.map(({ through }) => through))}::date[]
      ) AS one
      ON CONFLICT (merchant_no, currency) DO UPDATE SET from_day = excluded.from_day, through_day = excluded.through_day
      WHERE (known.from_day, known.through_day) <> (excluded.from_day, excluded.through_day)
    ), stale AS (${forgetSum(
      merchantNo,
      sql`(SELECT one.day FROM held CROSS JOIN unnest(${arrayLiteral(done.map(({ day }) => day))}::date[]) AS one (day))`,
    )}), noted AS (
      INSERT INTO uncompared_day (merchant_no, currency, day) SELECT * FROM cleared
    )
    SELECT 1 FROM held`;

const rowsOf = (days: readonly CurrencyDay[]): RawBuilder<unknown> => sql`unnest(
  ${arrayLiteral(days.map(({ currency }) => currency))}::text[], ${arrayLiteral(days.map(({ day }) => day))}::date[]
) AS one (currency, day)`;

/** The columns of account_day, in the order in which they are written. */
function figureArrays(figures: readonly DayFigures[]): RawBuilder<unknown> {
  const column = (value: (day: DayFigures) => string | number | null) => arrayLiteral(figures.map(value));
  return sql`
    ${column(({ currency }) => currency)}::text[], ${column(({ day }) => day)}::date[],
    ${column(({ opening }) => opening)}::numeric[],
    ${column(({ creditTotal }) => creditTotal)}::numeric[], ${column(({ creditCount }) => creditCount)}::int[],
    ${column(({ debitTotal }) => debitTotal)}::numeric[], ${column(({ debitCount }) => debitCount)}::int[],
    ${column(({ closing }) => closing)}::numeric[], ${column(({ verdict }) => verdict)}::text[],
    ${column(({ breakCount }) => breakCount)}::int[], ${column(({ breaksAfter }) => breaksAfter)}::int[],
    ${column(({ restarted }) => String(restarted))}::boolean[],
    ${column(({ lastBatchNo }) => lastBatchNo)}::text[], ${column(({ lastBookedMs }) => lastBookedMs)}::bigint[],
    ${column(({ isOrderFinal }) => String(isOrderFinal))}::boolean[], ${column(({ startsWithBreak }) => String(startsWithBreak))}::boolean[],
    ${column(({ otherClosings }) => otherClosingsText(otherClosings))}::text[]`;
}
