/** `@daybook/daybook/ledger`: exact money, days and zones, windows of time, and the balance chain. Pure: no file, no clock. */
export type {
  Account,
  BreakHint,
  BusinessDay,
  ContinuityBreak,
  Figures,
  LedgerEntry,
  Verdict,
  Window,
} from '../ledger/entry.ts';
export {
  addAmounts,
  canonicalAmount,
  compareAmounts,
  createCurrencies,
  subtractAmounts,
  type Currencies,
} from '../ledger/money.ts';
export {
  addDays,
  dayOf,
  daysFromTo,
  dayWindow,
  instantsOf,
  InvalidDay,
  isTimeZone,
  parseDay,
} from '../ledger/business-day.ts';
export { covers, lengthMs, mergeWindows, splitWindow, subtractWindows } from '../ledger/window.ts';
export { createChain, type Chain, type ChainOptions, type ChainStart } from '../ledger/chain/chain.ts';
export type { ChainEntry, ChainStep } from '../ledger/chain/chain-link.ts';
export { foldDays, type ChainedDay, type DayFold } from '../ledger/chain/account-days.ts';
