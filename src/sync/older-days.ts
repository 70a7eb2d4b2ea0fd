/**
 * Looks at the days before those that a night reads. Their total is compared with what is stored, and some of their
 * pages are compared record by record. If the total differs, the days are halved again and again, down to the days
 * that differ.
 *
 * Nothing is written here. A day that differs is only named; then it is read again whole, under a certificate. So a
 * wrong total costs a few calls and no more, and if the platform refuses such a wide window, only this look is not
 * made.
 */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerPage, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { countByFigures, countStored, differingDays, type Days } from '../store/older-days.ts';
import type { DB } from '../store/engine/schema.ts';
import { followDown, isNothing, type TotalsSource } from './follow-down.ts';
import { pagesNow, roundAfter, roundNow, type PageRound } from './page-round.ts';

/** Most calls of one look to find the days that differ. */
export const FOLLOW_CALLS_MAX = 40;
/** Most days that one look names; the next night finds the others. */
export const DIFFERING_DAYS_MAX = 14;

export interface OlderDaysOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly merchant: MerchantAccess;
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** Days under certificate. None holds anything that the store cannot count, so a total can be compared with it. */
  readonly days: Days;
  /** How far timestamps may be from the times the platform filters by. */
  readonly slackMs: number;
  /** How far the last looks got; null before the first look. */
  readonly round: PageRound | null;
  readonly pagesMax: number;
  /** Further ranges of days under certificate, each to be compared by its own total. If left out, none. */
  readonly alsoCompared?: readonly Days[];
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** A range of days whose total the platform states otherwise than it is stored. */
export interface TotalDiffers extends Days {
  readonly total: number;
  readonly stored: number;
}

export interface OlderDaysLook extends Days {
  /** How many entries the platform says they have, and how many are stored. */
  readonly total: number;
  readonly stored: number;
  /** Days that differ from what is stored, in order. They are to be read again. */
  readonly differing: readonly BusinessDay[];
  /** Of the ranges that were compared as well, those that differ. */
  readonly alsoDiffering: readonly TotalDiffers[];
  /** More days than these differ, or may differ. */
  readonly hasMore: boolean;
  /** The total of a range differs, but the totals of its parts do not: it says nothing about any day. */
  readonly isContradicted: boolean;
  readonly round: PageRound;
  /** The pages that this look read, counted from 0. */
  readonly pagesRead: readonly number[];
  readonly requests: number;
}

/** A look that was not made. `notMade` says why, as the end of a sentence. */
export interface LookNotMade {
  readonly notMade: string;
  readonly requests: number;
}

/** Throws what the database throws, and the reason of the signal. A failure of the platform ends in `notMade`. */
export async function lookAtOlderDays(options: OlderDaysOptions): Promise<OlderDaysLook | LookNotMade> {
  const calls = { made: 0 };
  try {
    return await look(options, calls);
  } catch (error) {
    if (!isPlatformError(error)) throw error;
    return { notMade: error.message, requests: calls.made };
  }
}

async function look(options: OlderDaysOptions, calls: { made: number }): Promise<OlderDaysLook> {
  const { db, merchant, days, round: last, pagesMax, now } = options;
  const source = sourceOf(options, calls);
  const window = windowOf(days, options.zone);
  const byFigures = await countByFigures(db, merchant.merchantNo, days, window);
  const before = roundNow(last, byFigures, now);
  const pagesRead = pagesNow(before, byFigures, pagesMax);
  const replies: LedgerPage[] = [];
  for (const page of pagesRead) replies.push(await source.page(days, page));
  const entries = replies.flatMap((reply) => reply.entries);
  const { total } = replies[0]!;
  const shown = await differingDays(
    db,
    merchant.merchantNo,
    entries,
    replies.flatMap(({ unreadable }) => unreadable),
  );
  const differing = shown.filter((day) => day >= days.from && day <= days.to);
  const isHeld = total === byFigures || (await source.isStored(days, total));
  const found = await followDown(source, isHeld ? [] : [days], DIFFERING_DAYS_MAX);
  const alsoDiffering = await differingOf(source, options, options.alsoCompared ?? []);
  // What lies in days that are followed already is not followed twice. If it still differs, the next look follows it.
  const alsoFollowed = alsoDiffering.filter(({ from, to }) => isHeld || from < days.from || to > days.to);
  const also = await followDown(source, alsoFollowed, DIFFERING_DAYS_MAX);
  const named = [...new Set([...differing, ...found.days, ...also.days])].sort();
  const hasMore = found.hasMore || also.hasMore || named.length > DIFFERING_DAYS_MAX;
  return {
    ...days,
    total,
    stored: isHeld ? total : await countStored(db, merchant.merchantNo, window),
    differing: named.slice(0, DIFFERING_DAYS_MAX),
    alsoDiffering,
    hasMore,
    isContradicted: (!isHeld && isNothing(found)) || (alsoFollowed.length > 0 && isNothing(also)),
    // If more days differ than are read again now, the next look begins with the same pages.
    round: hasMore ? before : roundAfter(before, byFigures, pagesRead, replies[0]!.entries),
    pagesRead,
    requests: calls.made,
  };
}

/** Those of the ranges whose totals differ from what is stored. One call each. */
async function differingOf(
  source: TotalsSource,
  { db, merchant, zone }: OlderDaysOptions,
  ranges: readonly Days[],
): Promise<TotalDiffers[]> {
  const differing: TotalDiffers[] = [];
  for (const days of ranges) {
    const { total } = await source.page(days, 0);
    const window = windowOf(days, zone);
    const stored = await countByFigures(db, merchant.merchantNo, days, window);
    if (total !== stored && !(await source.isStored(days, total))) differing.push({ ...days, total, stored });
  }
  return differing;
}

/** Whole days as a window. */
export const windowOf = ({ from, to }: Days, zone: string): Window => ({
  beginMs: dayWindow(from, zone).beginMs,
  endMs: dayWindow(to, zone).endMs,
});

function sourceOf(options: OlderDaysOptions, calls: { made: number }): TotalsSource {
  const { reader, db, merchant, zone, slackMs, signal } = options;
  const callsMax = options.pagesMax + (options.alsoCompared ?? []).length + FOLLOW_CALLS_MAX;
  return {
    page: (days, page) => {
      signal.throwIfAborted();
      calls.made += 1;
      const whole = windowOf(days, zone);
      // Narrower by the slack, so that every entry that comes is booked on these days.
      const window = { beginMs: whole.beginMs + slackMs, endMs: whole.endMs - slackMs };
      return reader.page({ merchant, window, pageNum: page + 1 }, signal);
    },
    isStored: async (days, total) => {
      const whole = windowOf(days, zone);
      const most = await countStored(db, merchant.merchantNo, whole);
      if (slackMs === 0 || total >= most) return total === most;
      const inner = { beginMs: whole.beginMs + 2 * slackMs, endMs: whole.endMs - 2 * slackMs };
      return total >= (await countStored(db, merchant.merchantNo, inner));
    },
    callsLeft: () => callsMax - calls.made,
  };
}
