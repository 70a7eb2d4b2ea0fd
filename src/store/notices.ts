/** What is odd about a ledger though no balance breaks: kept when it is found, told once, shown for a while after. */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { currencyFrom, isChosen, storedCurrency } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/** A busy day without entries. */
export interface EmptyNotice {
  readonly kind: 'empty';
  readonly merchantNo: string;
  /** Null: every account of the merchant. */
  readonly currency: string | null;
  readonly day: BusinessDay;
  /** Entries the same weekday had in the weeks before. */
  readonly figures: { readonly fewest: number; readonly most: number };
}

/** An account whose first day opens on a balance that no entry made. */
export interface FirstNotice {
  readonly kind: 'first';
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  readonly figures: { readonly opening: string };
}

/** Entries of an account day that two merchants have, number, time and amounts alike. */
export interface SharedNotice {
  readonly kind: 'shared';
  readonly merchantNo: string;
  /** Sorts after `merchantNo`. */
  readonly otherMerchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  /** The first few numbers, in order. */
  readonly figures: { readonly count: number; readonly batchNos: readonly string[] };
}

export type Notice = EmptyNotice | FirstNotice | SharedNotice;
export type KnownNotice = Notice & { readonly foundAt: Date; readonly runId: number };

/** Keeps what is not known yet; of entries two merchants have, more of them are news again. */
export async function keepNotices(
  trx: Transaction<DB>,
  notices: readonly Notice[],
  { runId, now }: { readonly runId: number; readonly now: Date },
): Promise<void> {
  if (notices.length === 0) return;
  const column = (value: (notice: Notice) => string) => arrayLiteral(notices.map(value));
  await sql`
    INSERT INTO notice AS known (merchant_no, kind, currency, day, other_merchant_no, figures, found_at, run_id)
    SELECT sent.*, ${now}::timestamptz, ${runId}::bigint FROM unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ kind }) => kind)}::text[],
      ${column(({ currency }) => storedCurrency(currency))}::text[], ${column(({ day }) => day)}::date[],
      ${column((notice) => (notice.kind === 'shared' ? notice.otherMerchantNo : ''))}::text[],
      ${column(({ figures }) => JSON.stringify(figures))}::jsonb[]
    ) AS sent
    ON CONFLICT (merchant_no, kind, currency, day, other_merchant_no) DO UPDATE
      SET figures = excluded.figures, found_at = excluded.found_at, run_id = excluded.run_id, told_at = NULL
      WHERE known.kind = 'shared' AND (known.figures->'count')::int < (excluded.figures->'count')::int`.execute(
    trx,
  );
}

/** What no run has told yet of the merchants, whichever run found it. */
export const untoldNotices = (db: Kysely<DB>, merchants: readonly string[]): Promise<KnownNotice[]> =>
  noticesWhere(db, merchants, sql`told_at IS NULL`);

/** What was found since, told or not. */
export const noticesSince = (
  db: Kysely<DB>,
  merchants: readonly string[],
  since: Date,
): Promise<KnownNotice[]> => noticesWhere(db, merchants, sql`found_at >= ${since}`);

/** Once a run that tells them is on record. */
export async function noticesTold(
  trx: Transaction<DB>,
  notices: readonly Notice[],
  merchants: readonly string[],
  now: Date,
): Promise<void> {
  if (notices.length === 0) return;
  await sql`
    UPDATE notice SET told_at = ${now}
    WHERE told_at IS NULL AND ${ofEither(merchants)}`.execute(trx);
}

/** What two merchants have is told in the run of either. */
const ofEither = (merchants: readonly string[]): RawBuilder<boolean> =>
  sql`(${isChosen('merchant_no', merchants)} OR ${isChosen('other_merchant_no', merchants)})`;

/** A day that has entries after all is odd no more. */
const isMended = sql`
  kind = 'empty' AND EXISTS (
    SELECT FROM account_day d
    WHERE d.merchant_no = notice.merchant_no AND (notice.currency = '' OR d.currency = notice.currency)
      AND d.day = notice.day AND d.credit_count + d.debit_count > 0
  )`;

async function noticesWhere(
  db: Kysely<DB>,
  merchants: readonly string[],
  is: RawBuilder<unknown>,
): Promise<KnownNotice[]> {
  const { rows } = await sql<{
    kind: Notice['kind'];
    merchant_no: string;
    currency: string;
    day: BusinessDay;
    other_merchant_no: string;
    figures: Notice['figures'];
    found_at: Date;
    run_id: number;
  }>`
    SELECT * FROM notice WHERE ${is} AND ${ofEither(merchants)} AND NOT (${isMended})
    ORDER BY kind, day, merchant_no, currency, other_merchant_no`.execute(db);
  return rows.map(
    (row) =>
      ({
        kind: row.kind,
        merchantNo: row.merchant_no,
        currency: currencyFrom(row.currency),
        day: row.day,
        ...(row.kind === 'shared' ? { otherMerchantNo: row.other_merchant_no } : {}),
        figures: row.figures,
        foundAt: row.found_at,
        runId: row.run_id,
      }) as KnownNotice,
  );
}
