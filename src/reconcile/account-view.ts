/** What a pass over an account works from: the account's days so far, and which spans of its time are proven. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { DayFigures } from '../store/account-days.ts';
import type { ChainEntry } from '../ledger/chain/chain-link.ts';
import type { AccountToChain } from '../store/days-to-chain.ts';
import { readAccountToChain } from '../store/entries.ts';
import type { DB } from '../store/engine/schema.ts';
import type { CertifiedCheck } from './certified-check.ts';
import { createKnownDays, type KnownDays } from './known-days.ts';

/** What of an account was read before the pass. */
export interface ReadAlready extends Pick<AccountToChain, 'entries' | 'statements'> {
  /** Null once an earlier pass has written days. */
  readonly around: AccountToChain['around'] | null;
}

export interface AccountInZone {
  readonly db: Kysely<DB>;
  readonly account: Account;
  readonly zone: string;
  /** Of this account; it remembers the certificates it has read. */
  readonly isCertified: CertifiedCheck;
  readonly read?: ReadAlready;
}

export interface AccountView {
  readonly known: KnownDays;
  readonly isCertified: CertifiedCheck;
}

export const createAccountView = ({ db, account, isCertified, read }: AccountInZone): AccountView => ({
  known: createKnownDays(db, account, read?.around),
  isCertified,
});

/** The entries of a day, in batches of that size or of the usual one. */
export const readDay = (
  day: BusinessDay,
  { db, account, zone, read }: AccountInZone,
  batch: { readonly batchSize?: number } = {},
): AsyncIterable<readonly ChainEntry[]> =>
  readAccountToChain(db, account, dayWindow(day, zone), { ...batch, first: read?.entries.get(day) });

/** Whether the time from a day's last entry to an instant is under certificate: no entry can be missing in it then. */
export const isProvenUpTo = async (
  before: DayFigures,
  firstMs: number,
  { isCertified }: AccountView,
): Promise<boolean> =>
  before.lastBookedMs !== null &&
  (firstMs <= before.lastBookedMs || (await isCertified({ beginMs: before.lastBookedMs, endMs: firstMs })));

/** The same up to a day's first entry; true for a day without any. */
export async function isProvenUpToDay(
  before: DayFigures,
  day: BusinessDay,
  options: AccountInZone,
  view: AccountView,
): Promise<boolean> {
  if (before.lastBookedMs === null) return false;
  const firstMs = await firstBookedMs(day, options);
  return firstMs === undefined || isProvenUpTo(before, firstMs, view);
}

/** When a day's first entry was booked; undefined where it has none. */
export async function firstBookedMs(day: BusinessDay, options: AccountInZone): Promise<number | undefined> {
  for await (const [first] of readDay(day, options, { batchSize: 1 })) return first?.bookedMs;
  return undefined;
}
