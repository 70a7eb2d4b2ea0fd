/** Asks how many entries the platform has from before an instant. */
import type { Kysely } from 'kysely';
import { ALL_TIME } from '../ledger/window.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { isPlatformError, PlatformUnreachable } from '../platform/errors.ts';
import { INSTANT_MS_MIN } from '../platform/wire.ts';
import { countStored } from '../store/historical-days.ts';
import { certifiedWindows } from '../store/certificates.ts';
import type { DB } from '../store/engine/schema.ts';

/** A larger total is cut to this: no one sees the figure itself. */
const TOTAL_MAX = 1_000_000_000;

interface PastAsked {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly merchant: MerchantAccess;
  readonly beforeMs: number;
  readonly currency: string | null;
  readonly signal: AbortSignal;
}

interface PastAnswer {
  /** Null if the platform refuses such a wide window or cuts it short. Undefined if it could not be reached: another night asks again. */
  readonly total: number | null | undefined;
  readonly requests: number;
}

/**
 * The platform's total for all time before `beforeMs`. A total of 0 is believed only if the platform also counts the
 * stored entries when they are asked for together with that time: one that cuts wide windows short would not.
 */
export async function entriesBefore(asked: PastAsked): Promise<PastAnswer> {
  const { db, merchant, beforeMs, currency } = asked;
  if (beforeMs <= INSTANT_MS_MIN) return { total: 0, requests: 0 };
  const total = await totalUpTo(asked, beforeMs - 1);
  if (total !== 0) return { total, requests: 1 };
  const [proven] = await certifiedWindows(db, merchant.merchantNo, ALL_TIME, currency);
  if (proven === undefined) return { total: null, requests: 1 };
  const { endMs } = proven;
  const stored = await countStored(db, merchant.merchantNo, { beginMs: beforeMs, endMs }, currency);
  const all = await totalUpTo(asked, endMs);
  if (typeof all !== 'number') return { total: all, requests: 2 };
  return { total: stored > 0 && all >= stored ? 0 : null, requests: 2 };
}

async function totalUpTo(
  { reader, merchant, currency, signal }: PastAsked,
  endMs: number,
): Promise<number | null | undefined> {
  const window = { beginMs: INSTANT_MS_MIN, endMs };
  try {
    const page = await reader.page(
      { merchant, window, pageNum: 1, ...(currency !== null && { currency }) },
      signal,
    );
    // If the list has entries, a total of 0 is not believed.
    return Math.min(Math.max(page.total, page.entries.length + page.unreadable.length), TOTAL_MAX);
  } catch (error) {
    if (!isPlatformError(error)) throw error;
    return error instanceof PlatformUnreachable ? undefined : null;
  }
}
