/** Finds which days of which accounts of a merchant are to be chained, and reads what that mostly needs. */
import type { Kysely } from 'kysely';
import type { MerchantAccounts } from '../ledger/account-filter.ts';
import { addDays, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { daysToChain, type AccountToChain } from '../store/days-to-chain.ts';
import type { DB } from '../store/engine/schema.ts';
import type { AccountInZone } from './account-view.ts';
import { createCertifiedCheck, readAround } from './certified-check.ts';
import { daysOutOfDate } from './up-to-date.ts';

/** The most days whose entries may be read at once, counted from the last one. */
const DAYS_MAX = 100;

export interface ToChainOptions {
  readonly db: Kysely<DB>;
  readonly zone: string;
  /** Whose days get figures. Hints are given to every account of the merchant. */
  readonly accounts: MerchantAccounts;
  /** Where most changed days are expected: what they need is read at once. Other days take statements of their own. */
  readonly days: { readonly from: BusinessDay; readonly to: BusinessDay };
  /** What of the merchant is known already. Without it, it is asked for. */
  readonly known?: { readonly hasBreaks: boolean };
}

export interface AccountWork extends AccountInZone {
  readonly read: AccountToChain;
  /** Days without up-to-date figures, in order. */
  readonly days: readonly BusinessDay[];
}

/** All accounts of the merchant, and the work on those that have days to chain; both by currency. */
export async function accountsToChain(options: ToChainOptions): Promise<{
  readonly accounts: readonly AccountToChain[];
  readonly work: readonly AccountWork[];
}> {
  const { db, zone } = options;
  const { accounts, within } = await readAccounts(options);
  const work: AccountWork[] = [];
  for (const read of accounts) {
    const { account, certified } = read;
    const isCertified = createCertifiedCheck(db, account, { within, certified });
    const own = { db, account, zone, isCertified, read };
    const days = await daysOutOfDate(own, read);
    if (days.length > 0) work.push({ ...own, days });
  }
  return { accounts, work };
}

async function readAccounts({ db, zone, accounts, days: { from, to } }: ToChainOptions) {
  const earliest = addDays(to, 1 - DAYS_MAX);
  const days = daysFromTo(from < earliest ? earliest : from, to);
  const within = readAround({ beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs });
  const asked = { ...accounts, within, days: days.map((day) => ({ day, window: dayWindow(day, zone) })) };
  return { within, accounts: await daysToChain(db, asked) };
}
