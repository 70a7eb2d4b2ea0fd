/** What an account's closed month adds up to. No package, as `verify.mjs` works it out again. */
import { missingNetOf, sumOfDays, type DayFigures, type MonthFigures } from './month-figures.ts';

/** Figures of a frozen statement. */
export interface ClosedFigures extends DayFigures {
  readonly breaks: number;
  /** The ids of those breaks that a person had resolved. */
  readonly explained: readonly number[];
}

/** A month of an account; missingNet is null where no day is published. */
export interface ClosedAccount extends MonthFigures {
  readonly currency: string;
  /** What opening + credits - debits lacks of the closing. */
  readonly missingNet: string | null;
  readonly days: number;
  readonly breaks: number;
  readonly explained: number;
}

/** Adds up the account's statements of a month, which are in the order of their days. */
export function closedAccount(currency: string, statements: readonly ClosedFigures[]): ClosedAccount {
  const { daysBroken, ...sums } = sumOfDays(statements);
  const count = (countOf: (one: ClosedFigures) => number): number =>
    statements.reduce((total, one) => total + countOf(one), 0);
  return {
    currency,
    ...sums,
    missingNet: missingNetOf({ ...sums, daysBroken }),
    days: statements.length,
    daysBroken,
    breaks: count((one) => one.breaks),
    explained: count((one) => one.explained.length),
  };
}
