/** Turns the steps of a chain into figures of each business day: opening, credits, debits, closing, verdict. */
import type { ContinuityBreak } from '../entry.ts';
import type { ChainStep } from './chain-link.ts';
import { decimalsOf, toScaled } from '../money.ts';
import { OpenDay, type ChainedDay } from './open-day.ts';

export type { ChainedDay } from './open-day.ts';

/** Most breaks kept of a day. The count covers all of them; the list is cut here. */
export const BREAKS_KEPT_MAX = 1_000;

export interface DayFold {
  /** Takes steps in the order of the chain; returns the days that are complete. */
  readonly push: (steps: readonly ChainStep[]) => ChainedDay[];
  /** Returns the last days. `isBrokenAfter`: the next entry, of a later day, does not start where they end. */
  readonly end: (isBrokenAfter?: boolean) => ChainedDay[];
  /** The breaks so far, up to `BREAKS_KEPT_MAX` a day, without hints; complete after `end`. */
  readonly breaks: () => ContinuityBreak[];
}

/**
 * Makes the figures of an account's days, each from its own entries.
 *
 * `opening` is the closing of the account's previous day; null if the first entry decides it. Amounts have the decimals
 * of the currency (`minorUnits`; null: as sent), and more only where entries have more. `push` and `end` throw an
 * `Error` for a day whose figures do not lead to the balance that the chain reached.
 */
export function foldDays(options: {
  readonly opening: string | null;
  readonly minorUnits: number | null;
}): DayFold {
  const { opening, minorUnits } = options;
  /** In order. Two at most: entries of two neighbouring days may trade places, others never do. */
  let open: OpenDay[] = [];
  let previous: ChainStep | null = null;
  const breaks: ContinuityBreak[] = [];

  const breakAfter = ({ day }: ChainStep): void => open.find((one) => one.day === day)!.breakAfter();

  /** Begins a new day at the end, and closes the days that no entry can come for any more. */
  const nextDay = (step: ChainStep, newest: OpenDay | undefined, done: ChainedDay[]): OpenDay => {
    while (open.length > 1) done.push(open.shift()!.close(minorUnits));
    const day = new OpenDay(step, newest?.closing ?? firstOpening(step, opening), step.break !== null);
    open.push(day);
    return day;
  };

  /** Gives a step to the day before the newest one, which begins here if this is its first entry. */
  const dayBefore = (step: ChainStep, newest: OpenDay): OpenDay => {
    let before = open.find(({ day }) => day === step.day);
    if (before === undefined) open.unshift((before = newest.beginDayBefore(step)));
    newest.giveWayTo(step, before);
    return before;
  };

  const dayOf = (step: ChainStep, done: ChainedDay[]): OpenDay => {
    const newest = open.at(-1);
    if (newest === undefined || newest.day < step.day) return nextDay(step, newest, done);
    return newest.day === step.day ? newest : dayBefore(step, newest);
  };

  const take = (step: ChainStep, done: ChainedDay[]): void => {
    for (const day of open) day.widen(step.scale);
    if (step.break !== null && previous !== null && previous.day !== step.day) breakAfter(previous);
    const day = dayOf(step, done);
    day.take(step);
    if (step.break !== null && day.breaksBefore <= BREAKS_KEPT_MAX) breaks.push(step.break);
    previous = step;
  };

  return {
    push: (steps) => {
      const done: ChainedDay[] = [];
      for (const step of steps) take(step, done);
      return done;
    },
    end: (isBrokenAfter = false) => {
      if (isBrokenAfter && previous !== null) breakAfter(previous);
      const rest = open.map((day) => day.close(minorUnits));
      open = [];
      return rest;
    },
    breaks: () => [...breaks],
  };
}

const firstOpening = (step: ChainStep, opening: string | null): bigint =>
  opening === null ? step.before : toScaled(opening, Math.max(step.scale, decimalsOf(opening)));
