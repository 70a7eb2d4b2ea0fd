/** What is missing of the ranges people asked for, and how much of it a run takes up again. */
import type { Kysely } from 'kysely';
import { addDays, dayOf, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { subtractWindows } from '../ledger/window.ts';
import {
  finishRequestedRanges,
  openRequestedRanges,
  type RequestedRange,
} from '../store/requested-ranges.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedWindows } from '../store/windows.ts';
import { daysTouched } from './coverage.ts';
import type { DayRange } from './range.ts';

/** Days of one merchant's requested ranges that one run takes up; the next run goes on from there. */
const TAKEN_UP_DAYS_MAX = 92;

/** An open range, and what of it is not under certificate. */
export interface OpenRange extends RequestedRange {
  /** Up to yesterday: a day that is not over is not missing yet. */
  readonly missing: readonly Window[];
  readonly missingDays: readonly DayRange[];
}

/**
 * The merchants' open ranges with what is missing, first asked for in front. One whose days are all under certificate
 * is closed on the way, whoever certified them.
 */
export async function closeReadRanges(
  db: Kysely<DB>,
  merchants: readonly string[],
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<OpenRange[]> {
  const open = await openRanges(db, merchants, { zone, now });
  await finishRequestedRanges(
    db,
    open.filter((range) => isRead(range, { zone, now })).map(({ id }) => id),
    now,
  );
  return open.filter((range) => !isRead(range, { zone, now }));
}

/** Whether all days of a range are over and under certificate, so that it can be closed. */
export const isRead = (
  { to, missing }: Pick<OpenRange, 'to' | 'missing'>,
  { zone, now }: { readonly zone: string; readonly now: Date },
): boolean => missing.length === 0 && to < dayOf(now.getTime(), zone);

/** The same, for looking only: nothing is closed, and one without anything missing may be among them. */
export async function openRanges(
  db: Kysely<DB>,
  merchants: readonly string[],
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<OpenRange[]> {
  const yesterday = addDays(dayOf(now.getTime(), zone), -1);
  const open = await openRequestedRanges(db, merchants);
  return Promise.all(
    open.map(async (range) => {
      const to = range.to < yesterday ? range.to : yesterday;
      if (range.from > to) return { ...range, missing: [], missingDays: [] };
      const asked = { beginMs: dayWindow(range.from, zone).beginMs, endMs: dayWindow(to, zone).endMs };
      const certified = await certifiedWindows(db, range.merchantNo, asked, range.currency);
      const missing = subtractWindows([asked], certified);
      return {
        ...range,
        missing,
        missingDays: mergeDays(missing.map((window) => daysTouched(window, zone))),
      };
    }),
  );
}

/** Ranges in order, joined where they touch. */
function mergeDays(ranges: readonly DayRange[]): DayRange[] {
  const joined: DayRange[] = [];
  for (const range of [...ranges].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = joined.at(-1);
    if (last === undefined || range.from > addDays(last.to, 1)) joined.push(range);
    else joined[joined.length - 1] = { from: last.from, to: last.to > range.to ? last.to : range.to };
  }
  return joined;
}

/**
 * Days a run of `reads` takes up for one merchant besides: the oldest request's first, and of each the oldest days, at
 * most `daysMax` in all. Pure.
 */
export function takenUpDays(
  open: readonly Pick<OpenRange, 'missingDays'>[],
  reads: DayRange,
  daysMax = TAKEN_UP_DAYS_MAX,
): DayRange[] {
  const chosen = new Set<BusinessDay>();
  for (const { missingDays } of open) {
    for (const { from, to } of missingDays) {
      for (const day of daysFromTo(from, to)) {
        if (chosen.size >= daysMax) break;
        if (day < reads.from || day > reads.to) chosen.add(day);
      }
    }
  }
  return mergeDays([...chosen].map((day) => ({ from: day, to: day })));
}
