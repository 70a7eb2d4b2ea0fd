/** What is published and proven of a merchant's days, asked for by day. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import { pastOfDays, type DayAsked, type PastOfDay } from '../store/statements/past-of-days.ts';
import { manifestKey, signatureKey } from './keys.ts';

export const askedDays = (merchantNo: string, days: readonly BusinessDay[], zone: string): DayAsked[] =>
  days.map((day) => ({
    day,
    window: dayWindow(day, zone),
    manifestKey: manifestKey(merchantNo, day),
    signatureKey: signatureKey(merchantNo, day),
  }));

export const pastOf = (
  db: Kysely<DB>,
  merchantNo: string,
  days: readonly BusinessDay[],
  zone: string,
): Promise<ReadonlyMap<BusinessDay, PastOfDay>> =>
  pastOfDays(db, merchantNo, askedDays(merchantNo, days, zone));
