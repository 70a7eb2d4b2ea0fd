/** Works out what is missing of the ranges that people asked for, and which of these days a run reads again. */
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

/** Most days of one merchant's requested ranges that one run reads. The next run continues there. */
const TAKEN_UP_DAYS_MAX = 92;

/** An open range, with what of it is not under certificate. */
export interface RequestedStanding extends RequestedRange {
  /** Up to yesterday, as a day that is not over is not missing yet. */
  readonly missing: readonly Window[];
  readonly missingDays: readonly DayRange[];
}

/**
 * The merchants' open ranges with what is missing of them, in the order in which they were asked for. A range whose
 * days are all under certificate is closed by this, whichever run certified them.
 */
export async function closeReadRanges(
  db: Kysely<DB>,
  merchants: readonly string[],
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<RequestedStanding[]> {
  const standing = await requestedStanding(db, merchants, { zone, now });
  const isDone = ({ to, missing }: RequestedStanding) =>
    missing.length === 0 && to < dayOf(now.getTime(), zone);
  await finishRequestedRanges(
    db,
    standing.filter(isDone).map(({ id }) => id),
    now,
  );
  return standing.filter((range) => !isDone(range));
}

/** The same without closing anything. A range of which nothing is missing may be among them. */
export async function requestedStanding(
  db: Kysely<DB>,
  merchants: readonly string[],
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<RequestedStanding[]> {
  const yesterday = addDays(dayOf(now.getTime(), zone), -1);
  const open = await openRequestedRanges(db, merchants);
  return Promise.all(
    open.map(async (range) => {
      const to = range.to < yesterday ? range.to : yesterday;
      if (range.from > to) return { ...range, missing: [], missingDays: [] };
      const asked = { beginMs: dayWindow(range.from, zone).beginMs, endMs: dayWindow(to, zone).endMs };
      const certified = await certifiedWindows(db, range.merchantNo, asked, range.currency ?? undefined);
      const missing = subtractWindows([asked], certified);
      return { ...range, missing, missingDays: joinDays(missing.map((window) => daysTouched(window, zone))) };
    }),
  );
}

/** The ranges in order. Ranges that touch or overlap are joined. */
function joinDays(ranges: readonly DayRange[]): DayRange[] {
  const joined: DayRange[] = [];
  for (const range of [...ranges].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = joined.at(-1);
    if (last === undefined || range.from > addDays(last.to, 1)) joined.push(range);
    else joined[joined.length - 1] = { from: last.from, to: last.to > range.to ? last.to : range.to };
  }
  return joined;
}

/**
 * The further days of earlier requests that a run of `reads` reads for one merchant: the oldest request first, the
 * oldest days first, at most `daysMax` in all. Pure.
 */
export function takenUpDays(
  standing: readonly Pick<RequestedStanding, 'missingDays'>[],
  reads: DayRange,
  daysMax = TAKEN_UP_DAYS_MAX,
): DayRange[] {
  const chosen = new Set<BusinessDay>();
  for (const { missingDays } of standing) {
    for (const { from, to } of missingDays) {
      for (const day of daysFromTo(from, to)) {
        if (chosen.size >= daysMax) break;
        if (day < reads.from || day > reads.to) chosen.add(day);
      }
    }
  }
  return joinDays([...chosen].map((day) => ({ from: day, to: day })));
}
