/** Which accounts a question is about: those of some merchants and some currencies. */
import type { Account } from './entry.ts';

/** Some names of a kind; null for every one there is, an empty list for none. */
export type Chosen = readonly string[] | null;

/** An account passes where both its merchant and its currency are chosen. */
export interface AccountFilter {
  readonly merchants: Chosen;
  readonly currencies: Chosen;
}

/** Lets every account pass. */
export const EVERY_ACCOUNT: AccountFilter = { merchants: null, currencies: null };

/** Those of one merchant's accounts whose currency is chosen. */
export const accountsOf = (merchantNo: Account['merchantNo'], currencies: Chosen = null): AccountFilter => ({
  merchants: [merchantNo],
  currencies,
});
