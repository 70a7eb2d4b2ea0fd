/** One account day while the chain passes through it: its figures so far, until it is closed. */
import type { AccountDay, BusinessDay, Verdict } from '../entry.ts';
import type { ChainStep } from './chain-link.ts';
import { canonicalAmount, fromScaled, toScaled } from '../money.ts';

/** A day's figures, and where the chain stands at the end of the day. */
export interface ChainedDay extends AccountDay {
  /** The entry the chain stands on at the end of the day. It may be of the day before, if that one comes last. */
  readonly lastBatchNo: string;
  readonly lastBookedMs: number;
  /** False if entries of this day and the next one traded places: the chain cannot be resumed between the two. */
  readonly isOrderFinal: boolean;
  /** The first entry does not start where an earlier day ended. That earlier day counts the break as well. */
  readonly startsWithBreak: boolean;
}

/** How far the balance jumps in front of a step; 0 without a break. */
const jumpOf = (step: ChainStep): bigint =>
  step.break === null ? 0n : step.before - toScaled(step.break.expectedBalance, step.scale);

/**
 * All amounts inside are integers times 10^scale.
 *
 * ### Example
 *
 * Around midnight, entry `c` of 1 March comes after entry `b` of 2 March. The account held 100 before.
 *
 * | chain | day     | amount | balance |
 * | ----- | ------- | -----: | ------: |
 * | `a`   | 1 March |    +10 |     110 |
 * | `b`   | 2 March |     +5 |     115 |
 * | `c`   | 1 March |     -1 |     114 |
 *
 * 1 March goes from 100 to 109. 2 March began with an opening of 110. `c` moves this to 109, so 2 March ends on 114.
 */
export class OpenDay {
  readonly day: BusinessDay;
  #scale: number;
  #opening: bigint;
  #startsWithBreak: boolean;
  #credit = 0n;
  #creditCount = 0;
  #debit = 0n;
  #debitCount = 0;
  /** Sum of the balance's jumps. */
  #jumped = 0n;
  /** Breaks in front of the day's entries. */
  #breaksBefore = 0;
  /** Breaks between an entry of the day and the next entry, which is of another day. */
  #breaksAfter = 0;
  /** An entry is not where its time puts it. */
  #isReordered = false;
  /** Entries traded places with the next day. */
  #meetsNext = false;
  /** Entries traded places with the next day or the one before. */
  #meetsNeighbour = false;
  #lastBatchNo: string;
  #lastBookedMs: number;
  /** The balance after the day's own last entry. */
  #lastAfter: bigint;

  /** `step` is the first of the day, still to be taken. `opening` is at the scale of the step. */
  constructor(step: ChainStep, opening: bigint, startsWithBreak: boolean) {
    this.day = step.day;
    this.#scale = step.scale;
    this.#opening = opening;
    this.#startsWithBreak = startsWithBreak;
    this.#lastBatchNo = step.entry.batchNo;
    this.#lastBookedMs = step.entry.bookedMs;
    this.#lastAfter = opening;
  }

  /** The opening, the day's entries and its jumps, added up. */
  get closing(): bigint {
    return this.#opening + this.#credit - this.#debit + this.#jumped;
  }

  /** Breaks in front of the day's entries. */
  get breaksBefore(): number {
    return this.#breaksBefore;
  }

  /** Goes over to a scale with more decimals. */
  widen(scale: number): void {
    if (scale <= this.#scale) return;
    const factor = 10n ** BigInt(scale - this.#scale);
    this.#scale = scale;
    this.#opening *= factor;
    this.#credit *= factor;
    this.#debit *= factor;
    this.#jumped *= factor;
    this.#lastAfter *= factor;
  }

  /** Books an entry of this day. */
  take(step: ChainStep): void {
    if (step.entry.credit !== null) {
      this.#credit += step.net;
      this.#creditCount += 1;
    } else {
      this.#debit -= step.net;
      this.#debitCount += 1;
    }
    if (step.moved) this.#isReordered = true;
    if (step.break !== null) {
      this.#breaksBefore += 1;
      this.#jumped += jumpOf(step);
    }
    this.#standOn(step);
    this.#lastAfter = step.after;
  }

  /** Begins the day before this one, as an entry of it comes only now. It gets this day's opening. */
  beginDayBefore(step: ChainStep): OpenDay {
    const before = new OpenDay(step, this.#opening, this.#startsWithBreak);
    this.#startsWithBreak = false;
    return before;
  }

  /** An entry of `before`, the day before this one, comes after entries of this day: it moves this day's opening. */
  giveWayTo(step: ChainStep, before: OpenDay): void {
    before.#meetsNext = true;
    before.#meetsNeighbour = true;
    before.#isReordered = true;
    this.#meetsNeighbour = true;
    this.#isReordered = true;
    this.#opening += step.net + jumpOf(step);
    // The next day resumes from where the chain stands, even if that entry is not of this day.
    this.#standOn(step);
  }

  /** The chain breaks between an entry of this day and the next one, which is of another day. */
  breakAfter(): void {
    this.#breaksAfter += 1;
  }

  /** The figures of the day. Throws an `Error` if they do not lead to the balance that the chain reached. */
  close(minorUnits: number | null): ChainedDay {
    const amount = (value: bigint): string =>
      canonicalAmount(fromScaled(value, this.#scale), minorUnits)!.amount;
    this.#assertFoots(amount);
    const breakCount = this.#breaksBefore + this.#breaksAfter;
    return {
      currency: '',
      day: this.day,
      opening: amount(this.#opening),
      creditTotal: amount(this.#credit),
      creditCount: this.#creditCount,
      debitTotal: amount(this.#debit),
      debitCount: this.#debitCount,
      closing: amount(this.closing),
      verdict: this.#verdictWith(breakCount),
      breakCount,
      breaksAfter: this.#breaksAfter,
      lastBatchNo: this.#lastBatchNo,
      lastBookedMs: this.#lastBookedMs,
      isOrderFinal: !this.#meetsNext,
      startsWithBreak: this.#startsWithBreak,
    };
  }
  #standOn({ entry }: ChainStep): void {
    this.#lastBatchNo = entry.batchNo;
    this.#lastBookedMs = entry.bookedMs;
  }

  #verdictWith(breakCount: number): Verdict {
    if (breakCount > 0) return 'broken';
    return this.#isReordered ? 'reordered' : 'continuous';
  }

  /** A day that shares its end with a neighbour may close on another balance than its last entry has. */
  #assertFoots(amount: (value: bigint) => string): void {
    if (this.#meetsNeighbour || this.closing === this.#lastAfter) return;
    throw new Error(
      `account day ${this.day} does not add up: ${amount(this.#opening)} + ${amount(this.#credit)} - ` +
        `${amount(this.#debit)} with its breaks is ${amount(this.closing)}, and its chain ends on ` +
        amount(this.#lastAfter),
    );
  }
}
