/** Works out what is missing of the ranges that people asked for, and which of these days a run reads again. */
import type { Kysely } from 'kysely';
import { addDays, dayOf, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { subtractWindows } from '../ledger/window.ts';
import { closeRanges, openRequestedRanges, type RequestedRange } from '../store/tasks.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedWindowsOf } from '../store/certificates.ts';
import { daysTouched } from './coverage.ts';
import type { DayRange } from './range.ts';

/** Most days of one merchant's requested ranges that one run reads. The next run continues there. */
const TAKEN_UP_DAYS_MAX = 92;

/** An open range, with what of it is not under certificate. */
export interface OpenRange extends RequestedRange {
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
): Promise<OpenRange[]> {
  const open = await openRanges(db, merchants, { zone, now });
  const read = open.filter((range) => isRead(range, { zone, now }));
  await closeRanges(
    db,
    read.map(({ id }) => id),
    { state: 'ended', now },
  );
  return open.filter((range) => !read.includes(range));
}

/** Whether all days of a range are over and under certificate, so that it can be closed. */
export const isRead = (
  { to, missing }: Pick<OpenRange, 'to' | 'missing'>,
  { zone, now }: { readonly zone: string; readonly now: Date },
): boolean => missing.length === 0 && to < dayOf(now.getTime(), zone);

/** Like `closeReadRanges`, but closes nothing. So a range with nothing missing may be in the result. */
export async function openRanges(
  db: Kysely<DB>,
  merchants: readonly string[],
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<OpenRange[]> {
  const yesterday = addDays(dayOf(now.getTime(), zone), -1);
  const open = await openRequestedRanges(db, merchants);
  const asked = open.map((range) => ({
    ...range,
    // Of a range that lies in the future, this ends before it begins: nothing of it is missing.
    within: {
      beginMs: dayWindow(range.from, zone).beginMs,
      endMs: dayWindow(range.to < yesterday ? range.to : yesterday, zone).endMs,
    },
  }));
  const certified = await certifiedWindowsOf(db, asked);
  return asked.map(({ within, ...range }, nth) => {
    const missing = subtractWindows([within], certified[nth]!);
    return { ...range, missing, missingDays: mergeDays(missing.map((window) => daysTouched(window, zone))) };
  });
}

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
 * Days that a run over the days `reads` also reads for one merchant. Of earlier requests, the oldest request first and the
 * oldest days first, at most `daysMax` in all; and all days of which entries are `absent`, as each could be back. Pure.
 */
export function daysOfBacklog(
  open: readonly Pick<OpenRange, 'missingDays'>[],
  reads: DayRange,
  absent: readonly DayRange[] = [],
  daysMax = TAKEN_UP_DAYS_MAX,
): DayRange[] {
  const isOutside = (day: BusinessDay) => day < reads.from || day > reads.to;
  const chosen = new Set<BusinessDay>();
  for (const { missingDays } of open) {
    for (const { from, to } of missingDays) {
      for (const day of daysFromTo(from, to)) {
        if (chosen.size >= daysMax) break;
        if (isOutside(day)) chosen.add(day);
      }
    }
  }
  for (const { from, to } of absent)
    for (const day of daysFromTo(from, to).filter(isOutside)) chosen.add(day);
  return mergeDays([...chosen].map((day) => ({ from: day, to: day })));
}
