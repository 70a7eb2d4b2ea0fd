/** Whose ledgers a run reads: the one in the settings, those added, or just the ones asked for. */
import type { Kysely } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import {
  activeMerchants,
  merchantsWithoutToken,
  merchantTokens,
  type LockedMerchant,
  type MerchantToken,
} from '../store/merchants.ts';
import type { Settings, SettingsWithoutPlatform } from '../settings/settings.ts';
import type { DB } from '../store/engine/schema.ts';
import { UsageError } from './verdict/exit-codes.ts';
import { notReadText } from './verdict/finding-reasons.ts';
import type { PlatformApp } from './app.ts';

/**
 * The merchants of a run, in order. A merchant whose stored token cannot be read is included: stages that make no calls
 * still run for it. Reading its `token` throws the reason, which is then reported as a failure of this merchant only.
 *
 * Throws `UsageError` for an unknown merchant, or if there is no merchant at all; `UnknownSecretKey` or
 * `SecretUnreadable` if none of the chosen merchants' tokens can be read.
 */
export async function chosenMerchants(
  { database, settings }: Pick<PlatformApp, 'database' | 'settings'>,
  asked: Chosen,
): Promise<MerchantAccess[]> {
  const { merchant } = settings.platform;
  const readable = async (merchants: Chosen): Promise<Map<string, MerchantToken | LockedMerchant>> => {
    const stored = await merchantTokens(database.db, settings.secretKeys, merchants);
    const known = new Map(stored.map((one) => [one.merchantNo, one]));
    return merchant === null ? known : known.set(merchant.merchantNo, { ...merchant });
  };
  const known = await readable(asked);
  const wanted = asked ?? [...known.keys()].sort();
  const unknown = wanted.find((merchantNo) => !known.has(merchantNo));
  if (wanted.length === 0 || unknown !== undefined) {
    const all = [...(await readable(null)).keys()].sort();
    throw notReadable(unknown, all, await merchantsNotRead(settings, database.db));
  }
  const chosen = wanted.map((merchantNo) => known.get(merchantNo)!);
  const [first] = chosen;
  if (first?.token === null && chosen.every(({ token }) => token === null)) throw first.problem;
  return chosen.map((one) => (one.token === null ? locked(one) : one));
}

/** The merchants that a run of all merchants leaves out, as their token is nowhere, in order. */
export const merchantsNotRead = (
  { platform }: Pick<Settings, 'platform'>,
  db: Kysely<DB>,
): Promise<string[]> => merchantsWithoutToken(db, ownMerchants({ platform }));

/** The merchant in the settings; none where they name none. */
export const ownMerchants = ({ platform }: Pick<SettingsWithoutPlatform, 'platform'>): string[] =>
  platform?.merchant == null ? [] : [platform.merchant.merchantNo];

/** The merchants whose ledgers are read, in order: the active ones in the database, and the one in the settings. */
export const readMerchants = async (
  db: Kysely<DB>,
  settings: Pick<SettingsWithoutPlatform, 'platform'>,
): Promise<string[]> => [...new Set([...(await activeMerchants(db)), ...ownMerchants(settings)])].sort();

const notReadable = (
  merchantNo: string | undefined,
  known: readonly string[],
  notRead: readonly string[],
): UsageError =>
  merchantNo === undefined || known.length === 0
    ? new UsageError(
        'there is no merchant whose ledger could be read: set PLATFORM_MERCHANT_NO and PLATFORM_TOKEN, or add one with ' +
          `\`daybook merchants add --merchant-no NO --token-stdin\`.${notRead.map((one) => ` ${notReadText(one)}.`).join('')}`,
      )
    : new UsageError(`merchant ${merchantNo} is unknown or disabled; known: ${known.join(', ')}.`);

/** A placeholder that works as long as no call is made. Reading `token` throws the reason why there is none. */
const locked = ({ merchantNo, problem }: LockedMerchant): MerchantAccess => ({
  merchantNo,
  get token(): string {
    throw problem;
  },
});

/** The merchant asked for, or the only one there is. Throws `UsageError`. */
export async function oneMerchant(app: PlatformApp, asked: string | undefined): Promise<MerchantAccess> {
  const found = await chosenMerchants(app, asked === undefined ? null : [asked]);
  const [merchant, ...others] = found;
  if (merchant === undefined || others.length > 0) {
    const known = found.map(({ merchantNo }) => merchantNo).join(', ');
    throw new UsageError(`say for which merchant with --merchant NO; known: ${known}.`);
  }
  return merchant;
}
