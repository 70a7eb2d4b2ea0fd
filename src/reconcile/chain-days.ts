/** Chains some days of an account in one go, as a stream: memory holds a batch of entries, whatever the day's size. */
import { foldDays, type ChainedDay } from '../ledger/account-days.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { createChain } from '../ledger/chain.ts';
import type { ChainEntry, ChainStep } from '../ledger/chain-link.ts';
import type { Account, BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import { addAmounts, canonicalAmount, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';

export interface ChainDaysOptions {
  readonly account: Account;
  /** In order; no other day with entries lies between them. */
  readonly days: readonly BusinessDay[];
  /** The last day before them, undefined where there is none. */
  readonly before: DayFigures | undefined;
  /** Whether nothing can be missing between the day before and the first entry, booked at that instant. */
  readonly joins: (before: DayFigures, firstMs: number) => Promise<boolean>;
  readonly read: (day: BusinessDay) => AsyncIterable<readonly ChainEntry[]>;
  readonly zone: string;
  readonly clockToleranceS: number;
  /** Null where no list knows the currency. */
  readonly minorUnits: number | null;
  readonly signal: AbortSignal;
}

export interface ChainedDays {
  /** Figures of each day that has any entry, or has a balance to pass on. */
  readonly days: readonly DayFigures[];
  readonly breaks: readonly ContinuityBreak[];
  /** A break so near the start that entries of the day before might mend it. */
  readonly brokenAtStart: boolean;
}

export async function chainDays(options: ChainDaysOptions): Promise<ChainedDays> {
  const { account, before, clockToleranceS, minorUnits, zone, signal } = options;
  const toleranceMs = clockToleranceS * 1_000;
  const folded: ChainedDay[] = [];
  const ends = new Map<BusinessDay, DayEnd>();
  let lastDay: BusinessDay | null = null;
  let end: DayEnd = { latestMs: -1, earlierMs: -1, brokenMs: -1 };
  let chaining: ReturnType<typeof begin> | null = null;
  let restarted: BusinessDay | null = null;
  let brokenAtStart = false;

  const begin = (from: DayFigures | null) => ({
    fold: foldDays({ opening: from?.closing ?? null, minorUnits }),
    chain: createChain({
      clockToleranceS,
      start: from && { balance: from.closing, batchNo: from.lastBatchNo, bookedMs: from.lastBookedMs! },
    }),
    nearStartMs: from === null ? Number.NEGATIVE_INFINITY : from.lastBookedMs! + toleranceMs,
  });
  const take = (steps: readonly ChainStep[]): void => {
    for (const step of steps) {
      if (step.day !== lastDay) {
        lastDay = step.day;
        end = ends.get(step.day) ?? { latestMs: -1, earlierMs: -1, brokenMs: -1 };
        ends.set(step.day, end);
      }
      note(end, step);
      if (step.break !== null && step.entry.bookedMs <= chaining!.nearStartMs) brokenAtStart = true;
    }
    folded.push(...chaining!.fold.push(steps));
  };

  for (const day of options.days) {
    for await (const entries of options.read(day)) {
      signal.throwIfAborted();
      const first = entries[0];
      if (first === undefined) continue;
      assertOfDay(account, day, first, zone);
      if (chaining === null) {
        const taken =
          before?.lastBookedMs != null && (await options.joins(before, first.bookedMs)) ? before : null;
        if (taken === null) restarted = day;
        chaining = begin(taken);
      }
      take(chaining.chain.push(entries));
    }
  }
  if (chaining !== null) {
    take(chaining.chain.end());
    folded.push(...chaining.fold.end());
  }

  const figures: DayFigures[] = [];
  for (const day of options.days) {
    const own = folded.find((one) => one.day === day);
    const previous = figures.at(-1) ?? before;
    if (own === undefined) {
      if (previous !== undefined) figures.push(passedOn(day, previous, minorUnits));
      continue;
    }
    const cleanEnd = own.cleanEnd && !isOpen(ends.get(day)!, dayWindow(day, zone).endMs, toleranceMs);
    const made = { ...own, currency: account.currency, cleanEnd, restarted: restarted === day };
    assertFoots(account, made, made.restarted ? undefined : previous);
    figures.push(made);
  }
  return { days: figures, breaks: chaining?.fold.breaks() ?? [], brokenAtStart };
}

/** The last instants of a day: of its latest entry, of the one before that, and of its latest break. */
interface DayEnd {
  latestMs: number;
  earlierMs: number;
  brokenMs: number;
}

function note(end: DayEnd, { entry, break: found }: ChainStep): void {
  const { bookedMs } = entry;
  if (bookedMs >= end.latestMs) {
    end.earlierMs = end.latestMs;
    end.latestMs = bookedMs;
  } else if (bookedMs > end.earlierMs) end.earlierMs = bookedMs;
  if (found !== null && bookedMs > end.brokenMs) end.brokenMs = bookedMs;
}

/** Broken at its very end, where entries of the next day might put it in another order. */
const isOpen = (end: DayEnd, dayEndMs: number, toleranceMs: number): boolean =>
  end.brokenMs >= end.latestMs - toleranceMs &&
  (end.earlierMs >= end.latestMs - toleranceMs || dayEndMs - end.latestMs <= toleranceMs);

/** A day all of whose entries vanished: it passes on what it got. */
function passedOn(day: BusinessDay, before: DayFigures, minorUnits: number | null): DayFigures {
  const zero = canonicalAmount('0', minorUnits)!.amount;
  return {
    currency: before.currency,
    day,
    opening: before.closing,
    creditTotal: zero,
    creditCount: 0,
    debitTotal: zero,
    debitCount: 0,
    closing: before.closing,
    verdict: 'continuous',
    breakCount: 0,
    lastBatchNo: before.lastBatchNo,
    lastBookedMs: before.lastBookedMs,
    cleanEnd: before.cleanEnd,
    restarted: false,
  };
}

/** The zone decides which day an entry is of, when it is stored and when it is read: one zone for good. */
function assertOfDay(account: Account, day: BusinessDay, first: ChainEntry, zone: string): void {
  if (first.bookedAt.startsWith(day)) return;
  throw new Error(
    `${nameOf(account, day)}: entry ${first.batchNo} is booked at ${first.bookedAt}, another day; it was read with ` +
      `another time zone than ${zone}.`,
  );
}

/** What every proven day is held to, in production too: figures that do not foot must never be stored as whole. */
function assertFoots(account: Account, made: DayFigures, before: DayFigures | undefined): void {
  const foots = compareAmounts(
    subtractAmounts(addAmounts(made.opening, made.creditTotal), made.debitTotal),
    made.closing,
  );
  const follows = before === undefined ? 0 : compareAmounts(before.closing, made.opening);
  if ((foots === 0 || made.verdict === 'broken') && follows === 0) return;
  throw new Error(
    `${nameOf(account, made.day)} does not hold together: opening ${made.opening}, credits ${made.creditTotal}, debits ` +
      `${made.debitTotal}, closing ${made.closing}, the day before closed on ${before?.closing ?? 'nothing'}.`,
  );
}

const nameOf = ({ merchantNo, currency }: Account, day: BusinessDay): string =>
  `account day ${merchantNo} ${currency} ${day}`;
