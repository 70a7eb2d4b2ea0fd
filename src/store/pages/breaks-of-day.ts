/** Finds the breaks that lie in an account's day, or between it and the next. */
import type { Kysely } from 'kysely';
import { addDays } from '../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import type { BreakRow } from '../breaks/breaks.ts';
import type { DB } from '../engine/schema.ts';
import type { DayOfAccount } from './day-rows.ts';

/** Breaks of a day that have not healed, by time: the first ones, and how many there are. */
export interface BreaksFound {
  readonly breaks: readonly BreakRow[];
  readonly inAll: number;
}

/**
 * The same breaks as `openBreaksOn`, and those that a person resolved. Uses continuity_break_account: a break's day is that of
 * the entry behind it, which around midnight may be stamped a little before the entry in front.
 */
export async function breaksOfDay(
  db: Kysely<DB>,
  { account, window }: DayOfAccount,
  day: BusinessDay,
  limit: number,
): Promise<BreaksFound> {
  const rows = await notHealed(db, account)
    .select((eb) => eb.fn.countAll<number>().over().as('in_all'))
    .where('day', '>=', addDays(day, -1))
    .where('begin_ms', '<=', window.endMs)
    .where('end_ms', '>=', window.beginMs)
    .orderBy('begin_ms')
    .orderBy('id')
    .limit(limit)
    .execute();
  return { breaks: rows, inAll: rows[0]?.in_all ?? 0 };
}

/** Those right before entries of the day with these numbers. Uses continuity_break_account. */
export const breaksBefore = (
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
  batchNos: readonly string[],
): Promise<BreakRow[]> =>
  notHealed(db, account)
    .where('day', '=', day)
    .where('before_batch_no', 'in', [...batchNos])
    .execute();

const notHealed = (db: Kysely<DB>, { merchantNo, currency }: Account) =>
  db
    .selectFrom('continuity_break')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('currency', '=', currency)
    .where('status', '<>', 'healed');
