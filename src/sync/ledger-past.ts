/** Asks how many entries the platform has from before an instant. */
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { isPlatformError, PlatformUnreachable } from '../platform/errors.ts';
import { INSTANT_MS_MIN } from '../platform/wire.ts';

/** A larger total is cut to this: nobody sees the figure itself. */
const TOTAL_MAX = 1_000_000_000;

/**
 * The platform's total for all time before `beforeMs`, of one currency or (null) of all, from one call. Null if it refuses such a wide window or sends
 * what cannot be read. Undefined if it could not be reached, so that another night asks again.
 */
export async function entriesBefore(
  reader: LedgerReader,
  merchant: MerchantAccess,
  { beforeMs, currency }: { readonly beforeMs: number; readonly currency: string | null },
  signal: AbortSignal,
): Promise<number | null | undefined> {
  if (beforeMs <= INSTANT_MS_MIN) return 0;
  const window = { beginMs: INSTANT_MS_MIN, endMs: beforeMs - 1 };
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
