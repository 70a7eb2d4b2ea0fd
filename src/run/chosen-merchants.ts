/** Chooses the merchants of a run: the one in the settings and those in the database, or only those asked for. */
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { merchantTokens, type LockedMerchant } from '../store/merchants.ts';
import { UsageError } from './verdict/exit-codes.ts';
import type { PlatformApp } from './app.ts';

/**
 * The merchants of a run, in order. A merchant whose stored token cannot be read is included: work that needs no call
 * is done for it. Using its token throws the reason, and this failure is then that merchant's own.
 *
 * Throws `UsageError` for an unknown merchant, or if there is no merchant at all; `UnknownSecretKey` or
 * `SecretUnreadable` if none of the chosen merchants' tokens can be read.
 */
export async function chosenMerchants(
  { database, settings }: Pick<PlatformApp, 'database' | 'settings'>,
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
  const wanted = asked.length === 0 ? [...known.keys()].sort() : asked;
  const chosen = wanted.map((merchantNo) => {
    const found = known.get(merchantNo);
    if (found === undefined) {
      throw new UsageError(
        `merchant ${merchantNo} is not known or disabled; known: ${[...known.keys()].sort().join(', ')}.`,
      );
    }
    return found;
  });
  const [first] = chosen;
  if (first?.token === null && chosen.every(({ token }) => token === null)) throw first.problem;
  return chosen.map((one) => (one.token === null ? locked(one) : one));
}

/** The merchant, for work that makes no call. Reading its token throws an error that says what is wrong. */
const locked = ({ merchantNo, problem }: LockedMerchant): MerchantAccess => ({
  merchantNo,
  get token(): string {
    throw problem;
  },
});
