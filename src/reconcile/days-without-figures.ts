/** Finds an account's days that ought to have figures and have none: certified days less days with figures. */
import { addDays, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { AccountToChain } from '../store/days-to-chain.ts';
import type { AccountInZone } from './account-view.ts';

/**
 * The certified days from the account's first one on that have no figures, in order; `changed` are about to get some.
 * A day without entries passes a balance on, so it counts only if all time since the begin of the day before that has
 * figures is certified, or is about to be filled. A day with a statement of another database and no entry counts by itself.
 */
export async function daysWithoutFigures(
  { zone, isCertified }: Pick<AccountInZone, 'zone' | 'isCertified'>,
  {
    figured,
    stated,
  }: Pick<AccountToChain, 'figured'> & { readonly stated: readonly { readonly day: BusinessDay }[] },
  changed: readonly BusinessDay[],
): Promise<BusinessDay[]> {
  const spanOf = (from: BusinessDay, to = from) => ({
    beginMs: dayWindow(from, zone).beginMs,
    endMs: dayWindow(to, zone).endMs,
  });
  const known = new Set([...figured, ...changed]);
  const mayCount = stated.map(({ day }) => day).filter((day) => !known.has(day));
  const all = [...known, ...mayCount].sort();
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined || last === undefined) return [];
  // One question about all of it reads every certificate that the questions below need.
  await isCertified(spanOf(first, last));
  const found: BusinessDay[] = [];
  for (const day of mayCount) if (await isCertified(spanOf(day))) found.push(day);
  const begun = [...known, ...found].sort();
  for (const [at, day] of begun.entries()) {
    const next = begun[at + 1];
    for (let empty = addDays(day, 1); next === undefined || empty < next; empty = addDays(empty, 1)) {
      if (!(await isCertified(spanOf(day, empty)))) break;
      found.push(empty);
    }
  }
  return found.sort();
}
