/**
 * What is known of merchants before the work on them begins, asked for many of them at once. Most merchants have none of
 * it, and their work then needs no further question.
 */
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
import { askInParts } from '../store/account-filter.ts';
import { isPlatformError, PlatformRejected, PlatformUnreachable } from '../platform/errors.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { markJoined, notJoined } from '../store/merchants.ts';
import type { DayRange } from './range.ts';

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

/** By merchant; six statements for some hundred merchants. */
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
  days: DayRange,
): Promise<[string, KnownAhead][]> {
  const [broken, unreadable, busiest, olderDays, toCompare, silent] = await Promise.all([
    merchantsWithBreaks(db, merchants).then((found) => new Set(found)),
    merchantsWithUnreadable(db, merchants),
    entriesOfBusiestDays(db, merchants, days),
    historicalComparisons(db, merchants),
    merchantsToCompare(db, merchants),
    merchantsWithSilent(db, merchants),
  ]);
  return merchants.map((merchantNo) => [
    merchantNo,
    {
      hasBreaks: broken.has(merchantNo),
      hasUnreadable: unreadable.has(merchantNo),
      busiestDay: busiest.get(merchantNo) ?? 0,
      isToCompare: toCompare.has(merchantNo),
      hasSilent: silent.has(merchantNo),
      olderDays: olderDays.get(merchantNo) ?? null,
    },
  ]);
}

export interface NotJoined {
  readonly problem: string;
  /** The platform could not be reached: the same call may succeed later. */
  readonly mayPass: boolean;
  readonly refusesToken?: boolean;
}

/** Makes sure that a merchant is in the nightly job. Null once it has joined, just now or earlier. */
export type Joining = (merchant: MerchantAccess) => Promise<NotJoined | null>;

/** Tries one call for each merchant that is known and has not joined: it asks for one page of yesterday's ledger. */
export async function createJoining(
  merchants: readonly MerchantAccess[],
  deps: Readonly<{
    db: Kysely<DB>;
    reader: LedgerReader;
    zone: string;
    now: () => Date;
    signal: AbortSignal;
  }>,
): Promise<Joining> {
  const { db, reader, zone, now, signal } = deps;
  const merchantNos = merchants.map(({ merchantNo }) => merchantNo);
  const known = await notJoined(db, merchantNos);
  return async (merchant) => {
    if (!known.has(merchant.merchantNo)) return null;
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
