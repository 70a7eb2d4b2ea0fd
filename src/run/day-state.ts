/** Judges the state of an account's day: what people see in one mark, and what they see next to it. Pure. */
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { covers, overlaps } from '../ledger/window.ts';
import { beganAtZero, openBreaksOn, type AccountFacts } from '../store/day-facts.ts';

/** In the order in which they are explained to people. */
export const DAY_STATES = [
  'proven',
  'reordered',
  'broken',
  'explained',
  'unreadable',
  'empty',
  'uncertified',
  'not-over',
  'not-read',
  'before',
] as const;

export type DayState = (typeof DAY_STATES)[number];

/** What may be said of a day whatever its state is, in the order in which it is said. */
export const DAY_NOTES = ['unreadable', 'derived', 'unpublished', 'due'] as const;

export type DayNote = (typeof DAY_NOTES)[number];

export interface DayClock {
  /** IANA zone of the business days. */
  readonly zone: string;
  readonly today: BusinessDay;
}

/**
 * The state of a day of those that the facts are about. What is not read completely, or has changed since its figures were
 * made, says nothing yet, whatever the figures say; nor is proven what lacks an entry that could not be read.
 */
export function dayState(facts: AccountFacts, day: BusinessDay, { zone, today }: DayClock): DayState {
  if (day >= today) return 'not-over';
  const window = dayWindow(day, zone);
  const isComplete = covers(facts.certified, window);
  if (facts.firstDay === null || day < facts.firstDay) {
    if (!isComplete) return 'not-read';
    if (isUnreadable(facts, window) || isAcknowledged(facts, window)) return 'unreadable';
    return beganAtZero(facts) ? 'before' : 'empty';
  }
  const fact = facts.days.get(day);
  if (fact === undefined || !isComplete || facts.changed.has(day)) return 'uncertified';
  if (openBreaksOn(facts, window).length > 0) return 'broken';
  if (fact.verdict === 'broken') return 'explained';
  if (isUnreadable(facts, window)) return 'unreadable';
  if (fact.verdict === 'reordered') return 'reordered';
  if (fact.entries > 0) return 'proven';
  return isAcknowledged(facts, window) ? 'unreadable' : 'empty';
}

/** What is to be said next to the state of a day. */
export function dayNotes(facts: AccountFacts, day: BusinessDay, clock: DayClock): DayNote[] {
  const state = dayState(facts, day, clock);
  const fact = facts.days.get(day);
  if (fact === undefined || state === 'not-over') return [];
  const isFirst = day === facts.firstDay && beganAtZero(facts);
  const holds: Readonly<Record<DayNote, boolean>> = {
    unreadable: state !== 'unreadable' && isUnreadable(facts, dayWindow(day, clock.zone)),
    derived: fact.isRestarted && !isFirst,
    unpublished: fact.revision === null && state !== 'uncertified',
    due: fact.revision !== null && fact.isDue,
  };
  return DAY_NOTES.filter((note) => holds[note]);
}

/** Somebody may answer for an entry that could not be read, and a day of which none was read is not empty for that. */
const isAcknowledged = ({ acknowledged }: AccountFacts, window: Window): boolean =>
  acknowledged.some((span) => overlaps(span, window));

const isUnreadable = ({ unreadable }: AccountFacts, window: Window): boolean =>
  unreadable.some((span) => overlaps(span, window));
