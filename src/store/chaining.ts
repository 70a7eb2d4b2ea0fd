/** Saves what chaining made of an account's days, and reads what adopted statements say of them. */
import { sql } from 'kysely';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { dayFigures, type DayFigures, figureColumns } from './account-days.ts';
import { arrayLiteral, type Db, type Trx } from './engine/database.ts';
import { forgetSum } from './historical-days.ts';

/**
 * Of these days, those without figures that have a statement, as it was adopted: what it says, as figures. It does not tell where the
 * chain stands at the day's end.
 */
export async function adoptedFigures(
  db: Db,
  account: Account,
  days: readonly BusinessDay[],
): Promise<ReadonlyMap<BusinessDay, DayFigures>> {
  const rows = await db
    .selectFrom('statement')
    .distinctOn('day')
    .selectAll()
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency)
    .where('day', '=', sql<string>`ANY (${arrayLiteral(days)}::date[])`)
    .where(
      sql<boolean>`NOT EXISTS (
        SELECT FROM account_day d
        WHERE d.merchant_no = ${account.merchantNo} AND d.currency = ${account.currency} AND d.day = statement.day
      )`,
    )
    .orderBy('day')
    .orderBy('revision', 'desc')
    .execute();
  const chained = { last_batch_no: null, last_booked_ms: null, clean_end: true, jumps_in: false };
  return new Map(rows.map((row) => [row.day, dayFigures({ ...row, ...chained })]));
}

/** Saves an account's figures. Sums of days whose entries changed are forgotten. */
export async function saveChained(
  trx: Trx,
  { merchantNo }: Account,
  { figures, done }: { readonly figures: readonly DayFigures[]; readonly done: readonly BusinessDay[] },
): Promise<void> {
  await saveFigures(trx, merchantNo, figures);
  if (done.length === 0) return;
  await forgetSum(sql`(
    SELECT ${merchantNo}::text COLLATE "C" AS merchant_no, unnest(${arrayLiteral(done)}::date[]) AS day
  )`).execute(trx);
}

/** Each day is due from now on. As JSON, in which amounts are text: a number of JSON would lose digits. */
async function saveFigures(trx: Trx, merchantNo: string, figures: readonly DayFigures[]): Promise<void> {
  if (figures.length === 0) return;
  const rows = figures.map((one) => ({ ...columnsOf(one), merchant_no: merchantNo }));
  await sql`
    INSERT INTO account_day AS known (merchant_no, ${COLUMNS})
    SELECT merchant_no, ${COLUMNS} FROM json_populate_recordset(NULL::account_day, ${JSON.stringify(rows)}::json) AS made
    ON CONFLICT (merchant_no, currency, day) DO UPDATE SET (${COLUMNS}, version) = ROW (${EXCLUDED}, known.version + 1)`.execute(
    trx,
  );
}

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
