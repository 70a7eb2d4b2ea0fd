/**
 * Looks at the days before those a night reads: their total is held against what is stored, and some of their pages
 * record by record. Where the total differs, halves of the days are asked for, down to the days it differs on.
 *
 * Nothing is concluded from a reply here, and nothing is written: a day that differs is only named, to be read anew whole
 * and under certificate. So a total that is wrong once costs some calls, and a platform that refuses such a wide window
 * costs the look.
 */
import type { Kysely } from 'kysely';
import { daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerPage, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { countByFigures, countStored, differingDays, type Days } from '../store/older-days.ts';
import type { DB } from '../store/engine/schema.ts';
import { pagesNow, roundAfter, roundNow, type PageRound } from './page-round.ts';

/** Calls one look may spend on finding the days that differ. */
export const FOLLOW_CALLS_MAX = 40;
/** Days one look names; the next night finds the others. */
export const DIFFERING_DAYS_MAX = 14;

export interface OlderDaysOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly merchant: MerchantAccess;
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** Days under certificate, none of which holds anything a total cannot be held against. */
  readonly days: Days;
  /** How far timestamps may lie from the times the platform filters by. */
  readonly slackMs: number;
  /** Null: the first look. */
  readonly round: PageRound | null;
  readonly pagesMax: number;
  readonly now: Date;
  readonly signal: AbortSignal;
}

export interface OlderDaysLook extends Days {
  /** What the platform says they hold, and what is stored of them. */
  readonly total: number;
  readonly stored: number;
  /** Days that are not what is stored, to be read anew, in order. */
  readonly differing: readonly BusinessDay[];
  /** More days differ, or may, than are named. */
  readonly hasMore: boolean;
  /** The total differs, and those of its parts do not: it says nothing about any day. */
  readonly isContradicted: boolean;
  readonly round: PageRound;
  /** Pages of this look, counted from 0. */
  readonly pagesRead: readonly number[];
  readonly requests: number;
}

/** Why a look was not made, a sentence's end. */
export interface LookNotMade {
  readonly notMade: string;
  readonly requests: number;
}

/** Throws what the database throws, and the signal's reason; what the platform does ends in `notMade`. */
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
  const found = isHeld ? NOTHING_FOUND : await followDown(source, days);
  const named = [...new Set([...differing, ...found.days])].sort();
  const hasMore = found.hasMore || named.length > DIFFERING_DAYS_MAX;
  return {
    ...days,
    total,
    stored: isHeld ? total : await countStored(db, merchant.merchantNo, window),
    differing: named.slice(0, DIFFERING_DAYS_MAX),
    hasMore,
    isContradicted: !isHeld && found.days.length === 0 && !found.hasMore,
    // Pages of which more differs than is read anew are looked at again the next time.
    round: hasMore ? before : roundAfter(before, byFigures, pagesRead, replies[0]!.entries),
    pagesRead,
    requests: calls.made,
  };
}

/** The instants of whole days. */
export const windowOf = ({ from, to }: Days, zone: string): Window => ({
  beginMs: dayWindow(from, zone).beginMs,
  endMs: dayWindow(to, zone).endMs,
});

interface Source {
  /** A page of the days, counted from 0. */
  readonly page: (days: Days, page: number) => Promise<LedgerPage>;
  /** Whether that is what is stored of the days; entries so near their edges that they may be on either side may be. */
  readonly isStored: (days: Days, total: number) => Promise<boolean>;
  readonly callsLeft: () => number;
}

function sourceOf(options: OlderDaysOptions, calls: { made: number }): Source {
  const { reader, db, merchant, zone, slackMs, signal } = options;
  const callsMax = options.pagesMax + FOLLOW_CALLS_MAX;
  return {
    page: (days, page) => {
      signal.throwIfAborted();
      calls.made += 1;
      const whole = windowOf(days, zone);
      // Narrower by the slack, so that whatever can come is booked on these days, and stored.
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

interface Found {
  readonly days: readonly BusinessDay[];
  readonly hasMore: boolean;
}
const NOTHING_FOUND: Found = { days: [], hasMore: false };

/** The days whose own total differs, found by halves from days whose total does. */
async function followDown(source: Source, whole: Days): Promise<Found> {
  const found: BusinessDay[] = [];
  const differing: Days[] = [whole];
  for (let days = differing.shift(); days !== undefined; days = differing.shift()) {
    if (days.from === days.to) {
      found.push(days.from);
      continue;
    }
    const halves = halvesOf(days);
    if (found.length >= DIFFERING_DAYS_MAX || source.callsLeft() < halves.length) {
      return { days: found, hasMore: true };
    }
    for (const half of halves) {
      const { total } = await source.page(half, 0);
      if (!(await source.isStored(half, total))) differing.push(half);
    }
    // The oldest first, and each to its day before the next.
    differing.sort((a, b) => (a.from < b.from ? -1 : 1));
  }
  return { days: found, hasMore: false };
}

function halvesOf({ from, to }: Days): Days[] {
  const days = daysFromTo(from, to);
  const middle = Math.floor(days.length / 2);
  return [
    { from, to: days[middle - 1]! },
    { from: days[middle]!, to },
  ];
}
