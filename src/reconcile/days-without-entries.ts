/** Days proven to hold no entry of an account that has begun: they get figures as well, which pass its balance on. */
import { addDays, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { accountDaysSince } from '../store/account-days.ts';
import { createCertifiedCheck } from './certified-check.ts';
import type { AccountInZone } from './account-view.ts';

/**
 * Whole days without figures that follow one with figures, or one of `changed`, with nothing unproven between: behind
 * the last, and between those from the first changed one on. In order. `last` is the account's last day with figures.
 */
export async function daysWithoutEntries(
  options: AccountInZone,
  last: BusinessDay | null,
  changed: readonly BusinessDay[],
): Promise<BusinessDay[]> {
  const { db, account, zone } = options;
  const first = [...changed, ...(last === null ? [] : [last])].sort()[0];
  if (first === undefined) return [];
  const isCertified = createCertifiedCheck(db, account);
  const stored = last === null || last < first ? [] : await accountDaysSince(db, account, first);
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
