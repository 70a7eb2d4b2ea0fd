/**
 * The law of what is to be chained: an account's complete days, from its first one on, less the days with up-to-date figures.
 *
 * Figures are up to date if they were made of the entries that are stored, and open on what is known of the time before them.
 * Days that are not complete and hold entries are chained as well; they are not published. Pure.
 */
import { addDays, beginsTwice, dayBefore } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import type { ChainFacts } from '../store/chain-facts.ts';

export function daysOutOfDate(facts: ChainFacts, zone: string): BusinessDay[] {
  const changed = withDaysBefore(facts.changed, zone);
  const found = new Set([...changed, ...quietDays({ ...facts, changed }, zone)]);
  for (const { day, before, opening, closing, lastBookedMs } of facts.derived) {
    const isJoined = before === dayBefore(day, zone) && [before, day].every(facts.certified.isComplete);
    if (isJoined && (lastBookedMs !== null || compareAmounts(opening, closing) !== 0)) found.add(day);
  }
  return [...found].sort();
}

/** Entries with the date of a day that begins twice may belong to the day before it. */
function withDaysBefore(changed: readonly BusinessDay[], zone: string): readonly BusinessDay[] {
  const twice = changed.filter((day) => beginsTwice(day, zone));
  return twice.length === 0 ? changed : [...changed, ...twice.map((day) => addDays(day, -1))];
}

/**
 * Complete days without figures on which the balance is known: they follow a complete day that has figures or is about to get
 * some. A day with a statement of another database counts by itself.
 */
function quietDays(
  { changed, begun, without, stated, certified }: ChainFacts,
  zone: string,
): ReadonlySet<BusinessDay> {
  const found = new Set<BusinessDay>();
  const [lacking, waiting] = [new Set(without), new Set(changed)];
  const holds = (day: BusinessDay): boolean =>
    found.has(day) || waiting.has(day) || (begun !== null && day >= begun && !lacking.has(day));
  for (const day of without) {
    const before = dayBefore(day, zone);
    if (stated.includes(day) || (certified.isComplete(before) && holds(before))) found.add(day);
  }
  return found;
}
