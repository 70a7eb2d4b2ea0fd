/**
 * What is known of merchants before the work on them begins, asked for many of them at once. Most merchants have none of
 * it, and their work then needs no further question.
 */
import type { Kysely } from 'kysely';
import { addDays } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { entriesOfBusiestDays } from '../store/account-days.ts';
import { merchantsWithBreaks } from '../store/breaks/hints.ts';
import type { DB } from '../store/engine/schema.ts';
import { merchantsWithUnreadable } from '../store/amendments.ts';
import { merchantsToCompare } from '../store/notices.ts';
import { historicalComparisons, type HistoricalComparison } from '../store/historical-days.ts';
import { askInParts } from './many-merchants.ts';

/** Days read back for the busiest one. */
const DAYS_BACK = 7;

/** It holds as long as the merchant's lease is held: only its holder can add to it. */
export interface KnownAhead {
  /** Breaks that have not healed. */
  readonly hasBreaks: boolean;
  /** Unreadable entries that the platform still sends. */
  readonly hasUnreadable: boolean;
  /** Entries of the busiest of the last days, all accounts together. */
  readonly busiestDay: number;
  /** A notice of entries that another merchant has as well, or days that are still to be compared. */
  readonly isToCompare: boolean;
  /** How older days compared with the platform; null if they were never compared. */
  readonly olderDays: HistoricalComparison | null;
}

/** By merchant; five statements for some hundred merchants. */
export async function knownAhead(
  db: Kysely<DB>,
  merchants: readonly string[],
  today: BusinessDay,
): Promise<ReadonlyMap<string, KnownAhead>> {
  const days = { from: addDays(today, -DAYS_BACK), to: addDays(today, -1) };
  return new Map(await askInParts(merchants, (some) => askOf(db, some, days)));
}

async function askOf(
  db: Kysely<DB>,
  merchants: readonly string[],
  days: { readonly from: BusinessDay; readonly to: BusinessDay },
): Promise<[string, KnownAhead][]> {
  const [broken, unreadable, busiest, olderDays, toCompare] = await Promise.all([
    merchantsWithBreaks(db, merchants).then((found) => new Set(found)),
    merchantsWithUnreadable(db, merchants),
    entriesOfBusiestDays(db, merchants, days),
    historicalComparisons(db, merchants),
    merchantsToCompare(db, merchants),
  ]);
  return merchants.map((merchantNo) => [
    merchantNo,
    {
      hasBreaks: broken.has(merchantNo),
      hasUnreadable: unreadable.has(merchantNo),
      busiestDay: busiest.get(merchantNo) ?? 0,
      isToCompare: toCompare.has(merchantNo),
      olderDays: olderDays.get(merchantNo) ?? null,
    },
  ]);
}
