/** Selects accounts by merchant and currency, for queries. */
import type { Account } from './entry.ts';

/** Some names. Null means all, an empty list means none. */
export type Chosen = readonly string[] | null;

/** Selects an account if both its merchant and its currency are chosen. */
export interface AccountFilter {
  readonly merchants: Chosen;
  readonly currencies: Chosen;
}

/** The accounts of one merchant in the chosen currencies. */
export interface MerchantAccounts {
  readonly merchantNo: Account['merchantNo'];
  readonly currencies: Chosen;
}

/** Selects all accounts. */
export const EVERY_ACCOUNT: AccountFilter = { merchants: null, currencies: null };

/** Selects the accounts of one merchant in the chosen currencies. */
export const accountsOf = (merchantNo: Account['merchantNo'], currencies: Chosen = null): AccountFilter => ({
  merchants: [merchantNo],
  currencies,
});
