/** Days at the start of an account whose entries have all vanished: their balance is known from the next entry only. */
import { dayWindow } from '../ledger/business-day.ts';
import { subtractAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import { firstBookedMs, type AccountInZone, type AccountView } from './account-view.ts';

/** A first day whose entries have all vanished: its row stays, with no entry, and the next day begins a new chain. */
export const emptied = (stored: DayFigures): DayFigures => ({
  ...stored,
  otherClosings: undefined,
  creditTotal: subtractAmounts(stored.creditTotal, stored.creditTotal),
  creditCount: 0,
  debitTotal: subtractAmounts(stored.debitTotal, stored.debitTotal),
  debitCount: 0,
  closing: stored.opening,
  verdict: 'continuous',
  breakCount: 0,
  breaksAfter: 0,
  lastBatchNo: null,
  lastBookedMs: null,
  isOrderFinal: true,
  startsWithBreak: false,
  restarted: true,
});

/**
 * Days without entries at the start of an account, before a day whose opening is derived from its first entry. Where all
 * the time up to that entry is proven, nothing moved on them: that opening is their balance too. The first of them is
 * marked as derived, as the day was.
 */
export async function emptiedDaysBefore(
  chained: readonly DayFigures[],
  options: AccountInZone,
  { known, isCertified }: AccountView,
): Promise<DayFigures[]> {
  const derived = chained.find(({ restarted, lastBookedMs }) => restarted && lastBookedMs !== null);
  if (derived === undefined) return [];
  const quiet: DayFigures[] = [];
  for (
    let day = await known.before(derived.day);
    day?.lastBookedMs === null;
    day = await known.before(day.day)
  ) {
    const firstMs = await firstBookedMs(derived.day, options);
    if (!(await isCertified({ beginMs: dayWindow(day.day, options.zone).beginMs, endMs: firstMs! }))) break;
    const { opening, otherClosings } = derived;
    quiet.unshift({ ...day, opening, closing: opening, restarted: false, otherClosings });
  }
  return quiet.map((day, index) => (index === 0 ? { ...day, restarted: true } : day));
}
