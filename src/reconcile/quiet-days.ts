/** Finds days that are proven to hold no entry of an account. They get figures too, which pass its balance on. */
import { addDays, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { accountDaysSince } from '../store/account-days.ts';
import type { AccountInZone } from './account-view.ts';

/**
 * The days that have no figures yet and are proven empty: all time from the last day with figures (or from one of
 * `changed`) to their end is under certificate. The search begins at the first changed day or at `last`, the account's
 * last day with figures, whichever is earlier. In order.
 */
export async function daysWithoutEntries(
  options: AccountInZone,
  last: BusinessDay | null,
  changed: readonly BusinessDay[],
): Promise<BusinessDay[]> {
  const { db, account, zone, isCertified } = options;
  const first = [...changed, ...(last === null ? [] : [last])].sort()[0];
  if (first === undefined) return [];
  const stored = last === null || last <= first ? [] : await accountDaysSince(db, account, first);
  const known = [...new Set([first, ...stored, ...changed])].sort();
  const found: BusinessDay[] = [];
  for (const [at, day] of known.entries()) {
    const next = known[at + 1];
    const { beginMs } = dayWindow(day, zone);
    for (let empty = addDays(day, 1); next === undefined || empty < next; empty = addDays(empty, 1)) {
      if (!(await isCertified({ beginMs, endMs: dayWindow(empty, zone).endMs }))) break;
      found.push(empty);
    }
  }
  return found;
}
