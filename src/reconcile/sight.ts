/** What a pass over an account can see: its days as they stand, and how far the time between entries is proven. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { DayFigures } from '../store/account-days.ts';
import { readAccountToChain } from '../store/entries.ts';
import type { DB } from '../store/schema.ts';
import { createCoverage, type Coverage } from './coverage.ts';
import { createKnownDays, type KnownDays } from './known-days.ts';

export interface AccountInZone {
  readonly db: Kysely<DB>;
  readonly account: Account;
  readonly zone: string;
}

export interface Sight {
  readonly known: KnownDays;
  readonly covered: Coverage;
}

export const createSight = ({ db, account }: AccountInZone): Sight => ({
  known: createKnownDays(db, account),
  covered: createCoverage(db, account),
});

/** Whether all that lies between a day's last entry and an instant is under certificate. */
export const joinsAt = async (before: DayFigures, firstMs: number, { covered }: Sight): Promise<boolean> =>
  before.lastBookedMs !== null &&
  (firstMs <= before.lastBookedMs || (await covered({ beginMs: before.lastBookedMs, endMs: firstMs })));

/** The same up to a day's first entry; true for a day without any. */
export async function joinsDay(
  before: DayFigures,
  day: BusinessDay,
  options: AccountInZone,
  sight: Sight,
): Promise<boolean> {
  if (before.lastBookedMs === null) return false;
  const firstMs = await firstBookedMs(day, options);
  return firstMs === undefined || joinsAt(before, firstMs, sight);
}

/** When a day's first entry was booked; undefined where it has none. */
export async function firstBookedMs(
  day: BusinessDay,
  { db, account, zone }: AccountInZone,
): Promise<number | undefined> {
  for await (const [first] of readAccountToChain(db, account, dayWindow(day, zone), { batchSize: 1 })) {
    return first?.bookedMs;
  }
  return undefined;
}
