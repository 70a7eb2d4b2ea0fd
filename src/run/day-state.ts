/** Judges the state of an account's day: what people see in one mark. Pure. */
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { covers } from '../ledger/window.ts';
import type { AccountFacts } from '../store/pages/day-facts.ts';

/** In the order in which they are explained to people. */
export const DAY_STATES = [
  'proven',
  'reordered',
  'broken',
  'explained',
  'empty',
  'uncertified',
  'not-over',
  'before',
] as const;

export type DayState = (typeof DAY_STATES)[number];

/**
 * The state of a day of those that the facts are about. What is not read whole, or has changed since its figures were
 * made, says nothing yet, whatever the figures say.
 */
export function dayState(
  facts: AccountFacts,
  day: BusinessDay,
  clock: { readonly zone: string; readonly today: BusinessDay },
): DayState {
  if (day >= clock.today) return 'not-over';
  if (facts.firstDay === null || day < facts.firstDay) return 'before';
  const window = dayWindow(day, clock.zone);
  const fact = facts.days.get(day);
  const isWhole = covers(facts.certified, window);
  if (fact === undefined || !isWhole || facts.changed.has(day)) return 'uncertified';
  if (fact.verdict === 'broken')
    return facts.openBreaks.some((span) => overlap(span, window)) ? 'broken' : 'explained';
  if (fact.verdict === 'reordered') return 'reordered';
  return fact.entries === 0 ? 'empty' : 'proven';
}

const overlap = (one: Window, other: Window): boolean =>
  one.beginMs <= other.endMs && one.endMs >= other.beginMs;
