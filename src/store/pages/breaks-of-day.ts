/** Finds the breaks that lie in an account's day, or between it and the next. */
import type { Kysely } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { BreakRow } from '../breaks/breaks.ts';
import type { DB } from '../engine/schema.ts';
import type { DayOfAccount } from './day-rows.ts';

/** Those that have not healed, by time. Uses continuity_break_account: a break's day is that of the entry behind it. */
export const breaksOfDay = (
  db: Kysely<DB>,
  { account, window }: DayOfAccount,
  day: BusinessDay,
  limit: number,
): Promise<BreakRow[]> =>
  db
    .selectFrom('continuity_break')
    .selectAll()
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency)
    .where('day', '>=', day)
    .where('status', '<>', 'healed')
    .where('begin_ms', '<=', window.endMs)
    .where('end_ms', '>=', window.beginMs)
    .orderBy('begin_ms')
    .orderBy('id')
    .limit(limit)
    .execute();
