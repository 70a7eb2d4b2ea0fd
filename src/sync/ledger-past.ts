/** Asks how many entries the platform has from before an instant. */
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { isPlatformError, PlatformUnreachable } from '../platform/errors.ts';
import { INSTANT_MS_MIN } from '../platform/wire.ts';

/** More than this is as good as it: the figure is told to nobody. */
const TOTAL_MAX = 1_000_000_000;

/**
 * The platform's total for all of the merchant's time before `beforeMs`, one call. Null where it refuses so wide a window
 * or answers what nobody can read; undefined where it could not be reached, so that it is asked again another night.
 */
export async function entriesBefore(
  reader: LedgerReader,
  merchant: MerchantAccess,
  beforeMs: number,
  signal: AbortSignal,
): Promise<number | null | undefined> {
  if (beforeMs <= INSTANT_MS_MIN) return 0;
  const window = { beginMs: INSTANT_MS_MIN, endMs: beforeMs - 1 };
  try {
    const page = await reader.page({ merchant, window, pageNum: 1 }, signal);
    // A list that is not empty says more than a total of 0.
    return Math.min(Math.max(page.total, page.entries.length + page.unreadable.length), TOTAL_MAX);
  } catch (error) {
    if (!isPlatformError(error)) throw error;
    return error instanceof PlatformUnreachable ? undefined : null;
  }
}
