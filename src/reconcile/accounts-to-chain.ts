/** Finds which days of which accounts of a merchant are to be chained, and reads what that mostly needs. */
import type { Kysely } from 'kysely';
import { accountsOf, type MerchantAccounts } from '../ledger/account-filter.ts';
import { addDays, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { derivedOpeningDays } from '../store/changed-days.ts';
import { daysToChain, type AccountToChain } from '../store/days-to-chain.ts';
import type { DB } from '../store/engine/schema.ts';
import type { AccountInZone } from './account-view.ts';
import { createCertifiedCheck, readAround } from './certified-check.ts';
import { joiningDays } from './chain-account.ts';
import { daysWithoutFigures } from './days-without-figures.ts';

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
  readonly known?: { readonly hasBreaks: boolean; readonly hasDerivedOpening: boolean };
}

export interface AccountWork extends AccountInZone {
  readonly read: AccountToChain;
  /** Days to chain: their entries changed, the time before them is proven now, or they have no figures and ought to. */
  readonly days: readonly BusinessDay[];
}

/** All accounts of the merchant, and the work on those that have days to chain; both by currency. */
export async function accountsToChain(options: ToChainOptions): Promise<{
  readonly accounts: readonly AccountToChain[];
  readonly work: readonly AccountWork[];
}> {
  const { db, zone, known } = options;
  const { merchantNo, currencies } = options.accounts;
  const { accounts, within } = await readAccounts(options);
  const restarted =
    known?.hasDerivedOpening === false
      ? []
      : await derivedOpeningDays(db, accountsOf(merchantNo, currencies));
  const work: AccountWork[] = [];
  for (const read of accounts) {
    const { account, changed, certified } = read;
    const isCertified = createCertifiedCheck(db, account, { within, certified });
    const own = { db, account, zone, isCertified, read };
    const mayJoin = restarted.find((one) => one.account.currency === account.currency)?.days ?? [];
    const joining = await joiningDays(own, mayJoin);
    const missing = await daysWithoutFigures(own, read, changed);
    const days = [...new Set([...changed, ...joining, ...missing, ...followed(read, missing)])];
    if (days.length > 0) work.push({ ...own, days });
  }
  return { accounts, work };
}

/** The account's first day with figures, where days before it get some: it may take up their balance, or give them its own. */
const followed = ({ gapless }: AccountToChain, missing: readonly BusinessDay[]): BusinessDay[] =>
  gapless !== null && missing.some((day) => day < gapless.from) ? [gapless.from] : [];

async function readAccounts({ db, zone, accounts, days: { from, to } }: ToChainOptions) {
  const earliest = addDays(to, 1 - DAYS_MAX);
  const days = daysFromTo(from < earliest ? earliest : from, to);
  const within = readAround({ beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs });
  const asked = { ...accounts, within, days: days.map((day) => ({ day, window: dayWindow(day, zone) })) };
  return { within, accounts: await daysToChain(db, asked) };
}
