/** Whose ledgers a run reads: the one in the settings, those added, or just the ones asked for. */
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { merchantTokens } from '../store/merchants.ts';
import { UsageError } from './exit-codes.ts';
import type { PlatformHouse } from './house.ts';

/** Throws `UsageError` for a merchant nobody knows, or where there is none at all. */
export async function chosenMerchants(
  { database, settings }: Pick<PlatformHouse, 'database' | 'settings'>,
  asked: readonly string[],
): Promise<MerchantAccess[]> {
  const stored = await merchantTokens(database.db, settings.secretKeys);
  const { merchant } = settings.platform;
  const known = new Map(stored.map((one) => [one.merchantNo, one]));
  if (merchant !== null) known.set(merchant.merchantNo, merchant);
  if (known.size === 0) {
    throw new UsageError(
      'there is no merchant whose ledger could be read: set PLATFORM_MERCHANT_NO and PLATFORM_TOKEN, or add one with ' +
        '`daybook merchants add`.',
    );
  }
  if (asked.length === 0) return [...known.values()].sort((a, b) => (a.merchantNo < b.merchantNo ? -1 : 1));
  return asked.map((merchantNo) => {
    const found = known.get(merchantNo);
    if (found === undefined) {
      throw new UsageError(
        `merchant ${merchantNo} is not known or disabled; known: ${[...known.keys()].sort().join(', ')}.`,
      );
    }
    return found;
  });
}
