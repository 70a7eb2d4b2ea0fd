/** What an account's closed month adds up to. No package, as `verify.mjs` works it out again. */
import type { Verdict } from '../ledger/entry.ts';
import { addAmounts, subtractAmounts } from '../ledger/money.ts';

/** Figures of a frozen statement. */
export interface ClosedFigures {
  readonly opening: string;
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
  readonly closing: string;
  readonly verdict: Verdict;
  readonly breaks: number;
  /** The ids of those breaks that a person had resolved. */
  readonly explained: readonly number[];
}

/** A month of an account; opening, closing and missingNet are null where no day is published. */
export interface ClosedAccount {
  readonly currency: string;
  readonly opening: string | null;
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
  readonly closing: string | null;
  /** What opening + credits - debits lacks of the closing. */
  readonly missingNet: string | null;
  readonly days: number;
  readonly daysBroken: number;
  readonly breaks: number;
  readonly explained: number;
}

/** Adds up the account's statements of a month, which are in the order of their days. */
export function closedAccount(currency: string, statements: readonly ClosedFigures[]): ClosedAccount {
  const sum = (amounts: readonly string[]): string => amounts.reduce(addAmounts, '0');
  const count = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);
  const [opening, closing] = [statements[0]?.opening ?? null, statements.at(-1)?.closing ?? null];
  const creditTotal = sum(statements.map((one) => one.creditTotal));
  const debitTotal = sum(statements.map((one) => one.debitTotal));
  const reached = opening === null ? null : subtractAmounts(addAmounts(opening, creditTotal), debitTotal);
  return {
    ...{ currency, opening, creditTotal },
    creditCount: count(statements.map((one) => one.creditCount)),
    debitTotal,
    debitCount: count(statements.map((one) => one.debitCount)),
    closing,
    missingNet: reached === null || closing === null ? null : subtractAmounts(closing, reached),
    days: statements.length,
    daysBroken: statements.filter(({ verdict }) => verdict === 'broken').length,
    breaks: count(statements.map((one) => one.breaks)),
    explained: count(statements.map((one) => one.explained.length)),
  };
}
