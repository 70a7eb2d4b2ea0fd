/**
 * Works out, from certificates, up to which instant a merchant's ledger is proven, and which spans are missing. Pure.
 */
import { addDays, dayOf, daysFromTo, dayWindow, zoneDays } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { mergeWindows, subtractWindows } from '../ledger/window.ts';
import { daysUncovered } from '../statements/withheld.ts';
import type { DayRange } from './range.ts';
import type { Kysely } from 'kysely';
import { closeRequests, openRequests, type RequestRow } from '../store/requests.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedOfEach } from '../store/certificates.ts';

/**
 * A longer gap between certificates is not a missed night. It lies between two ranges of days that were each read on
 * purpose.
 */
const MISSING_MS_MAX = 31 * 24 * 3_600_000;

/** The zone of the business days, and the present. */
export type Clock = Readonly<{ zone: string; now: Date }>;

interface Coverage {
  /** Last instant before the first missing span; null if nothing was ever certified. */
  readonly provenThroughMs: number | null;
  /** Spans without a certificate that a run should still read. */
  readonly missing: readonly Window[];
}

/**
 * The coverage by the `certified` windows up to and including `untilMs`. The windows may overlap and come in any
 * order.
 */
export function coverageOf(certified: readonly Window[], untilMs: number): Coverage {
  const united = mergeWindows(certified);
  if (united.length === 0) return { provenThroughMs: null, missing: [] };
  const missing: Window[] = [];
  for (const [index, { endMs: beforeMs }] of united.entries()) {
    const next = united[index + 1];
    const between = { beginMs: beforeMs + 1, endMs: next === undefined ? untilMs : next.beginMs - 1 };
    const isMissed = next === undefined || between.endMs - between.beginMs < MISSING_MS_MAX;
    if (isMissed && between.beginMs <= between.endMs) missing.push(between);
  }
  const first = missing[0];
  return { provenThroughMs: first === undefined ? united.at(-1)!.endMs : first.beginMs - 1, missing };
}

/** The first and the last business day of which a part lies in the window. */
export const daysTouched = ({ beginMs, endMs }: Window, zone: string): DayRange => ({
  from: dayOf(beginMs, zone),
  to: dayOf(endMs, zone),
});

/** How many days that are over have a part in one of the spans. */
export function countDaysMissing(spans: readonly Window[], { zone, now }: Clock): number {
  const today = dayOf(now.getTime(), zone);
  const days = spans.flatMap((span) => {
    const { from, to } = daysTouched(span, zone);
    return zoneDays(from, to < today ? to : addDays(today, -1), zone);
  });
  return new Set(days).size;
}

export function completeDays(window: Window, zone: string): DayRange | null {
  const first = dayOf(window.beginMs, zone);
  const from = dayWindow(first, zone).beginMs === window.beginMs ? first : addDays(first, 1);
  const to = addDays(dayOf(window.endMs + 1, zone), -1);
  return from > to ? null : { from, to };
}

/**
 * The range of days, without a gap, that counts as proven. It goes from the first proven day to the day before the
 * first one that should be proven and is not. A long gap that no one asked for is skipped; the range then begins after
 * the last gap skipped. `missing` are spans still to be read, or with a break; `unproven` are days without figures. Null
 * if no day is proven.
 */
export function provenStretch(
  certified: readonly Window[],
  missing: readonly Window[],
  unproven: readonly BusinessDay[],
  zone: string,
): DayRange | null {
  const complete = mergeWindows(certified).flatMap((window) => completeDays(window, zone) ?? []);
  const obstacles = [
    ...missing.map((window) => daysTouched(window, zone)),
    ...unproven.map((day) => ({ from: day, to: day })),
  ].sort((a, b) => (a.from < b.from ? -1 : 1));
  const first = firstFree(complete, obstacles);
  if (first === null) return null;
  const end = obstacles.find(({ from }) => from > first)?.from ?? null;
  const last = complete.findLast(({ from }) => end === null || from < end)!;
  return {
    from: last.from > first ? last.from : first,
    to: end === null || last.to < end ? last.to : addDays(end, -1),
  };
}

/** The first day of `ranges` that lies in none of the `obstacles`. Both are in order. */
function firstFree(ranges: readonly DayRange[], obstacles: readonly DayRange[]): BusinessDay | null {
  for (const { from, to } of ranges) {
    let day = from;
    for (const obstacle of obstacles) {
      if (obstacle.from <= day && obstacle.to >= day) day = addDays(obstacle.to, 1);
    }
    if (day <= to) return day;
  }
  return null;
}

/** Which days of an account have figures, as far as that is known. */
interface FiguredDays {
  readonly certified: readonly Window[];
  /** The account's first day with figures; null if there is none. */
  readonly begun: BusinessDay | null;
  /** The days with figures from the first gap on; before it every day from `begun` on has some. */
  readonly figured: readonly BusinessDay[];
  readonly stated: readonly BusinessDay[];
}

/**
 * An account's proven days that have no entries and no figures, in stretches, each with the days before it that have to be read: until then
 * the balance that passes through it is not known. `due` are the days that are about to get figures. Days before the account's first
 * one are not its days. Pure.
 */
export function daysWithoutOpening(
  { certified, begun, figured, stated }: FiguredDays,
  due: readonly BusinessDay[],
  zone: string,
): { readonly days: readonly BusinessDay[]; readonly unread: DayRange }[] {
  const known = [...new Set([...(begun === null ? [] : [begun]), ...figured, ...stated, ...due])].sort();
  const [first] = known;
  if (first === undefined) return [];
  const has = new Set(known);
  const rowEnd = figured[0] ?? begun;
  const isInRow = (day: BusinessDay): boolean => begun !== null && begun <= day && day < rowEnd!;
  // Most accounts have no gap: then nothing of their history is gone through.
  const start = first === begun ? rowEnd! : first;
  const proven = mergeWindows(certified).flatMap((one) => completeDays(one, zone) ?? []);
  const without = proven
    .flatMap(({ from, to }) => daysFromTo(from > start ? from : start, to))
    .filter((day) => !has.has(day) && !isInRow(day));
  const byDayBefore = Map.groupBy(without, (day) => known.findLast((one) => one < day)!);
  return [...byDayBefore].flatMap(([before, days]) => stretchesWithout({ before, days, certified, zone }));
}

/** Of days after the known one `before`, those that follow the same last unproven time are together. */
function stretchesWithout({
  before,
  days,
  certified,
  zone,
}: Readonly<{
  before: BusinessDay;
  days: readonly BusinessDay[];
  certified: readonly Window[];
  zone: string;
}>): { readonly days: readonly BusinessDay[]; readonly unread: DayRange }[] {
  const { beginMs } = dayWindow(before, zone);
  const unreadBefore = (day: BusinessDay): DayRange | null => {
    const span = { beginMs, endMs: dayWindow(addDays(day, -1), zone).endMs };
    return daysUncovered(span, certified, zone);
  };
  const byGap = Map.groupBy(days, (day) => JSON.stringify(unreadBefore(day)));
  return [...byGap.values()].flatMap((own) => {
    const unread = unreadBefore(own[0]!);
    return unread === null ? [] : [{ days: own, unread }];
  });
}

/** Most days of one merchant's requested ranges that one run reads. The next run continues there. */
const TAKEN_UP_DAYS_MAX = 92;

/** Days that were asked for, with what of them is not under certificate. */
export interface OpenRange extends Pick<
  RequestRow,
  'id' | 'merchantNo' | 'from' | 'to' | 'requestedAt' | 'runId'
> {
  /** Up to yesterday, as a day that is not over is not missing yet. */
  readonly missing: readonly Window[];
  readonly missingDays: readonly DayRange[];
}

/**
 * The merchants' open ranges with what is missing of them, in the order in which they were asked for. A range, or a backfill, whose
 * days are all under certificate is closed by this, whichever run certified them.
 */
export async function closeReadRanges(
  db: Kysely<DB>,
  merchants: readonly string[],
  clock: Clock,
): Promise<OpenRange[]> {
  const open = await withMissing(db, await openRequests(db, 'any', merchants), clock);
  for (const askedBy of ['run', 'backfill'] as const) {
    // A process that is at work on one ends it itself.
    const read = open.filter((one) => one.askedBy === askedBy && !one.isHeld && isRead(one, clock));
    for (const [id, own] of Map.groupBy(read, (one) => one.id)) {
      const of = own.map(({ merchantNo }) => merchantNo);
      await closeRequests(db, [id], { askedBy, state: 'ended', now: clock.now, merchants: of });
    }
  }
  return open.filter((one) => one.askedBy === 'run' && !isRead(one, clock)).map(rangeOf);
}

/** Whether all days of a range are over and under certificate, so that it can be closed. */
export const isRead = ({ to, missing }: Pick<OpenRange, 'to' | 'missing'>, { zone, now }: Clock): boolean =>
  missing.length === 0 && to < dayOf(now.getTime(), zone);

/** Like `closeReadRanges`, but closes nothing. So a range with nothing missing may be in the result. */
export const openRanges = async (
  db: Kysely<DB>,
  merchants: readonly string[],
  clock: Clock,
): Promise<OpenRange[]> =>
  (await withMissing(db, await openRequests(db, 'run', merchants), clock)).map(rangeOf);

const rangeOf = ({
  id,
  merchantNo,
  from,
  to,
  requestedAt,
  runId,
  missing,
  missingDays,
}: OpenRange): OpenRange => ({
  ...{ id, merchantNo, from, to, requestedAt, runId, missing, missingDays },
});

/** What of these days is not under certificate. One statement, whatever was asked for. */
export async function withMissing<Asked extends DayRange & { readonly merchantNo: string }>(
  db: Kysely<DB>,
  open: readonly Asked[],
  { zone, now }: Clock,
): Promise<(Asked & Pick<OpenRange, 'missing' | 'missingDays'>)[]> {
  if (open.length === 0) return [];
  const yesterday = addDays(dayOf(now.getTime(), zone), -1);
  // Of days that lie in the future, this ends before it begins: nothing of them is missing.
  const spanOf = ({ from, to }: DayRange): Window => ({
    beginMs: dayWindow(from, zone).beginMs,
    endMs: dayWindow(to < yesterday ? to : yesterday, zone).endMs,
  });
  const of = [...new Set(open.map(({ merchantNo }) => merchantNo))];
  const certified = await certifiedOfEach(db, of, {
    beginMs: Math.min(...open.map((one) => spanOf(one).beginMs)),
    endMs: Math.max(...open.map((one) => spanOf(one).endMs)),
  });
  const certifiedOf = new Map(of.map((merchantNo, nth) => [merchantNo, certified[nth]!]));
  return open.map((one) => {
    const missing = subtractWindows([spanOf(one)], certifiedOf.get(one.merchantNo)!);
    return { ...one, missing, missingDays: mergeDays(missing.map((window) => daysTouched(window, zone))) };
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

/** The days as ranges, in order and joined. */
export const stretchesOf = (days: readonly BusinessDay[]): DayRange[] =>
  mergeDays(days.map((day) => ({ from: day, to: day })));

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
  const daysOutside = (ranges: readonly DayRange[]) =>
    ranges.flatMap(({ from, to }) => daysFromTo(from, to)).filter(isOutside);
  const asked = new Set(daysOutside(open.flatMap(({ missingDays }) => missingDays)));
  const chosen = new Set([...[...asked].slice(0, daysMax), ...daysOutside(absent)]);
  return stretchesOf([...chosen]);
}
