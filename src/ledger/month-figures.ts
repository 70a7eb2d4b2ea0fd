/** What the days of a month add up to. Pure, and without a package, as `verify.mjs` has it, too. */
import type { Figures } from './entry.ts';
import { addAmounts, subtractAmounts } from './money.ts';

export type DayFigures = Omit<Figures, 'breakCount' | 'breaksAfter'>;

type Sums = Pick<Figures, 'creditTotal' | 'creditCount' | 'debitTotal' | 'debitCount'>;

export interface MonthFigures extends Sums {
  readonly opening: string | null;
  readonly closing: string | null;
  readonly daysBroken: number;
}

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
export function missingNetOf({
  opening,
  creditTotal,
  debitTotal,
  closing,
}: Omit<MonthFigures, 'creditCount' | 'debitCount' | 'daysBroken'>): string | null {
  if (opening === null || closing === null) return null;
  return subtractAmounts(closing, subtractAmounts(addAmounts(opening, creditTotal), debitTotal));
}
