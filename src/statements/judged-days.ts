/** Says which days of a month an account is judged by. */
import { daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { covers } from '../ledger/window.ts';
import type { Month } from './month.ts';

/**
 * The days of the month by which an account is judged, in order: from `first`, its first day with figures, on, and every
 * day before that was never read, as it may have entries too. Days before `first` that certificates prove empty are no
 * days of the account.
 */
export const judgedDays = (
  { from, to }: Pick<Month, 'from' | 'to'>,
  first: BusinessDay,
  proven: readonly Window[],
  zone: string,
): BusinessDay[] =>
  daysFromTo(from, to).filter((day) => day >= first || !covers(proven, dayWindow(day, zone)));
