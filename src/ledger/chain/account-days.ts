/** Folds a chain into figures a business day: opening, credits, debits, closing, verdict. */
import type { AccountDay, BusinessDay, ContinuityBreak, Verdict } from '../entry.ts';
import type { ChainStep } from './chain-link.ts';
import { canonicalAmount, decimalsOf, fromScaled, toScaled } from '../money.ts';

/** A day's figures, and where the chain stands at its end. */
export interface ChainedDay extends AccountDay {
  /** The entry that the chain stands on at the day's end: the day's own, unless one of the day before comes after it. */
  readonly lastBatchNo: string;
  readonly lastBookedMs: number;
  /** False where an entry of this day and one of the next traded places: the chain cannot be taken up in between. */
  readonly cleanEnd: boolean;
  /** Its first entry does not start where an earlier day ended: the break is told of that day as well. */
  readonly jumpsIn: boolean;
}

/** Most breaks kept of a day: the count covers all of them, the list is cut here. */
export const BREAKS_KEPT_MAX = 1_000;

export interface DayFold {
  /** Takes steps as the chain gives them; returns the days that are complete. */
  readonly push: (steps: readonly ChainStep[]) => ChainedDay[];
  /** The last days. `isBrokenAfter`: the entry that comes next, which is of a later day, does not start where they end. */
  readonly end: (isBrokenAfter?: boolean) => ChainedDay[];
  /** The breaks so far, up to `BREAKS_KEPT_MAX` a day; complete after `end`. What they come from is told of stored ones. */
  readonly breaks: () => ContinuityBreak[];
}

interface OpenDay {
  readonly day: BusinessDay;
  opening: bigint;
  readonly scale: number;
  credit: bigint;
  creditCount: number;
  debit: bigint;
  debitCount: number;
  /** Breaks in front of the day's entries. */
  breakCount: number;
  /** Breaks between an entry of the day and the entry of another day that comes next. */
  breaksAfter: number;
  jumpsIn: boolean;
  moved: boolean;
  /** Trades places with the next day. */
  straddles: boolean;
  /** Trades places with the next day or the one before. */
  straddled: boolean;
  /** Sum of the balance's jumps. */
  jumped: bigint;
  lastBatchNo: string;
  lastBookedMs: number;
  lastAfter: bigint;
}

const jumpOf = (step: ChainStep): bigint =>
  step.break === null ? 0n : step.before - toScaled(step.break.expectedBalance, step.scale);

/**
 * `opening` is the closing of the account's previous day, null where the first entry tells it. Amounts come out in the
 * currency's `minorUnits` (null: as sent), longer only where entries are.
 */
export function foldDays(options: {
  readonly opening: string | null;
  readonly minorUnits: number | null;
}): DayFold {
  const { minorUnits } = options;
  let open: OpenDay[] = [];
  let previous: ChainStep | null = null;
  let opening: string | null = options.opening;
  const found: ContinuityBreak[] = [];

  const amount = (value: bigint, scale: number): string =>
    canonicalAmount(fromScaled(value, scale), minorUnits)!.amount;

  const begin = (step: ChainStep, from: bigint, jumpsIn: boolean): OpenDay => ({
    day: step.day,
    opening: from,
    scale: step.scale,
    credit: 0n,
    creditCount: 0,
    debit: 0n,
    debitCount: 0,
    breakCount: 0,
    breaksAfter: 0,
    jumpsIn,
    moved: false,
    straddles: false,
    straddled: false,
    jumped: 0n,
    lastBatchNo: step.entry.batchNo,
    lastBookedMs: step.entry.bookedMs,
    lastAfter: from,
  });

  const rescale = (day: OpenDay, scale: number): OpenDay => {
    const factor = 10n ** BigInt(scale - day.scale);
    return {
      ...day,
      scale,
      opening: day.opening * factor,
      credit: day.credit * factor,
      debit: day.debit * factor,
      jumped: day.jumped * factor,
      lastAfter: day.lastAfter * factor,
    };
  };

  /** What the day's own entries and jumps lead to: the balance the chain reached, unless days traded places. */
  const closingOf = (day: OpenDay): bigint => day.opening + day.credit - day.debit + day.jumped;

  const close = (day: OpenDay): ChainedDay => {
    const closing = closingOf(day);
    if (!day.straddled && closing !== day.lastAfter) {
      throw new Error(
        `account day ${day.day} does not foot: ${amount(day.opening, day.scale)} + ${amount(day.credit, day.scale)} - ` +
          `${amount(day.debit, day.scale)} with its breaks is ${amount(closing, day.scale)}, and its chain ends on ` +
          amount(day.lastAfter, day.scale),
      );
    }
    const breakCount = day.breakCount + day.breaksAfter;
    const verdict: Verdict = breakCount > 0 ? 'broken' : day.moved ? 'reordered' : 'continuous';
    return {
      currency: '',
      day: day.day,
      opening: amount(day.opening, day.scale),
      creditTotal: amount(day.credit, day.scale),
      creditCount: day.creditCount,
      debitTotal: amount(day.debit, day.scale),
      debitCount: day.debitCount,
      closing: amount(closing, day.scale),
      verdict,
      breakCount,
      breaksAfter: day.breaksAfter,
      lastBatchNo: day.lastBatchNo,
      lastBookedMs: day.lastBookedMs,
      cleanEnd: !day.straddles,
      jumpsIn: day.jumpsIn,
    };
  };

  /** The day a step belongs to; an entry of the day before the newest moves the newest's opening. */
  const openDay = (step: ChainStep, done: ChainedDay[]): OpenDay => {
    const newest = open.at(-1);
    if (newest?.day === step.day) return newest;
    if (newest !== undefined && step.day < newest.day) {
      let earlier = open.find((candidate) => candidate.day === step.day);
      if (earlier === undefined) {
        // What the days before lead to is the earlier day's to tell.
        open.unshift((earlier = begin(step, newest.opening, newest.jumpsIn)));
        newest.jumpsIn = false;
      }
      earlier.straddles = true;
      earlier.straddled = true;
      earlier.moved = true;
      newest.moved = true;
      newest.straddled = true;
      newest.opening += step.net + jumpOf(step);
      // The next day takes up where the chain stands, whatever day that entry is of.
      newest.lastBatchNo = step.entry.batchNo;
      newest.lastBookedMs = step.entry.bookedMs;
      return earlier;
    }
    // Entries more than a day apart never trade places, so all but the newest day are complete.
    while (open.length > 1) done.push(close(open.shift()!));
    const from =
      newest !== undefined
        ? closingOf(newest)
        : opening === null
          ? step.before
          : toScaled(opening, Math.max(step.scale, decimalsOf(opening)));
    opening = null;
    const day = begin(step, from, step.break !== null);
    open.push(day);
    return day;
  };

  /** The chain breaks between an entry of that day and one of another. */
  const breakAfter = (day: BusinessDay): void => {
    open.find((one) => one.day === day)!.breaksAfter += 1;
  };

  const take = (step: ChainStep, done: ChainedDay[]): void => {
    if (open.length > 0 && open[0]!.scale < step.scale) open = open.map((day) => rescale(day, step.scale));
    if (step.break !== null && previous !== null && previous.day !== step.day) breakAfter(previous.day);
    const day = openDay(step, done);
    if (step.entry.credit !== null) {
      day.credit += step.net;
      day.creditCount += 1;
    } else {
      day.debit -= step.net;
      day.debitCount += 1;
    }
    if (step.moved) day.moved = true;
    if (step.break !== null) {
      day.breakCount += 1;
      day.jumped += jumpOf(step);
      if (day.breakCount <= BREAKS_KEPT_MAX) found.push(step.break);
    }
    previous = step;
    day.lastBatchNo = step.entry.batchNo;
    day.lastBookedMs = step.entry.bookedMs;
    day.lastAfter = step.after;
  };

  return {
    push: (steps) => {
      const done: ChainedDay[] = [];
      for (const step of steps) take(step, done);
      return done;
    },
    end: (isBrokenAfter = false) => {
      if (isBrokenAfter && previous !== null) breakAfter(previous.day);
      const rest = open.map(close);
      open = [];
      return rest;
    },
    breaks: () => [...found],
  };
}
