/** What is known of a merchant before the work on it begins. Most merchants have none of it, and need no further question. */
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { entriesOfBusiestDays } from '../store/account-days.ts';
import { merchantsWithBreaks } from '../store/breaks/hints.ts';
import type { DB } from '../store/engine/schema.ts';
import { merchantsWithUnreadable } from '../store/quarantine.ts';
import { merchantsWithSilent } from '../store/silent-accounts.ts';
import { merchantsToCompare } from '../store/notices.ts';
import { historicalComparisons, type HistoricalComparison } from '../store/historical-days.ts';
import { isPlatformError, PlatformRejected, PlatformUnreachable } from '../platform/errors.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { markJoined, notJoined } from '../store/merchants.ts';

const DAYS_BACK = 7;

/** It holds as long as the merchant's lease is held: only its holder can add to it. */
export interface KnownAhead {
  readonly hasBreaks: boolean;
  /** Unreadable entries that the platform still sends. */
  readonly hasUnreadable: boolean;
  /** Entries of the busiest of the last days, all accounts together. */
  readonly busiestDay: number;
  /** A notice of entries that another merchant has as well, or days that are still to be compared. */
  readonly isToCompare: boolean;
  /** An account that was silent for longer than ever before when it was read last. */
  readonly hasSilent: boolean;
  /** How older days compared with the platform; null if they were never compared. */
  readonly olderDays: HistoricalComparison | null;
}

/** Asked when the merchant's turn comes. */
export async function knownAhead(
  db: Kysely<DB>,
  merchantNo: string,
  today: BusinessDay,
): Promise<KnownAhead> {
  const own = [merchantNo];
  const days = { from: addDays(today, -DAYS_BACK), to: addDays(today, -1) };
  return {
    hasBreaks: (await merchantsWithBreaks(db, own)).length > 0,
    hasUnreadable: (await merchantsWithUnreadable(db, own)).size > 0,
    busiestDay: (await entriesOfBusiestDays(db, own, days)).get(merchantNo) ?? 0,
    isToCompare: (await merchantsToCompare(db, own)).has(merchantNo),
    hasSilent: (await merchantsWithSilent(db, own)).size > 0,
    olderDays: (await historicalComparisons(db, own)).get(merchantNo) ?? null,
  };
}

export interface NotJoined {
  readonly problem: string;
  /** The platform could not be reached: the same call may succeed later. */
  readonly mayPass: boolean;
  readonly refusesToken?: boolean;
}

/** Makes sure that a merchant is in the nightly job. Null once it has joined, just now or earlier. */
export type Joining = (merchant: MerchantAccess) => Promise<NotJoined | null>;

/** Tries one call for a merchant that is known and has not joined: it asks for one page of yesterday's ledger. */
export function createJoining({
  db,
  reader,
  zone,
  now,
  signal,
}: Readonly<{
  db: Kysely<DB>;
  reader: LedgerReader;
  zone: string;
  now: () => Date;
  signal: AbortSignal;
}>): Joining {
  return async (merchant) => {
    if (!(await notJoined(db, [merchant.merchantNo])).has(merchant.merchantNo)) return null;
    const window = dayWindow(addDays(dayOf(now().getTime(), zone), -1), zone);
    try {
      await reader.page({ merchant, window, pageNum: 1 }, signal);
    } catch (error) {
      if (!isPlatformError(error)) throw error;
      const refusesToken = error instanceof PlatformRejected && error.refusesToken;
      return {
        ...{ problem: error.message, mayPass: error instanceof PlatformUnreachable },
        ...(refusesToken && { refusesToken }),
      };
    }
    await markJoined(db, merchant.merchantNo, now());
    return null;
  };
}
