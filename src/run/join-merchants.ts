/**
 * Lets merchants that an approval made known (docs/platform.md 3.2, 5) join the nightly job once a first call with
 * their token succeeds. So a token that does not work yet makes no night fail.
 */
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import { isPlatformError, PlatformRejected, PlatformUnreachable } from '../platform/errors.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { markJoined, notJoined } from '../store/merchants.ts';
import type { DB } from '../store/engine/schema.ts';

export interface JoinDeps {
  readonly db: Kysely<DB>;
  readonly reader: LedgerReader;
  readonly zone: string;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Why a known merchant did not join. */
export interface NotJoined {
  readonly problem: string;
  /** The platform could not be reached: the same call may succeed later. */
  readonly mayPass: boolean;
  /** The platform refused its token. */
  readonly refusesToken?: boolean;
}

/** Makes sure that a merchant is in the nightly job. Null once it has joined, just now or earlier. */
export type Joining = (merchant: MerchantAccess) => Promise<NotJoined | null>;

/** Tries one call for each merchant that is known and has not joined: it asks for one page of yesterday's ledger. */
export async function createJoining(
  merchants: readonly MerchantAccess[],
  { db, reader, zone, now, signal }: JoinDeps,
): Promise<Joining> {
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
