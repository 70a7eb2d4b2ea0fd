/**
 * Stores notices: what is odd about a ledger although no balance breaks. A notice is kept when it is found, reported
 * once, and shown for a while after that.
 */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { currencyFrom, isChosen, storedCurrency } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

/** A business day without entries although such days are busy. Currency '' means all accounts of the merchant. */
export interface EmptyNotice {
  readonly kind: 'empty';
  readonly merchantNo: string;
  /** Null: every account of the merchant. */
  readonly currency: string | null;
  readonly day: BusinessDay;
  /** The fewest and the most entries that the same weekday had in the weeks before. */
  readonly figures: { readonly fewest: number; readonly most: number };
}

/** An opening that no entry explains: other than zero on an account's first day, or one of several that fit (`others`). */
export interface FirstNotice {
  readonly kind: 'first';
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  readonly figures: { readonly opening: string; readonly others?: readonly string[] };
}

/** Entries of an account day that two merchants both have, with equal numbers, times and amounts. */
export interface SharedNotice {
  readonly kind: 'shared';
  readonly merchantNo: string;
  /** The one of the two numbers that sorts later. */
  readonly otherMerchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  readonly figures: {
    readonly count: number;
    /** The first few, in order. */
    readonly batchNos: readonly string[];
    /** Of the two, those whose statement of the day was published before this was found; left out if there are none. */
    readonly published?: readonly string[];
  };
}

/** Entries of an account day without a transaction type, or with more decimals than their currency has. */
export interface OddNotice {
  readonly kind: 'untyped' | 'finer';
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  /** The first few batch numbers, in order. */
  readonly figures: { readonly count: number; readonly batchNos: readonly string[] };
}

/** Numbers that the platform uses for two entries each: their contents alternate. */
export interface ReusedNotice {
  readonly kind: 'reused';
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  readonly figures: {
    readonly count: number;
    /** The first few, in order. */
    readonly batchNos: readonly string[];
    /** Of the first number: what is kept, and what it is used for as well. */
    readonly contents: readonly [kept: string, other: string];
  };
}

export type Notice = EmptyNotice | FirstNotice | SharedNotice | OddNotice | ReusedNotice;
export type KnownNotice = Notice & { readonly foundAt: Date; readonly runId: number };

/** Odd entries of an account are reported on the first of so many days: after that they are how the platform books. */
const ODD_AGAIN_DAYS = 31;

/**
 * Stores notices that are not known yet. A known `shared` or `reused` notice counts as new again if it now has
 * more entries. Odd
 * entries are left out where the account has had some in the weeks before, or on a later one of these days.
 */
export async function keepNotices(
  trx: Transaction<DB>,
  notices: readonly Notice[],
  { runId, now }: { readonly runId: number; readonly now: Date },
): Promise<void> {
  if (notices.length === 0) return;
  await sql`
    INSERT INTO notice AS known (merchant_no, kind, currency, day, other_merchant_no, figures, found_at, run_id)
    SELECT sent.*, ${now}::timestamptz, ${runId}::bigint FROM ${rowsOf(notices)}
    WHERE sent.kind NOT IN ('untyped', 'finer') OR NOT EXISTS (
      SELECT FROM notice before
      WHERE before.merchant_no = sent.merchant_no AND before.kind = sent.kind AND before.currency = sent.currency
        AND abs(sent.day - before.day) <= ${sql.lit(ODD_AGAIN_DAYS)}
    )
    ON CONFLICT (merchant_no, kind, currency, day, other_merchant_no) DO UPDATE
      SET figures = excluded.figures, found_at = excluded.found_at, run_id = excluded.run_id, reported_at = NULL
      WHERE known.kind IN ('shared', 'reused') AND (known.figures->'count')::int < (excluded.figures->'count')::int`.execute(
    trx,
  );
}

/** The merchants' notices that no run has reported yet, whichever run found them. */
export const unreportedNotices = (db: Kysely<DB>, merchants: readonly string[]): Promise<KnownNotice[]> =>
  noticesWhere(db, merchants, sql`reported_at IS NULL`);

/** The merchants' notices found since then, reported or not. */
export const noticesSince = (
  db: Kysely<DB>,
  merchants: readonly string[],
  since: Date,
): Promise<KnownNotice[]> => noticesWhere(db, merchants, sql`found_at >= ${since}`);

/** Most days of a merchant that `sharedNoticeDays` names. */
const SHARED_DAYS_MAX = 60;

/** The last days of which a shared notice of the merchant is stored, reported or not. */
export async function sharedNoticeDays(
  db: Kysely<DB>,
  merchantNo: string,
): Promise<{ readonly currency: string; readonly day: BusinessDay }[]> {
  const { rows } = await sql<{ currency: string; day: BusinessDay }>`
    SELECT DISTINCT currency, day FROM notice WHERE kind = 'shared' AND ${ofEither([merchantNo])}
    ORDER BY day DESC LIMIT ${sql.lit(SHARED_DAYS_MAX)}`.execute(db);
  return rows;
}

/** Those of the merchants that have a shared notice, or days left by an earlier run that are not compared yet. */
export async function merchantsToCompare(
  db: Kysely<DB>,
  merchants: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ merchant_no: string }>`
    SELECT merchant_no FROM day_entries WHERE ${isChosen('merchant_no', merchants)} AND is_uncompared AND NOT is_changed
    UNION SELECT merchant_no FROM notice WHERE kind = 'shared' AND ${isChosen('merchant_no', merchants)}
    UNION SELECT other_merchant_no FROM notice WHERE kind = 'shared' AND ${isChosen('other_merchant_no', merchants)}`.execute(
    db,
  );
  return new Set(rows.map((row) => row.merchant_no));
}

/** The notices by merchant. What two merchants have is a notice of both. */
export function noticesByMerchant(
  notices: readonly KnownNotice[],
): ReadonlyMap<string, readonly KnownNotice[]> {
  const byMerchant = new Map<string, KnownNotice[]>();
  for (const notice of notices) {
    const others = notice.kind === 'shared' ? [notice.otherMerchantNo] : [];
    for (const merchantNo of new Set([notice.merchantNo, ...others]))
      byMerchant.set(merchantNo, [...(byMerchant.get(merchantNo) ?? []), notice]);
  }
  return byMerchant;
}

/** Marks these notices as reported, once the run that reports them is on record. One that has grown meanwhile stays. */
export async function markNoticesReported(
  trx: Transaction<DB>,
  reported: readonly KnownNotice[],
  now: Date,
): Promise<void> {
  if (reported.length === 0) return;
  await sql`
    UPDATE notice SET reported_at = ${now} FROM ${rowsOf(reported)}
    WHERE notice.merchant_no = sent.merchant_no AND notice.kind = sent.kind AND notice.currency = sent.currency
      AND notice.day = sent.day AND notice.other_merchant_no = sent.other_merchant_no
      AND notice.figures = sent.figures AND notice.reported_at IS NULL`.execute(trx);
}

/** The notices as rows with the alias `sent`. */
function rowsOf(notices: readonly Notice[]): RawBuilder<unknown> {
  const column = (value: (notice: Notice) => string) => arrayLiteral(notices.map(value));
  return sql`unnest(
    ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ kind }) => kind)}::text[],
    ${column(({ currency }) => storedCurrency(currency))}::text[], ${column(({ day }) => day)}::date[],
    ${column((notice) => (notice.kind === 'shared' ? notice.otherMerchantNo : ''))}::text[],
    ${column(({ figures }) => JSON.stringify(figures))}::jsonb[]
  ) AS sent (merchant_no, kind, currency, day, other_merchant_no, figures)`;
}

/** What two merchants have is reported in the run of either. */
const ofEither = (merchants: readonly string[]): RawBuilder<boolean> =>
  sql`(${isChosen('merchant_no', merchants)} OR ${isChosen('other_merchant_no', merchants)})`;

/** An `empty` notice no longer holds once its day has entries. */
const isFixed = sql`
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
    SELECT * FROM notice WHERE ${is} AND ${ofEither(merchants)} AND NOT (${isFixed})
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
