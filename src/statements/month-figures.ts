/** Adds up days of an account that follow each other. No package, as `verify.mjs` adds them up too. */
import type { Figures } from '../ledger/entry.ts';
import { addAmounts, subtractAmounts } from '../ledger/money.ts';

/** Figures of one day. */
export type DayFigures = Omit<Figures, 'breakCount' | 'breaksAfter'>;

/** An account's month in figures; opening and closing are null where nothing was published. */
export interface MonthFigures {
  readonly opening: string | null;
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
  readonly closing: string | null;
  readonly daysBroken: number;
}

/** The sums of these days, which are in their order. */
export function sumOfDays(days: readonly DayFigures[]): MonthFigures {
  const sum = (amountOf: (day: DayFigures) => string): string =>
    days.reduce((total, day) => addAmounts(total, amountOf(day)), '0');
  const count = (countOf: (day: DayFigures) => number): number =>
    days.reduce((total, day) => total + countOf(day), 0);
  return {
    opening: days[0]?.opening ?? null,
    creditTotal: sum((day) => day.creditTotal),
    creditCount: count((day) => day.creditCount),
    debitTotal: sum((day) => day.debitTotal),
    debitCount: count((day) => day.debitCount),
    closing: days.at(-1)?.closing ?? null,
    daysBroken: days.filter(({ verdict }) => verdict === 'broken').length,
  };
}

/** What opening + credits - debits lacks of the closing; null where nothing was published. */
export function missingNetOf({ opening, creditTotal, debitTotal, closing }: MonthFigures): string | null {
  if (opening === null || closing === null) return null;
  return subtractAmounts(closing, subtractAmounts(addAmounts(opening, creditTotal), debitTotal));
}
