/**
 * What is known of a ledger beyond the days that were read: how many entries the platform has from before and the beginning
 * of accounts.
 */
import { sql, type RawBuilder } from 'kysely';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { ALL_TIME, covers } from '../ledger/window.ts';
import { storedCurrency } from './account-filter.ts';
import { figuredCurrencies } from './account-days.ts';
import { certifiedWindows, firstCertified } from './certificates.ts';
import { type Db, type Trx, rowOf, rowsOf, type ValueOrSql } from './engine/database.ts';

export interface LedgerPast {
  readonly beforeMs: number;
  /** How many entries the platform has from before; null if it refused to say. */
  readonly total: number | null;
}

interface PastAndBegin {
  readonly past: LedgerPast | null;
  readonly beginMs: number | null;
}

export async function pastAndBegin(
  db: Db,
  merchantNo: string,
  currency: string | null = null,
): Promise<PastAndBegin> {
  const {
    before_ms: beforeMs,
    total,
    begin_ms: beginMs,
  } = await rowOf(db)<{ before_ms: number | null; total: number | null; begin_ms: number | null }>`
    SELECT past.past_before_ms AS before_ms, past.past_total AS total, (${firstCertified(merchantNo)}) AS begin_ms
    FROM (VALUES (1)) AS always
    LEFT JOIN ledger_cursor past ON past.merchant_no = ${merchantNo} AND past.currency = ${storedCurrency(currency)}`;
  return { past: beforeMs === null ? null : { beforeMs, total }, beginMs };
}

/**
 * Whether it is proven that the account has no entry before a window: the platform counted none before the first instant
 * under certificate, and everything from there through the window is certified.
 */
export async function isLedgerBegin(
  db: Db,
  { merchantNo, currency }: Account,
  window: Window,
): Promise<boolean> {
  const { past } = await pastAndBegin(db, merchantNo);
  const [first] = await certifiedWindows(db, merchantNo, ALL_TIME, currency);
  return (
    past?.total === 0 && first !== undefined && first.beginMs <= past.beforeMs && covers([first], window)
  );
}

export async function storePast(
  trx: Trx,
  merchantNo: string,
  { beforeMs, total, currency = null }: LedgerPast & { readonly currency?: string | null },
  now: Date,
): Promise<void> {
  await sql`
    INSERT INTO ledger_cursor (merchant_no, currency, past_before_ms, past_total, past_asked_at)
    VALUES (${merchantNo}, ${storedCurrency(currency)}, ${beforeMs}, ${total}, ${now})
    ON CONFLICT (merchant_no, currency) DO UPDATE
      SET past_before_ms = excluded.past_before_ms, past_total = excluded.past_total,
        past_asked_at = excluded.past_asked_at`.execute(trx);
}

interface FirstDay {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly opening: string;
}

/**
 * First days of accounts that open on a balance other than zero and have no notice yet. Once the platform has answered
 * that the currency has entries before the first certified instant, or has refused to say, only those whose opening is
 * not decided. One jump along account_day's key for each account.
 */
export const firstDaysWithBalance = (db: Db, merchantNo: string) => rowsOf(db)<FirstDay>`
    WITH RECURSIVE figured (currency) AS (${figuredCurrencies(merchantNo)})
    SELECT account.currency, first.day, first.opening
    FROM figured AS account CROSS JOIN LATERAL (${firstWithBalance(merchantNo)}) AS first
    ORDER BY account.currency`;

const firstWithBalance = (merchantNo: ValueOrSql): RawBuilder<unknown> => sql`
  SELECT first.day, first.opening FROM (
    SELECT day, opening, other_closings FROM account_day
    WHERE merchant_no = ${merchantNo} AND currency = account.currency ORDER BY day LIMIT 1
  ) AS first
  WHERE NOT EXISTS (
    SELECT FROM event
    WHERE kind = 'first' AND merchant_no = ${merchantNo} AND subject = account.currency || ' ' || first.day
  ) AND (first.other_closings <> '' OR (first.opening <> 0 AND NOT EXISTS (
    SELECT FROM ledger_cursor
    WHERE merchant_no = ${merchantNo}
      AND (currency = account.currency AND past_total IS DISTINCT FROM 0 OR currency = '' AND past_total IS NULL)
      AND past_before_ms <= (${firstCertified(merchantNo)})
  )))`;
