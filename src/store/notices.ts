/**
 * Stores notices: what is odd about a ledger although no balance breaks. A notice is kept when it is found, reported
 * once, and shown for a while after that.
 */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { isChosen } from './account-filter.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from './engine/database.ts';
import { eventRows, type FoundBy, type NewEvent } from './events.ts';
import type { Currencies } from '../ledger/money.ts';

/** A business day without entries although such days are busy. Currency '' means all accounts of the merchant. */
export interface EmptyNotice {
  readonly kind: 'empty';
  readonly merchantNo: string;
  readonly currency: string | null;
  readonly day: BusinessDay;
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
    readonly batchNos: readonly string[];
    /** Of the first number: what is kept, and what it is used for as well. */
    readonly contents: readonly [kept: string, other: string];
  };
}

export type Notice = EmptyNotice | FirstNotice | SharedNotice | OddNotice | ReusedNotice;
export type KnownNotice = Notice & { readonly foundAt: Date; readonly runId: number };

/** Odd entries of an account are reported on the first of so many days: after that they are how the platform books. */
const ODD_AGAIN_DAYS = 31;

/** The kinds of events that are notices. */
const IS_NOTICE = sql<boolean>`kind IN ('empty', 'first', 'shared', 'untyped', 'finer', 'reused')`;

/** The event of a notice. Its subject is the account's day, and the other merchant of two. */
export function noticeEvent(notice: Notice): NewEvent {
  const { kind, merchantNo, currency, day, figures } = notice;
  const other = notice.kind === 'shared' ? { otherMerchantNo: notice.otherMerchantNo } : {};
  return {
    ...{ kind, merchantNo },
    subject: [...(currency === null ? [] : [currency]), day, ...Object.values(other)].join(' '),
    data: { ...(currency !== null && { currency }), day, ...other, figures },
  };
}

/**
 * Stores notices that are not known yet. A known `shared` or `reused` notice counts as new again if it now has
 * more entries. Odd
 * entries are left out where the account has had some in the weeks before, or on a later one of these days.
 */
export async function keepNotices(
  trx: Trx,
  notices: readonly Notice[],
  { runId, now }: FoundBy,
): Promise<void> {
  if (notices.length === 0) return;
  await sql`
    INSERT INTO event AS known (kind, merchant_no, subject, data, run_id, at)
    SELECT sent.*, ${runId}::bigint, ${now}::timestamptz FROM ${eventRows(notices.map(noticeEvent))}
    WHERE sent.kind NOT IN ('untyped', 'finer') OR NOT EXISTS (
      SELECT FROM event before
      WHERE before.merchant_no = sent.merchant_no AND before.kind = sent.kind
        AND before.data ->> 'currency' = sent.data ->> 'currency'
        AND abs((sent.data ->> 'day')::date - (before.data ->> 'day')::date) <= ${sql.lit(ODD_AGAIN_DAYS)}
    )
    ON CONFLICT (kind, merchant_no, subject) DO UPDATE
      SET data = excluded.data, at = excluded.at, run_id = excluded.run_id, reported_at = NULL
      WHERE known.kind IN ('shared', 'reused')
        AND (known.data #> '{figures,count}')::int < (excluded.data #> '{figures,count}')::int`.execute(trx);
}

export const unreportedNotices = (db: Db, merchants: readonly string[]): Promise<KnownNotice[]> =>
  noticesWhere(db, merchants, sql`reported_at IS NULL`);

export const noticesSince = (db: Db, merchants: readonly string[], since: Date): Promise<KnownNotice[]> =>
  noticesWhere(db, merchants, sql`at >= ${since}`);

const SHARED_DAYS_MAX = 60;

/** The last days of which a shared notice of the merchant is stored, reported or not. */
export const sharedNoticeDays = (
  db: Db,
  merchantNo: string,
): Promise<{ readonly currency: string; readonly day: BusinessDay }[]> => rowsOf(db)<{
  currency: string;
  day: BusinessDay;
}>`
    SELECT DISTINCT data ->> 'currency' AS currency, (data ->> 'day')::date AS day
    FROM event WHERE kind = 'shared' AND ${ofEither([merchantNo])}
    ORDER BY day DESC LIMIT ${sql.lit(SHARED_DAYS_MAX)}`;

/** Those of the merchants that have a shared notice, or days left by an earlier run that are not compared yet. */
export async function merchantsToCompare(db: Db, merchants: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(db)<{ merchant_no: string }>`
    SELECT merchant_no FROM certificate WHERE ${isChosen('merchant_no', merchants)} AND NOT compared AND chained
    UNION SELECT merchant_no FROM event WHERE kind = 'shared' AND ${isChosen('merchant_no', merchants)}
    UNION SELECT data ->> 'otherMerchantNo' FROM event WHERE kind = 'shared' AND ${isOther(merchants)}`;
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

/** The later of the two merchants of a notice is one of these. */
const isOther = (merchants: readonly string[]): RawBuilder<boolean> =>
  sql`data ->> 'otherMerchantNo' = ANY (${arrayLiteral(merchants)}::text[])`;

/** What two merchants have is reported in the run of either. */
const ofEither = (merchants: readonly string[]): RawBuilder<boolean> =>
  sql`(${isChosen('merchant_no', merchants)} OR (kind = 'shared' AND ${isOther(merchants)}))`;

/** An `empty` notice no longer holds once its day has entries. */
const isFixed = sql`
  kind = 'empty' AND EXISTS (
    SELECT FROM account_day d
    WHERE d.merchant_no = event.merchant_no AND d.day = (event.data ->> 'day')::date
      AND (event.data ->> 'currency' IS NULL OR d.currency = event.data ->> 'currency')
      AND d.credit_count + d.debit_count > 0
  )`;

type StoredNotice = Omit<Notice, 'kind' | 'merchantNo' | 'currency'> & { readonly currency?: string };

async function noticesWhere(
  db: Db,
  merchants: readonly string[],
  is: RawBuilder<unknown>,
): Promise<KnownNotice[]> {
  const rows = await rowsOf(db)<{
    kind: Notice['kind'];
    merchantNo: string;
    data: StoredNotice;
    foundAt: Date;
    runId: number;
  }>`
    SELECT kind, merchant_no AS "merchantNo", data, at AS "foundAt", run_id AS "runId" FROM event
    WHERE ${IS_NOTICE} AND ${is} AND ${ofEither(merchants)} AND NOT (${isFixed})
    ORDER BY kind, data ->> 'day', merchant_no, coalesce(data ->> 'currency', '') COLLATE "C",
      (data ->> 'otherMerchantNo') COLLATE "C"`;
  return rows.map(
    ({ kind, merchantNo, data: { currency = null, day, ...data }, foundAt, runId }) =>
      ({ kind, merchantNo, currency, day, ...data, foundAt, runId }) as KnownNotice,
  );
}

const NUMBERS_NAMED_MAX = 3;
/** Of a currency that no list knows nothing is finer. */
const NO_UNITS = 1_000;

/**
 * The merchant's entries from an instant on that have no transaction type, or an amount with more decimals than their
 * currency has; by account and day, oldest first.
 */
export async function oddEntries(
  db: Db,
  merchantNo: string,
  fromMs: number,
  { zone, currencies }: { readonly zone: string; readonly currencies: Currencies },
): Promise<OddNotice[]> {
  const held = await rowsOf(db)<{ currency: string }>`
    SELECT DISTINCT currency FROM ledger_entry
    WHERE merchant_no = ${merchantNo} AND vanished_at IS NULL AND booked_ms >= ${fromMs}`;
  const known = held.map(({ currency }) => ({
    currency,
    units: currencies.minorUnits(currency) ?? NO_UNITS,
  }));
  return rowsOf(db)<OddNotice>`
    WITH known AS (
      SELECT * FROM unnest(
        ${arrayLiteral(known.map(({ currency }) => currency))}::text[],
        ${arrayLiteral(known.map(({ units }) => units))}::int[]
      ) AS known (currency, units)
    ), odd AS (
      SELECT one.kind, e.currency, (to_timestamp(e.booked_ms / 1000.0) AT TIME ZONE ${zone})::date AS day, e.batch_no
      FROM known JOIN ledger_entry e ON e.merchant_no = ${merchantNo} AND e.currency = known.currency
        AND e.vanished_at IS NULL AND e.booked_ms >= ${fromMs}
      CROSS JOIN LATERAL (VALUES
        ('untyped', e.transaction_type !~ '[^[:space:]]'),
        ('finer', greatest(scale(coalesce(e.credit, e.debit)), scale(e.balance)) > known.units)
      ) AS one (kind, is_odd)
      WHERE one.is_odd
    )
    SELECT kind, ${merchantNo}::text AS "merchantNo", currency, day, json_build_object('count', count(*),
      'batchNos', (array_agg(batch_no ORDER BY batch_no))[1:${sql.lit(NUMBERS_NAMED_MAX)}]) AS figures
    FROM odd GROUP BY kind, currency, day ORDER BY day, kind, currency`;
}
