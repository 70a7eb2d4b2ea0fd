/** Puts readings together to readings of business days: a day is read once all that is planned of it was read. */
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { covers, overlaps } from '../ledger/window.ts';
import type { DayReading } from '../store/certificates.ts';
import type { WindowReading } from '../store/compare-with-stored.ts';

interface Part extends Window {
  readonly reading: WindowReading;
}

/** The window cut at the midnights in it. */
export function cutAtMidnights(window: Window, zone: string): (Window & { readonly day: BusinessDay })[] {
  const parts: (Window & { readonly day: BusinessDay })[] = [];
  for (let { beginMs } = window; beginMs <= window.endMs;) {
    const day = dayOf(beginMs, zone);
    const endMs = Math.max(beginMs, Math.min(window.endMs, dayWindow(addDays(day, 1), zone).beginMs - 1));
    parts.push({ day, beginMs, endMs });
    beginMs = endMs + 1;
  }
  return parts;
}

/**
 * Collects what is read of the planned windows of a merchant. `take` returns what is to be stored of their days: of a part that
 * failed at once, of certified parts once they cover all that is planned of the day.
 */
export function createDayReadings(planned: readonly Window[], zone: string) {
  const plannedOf = Map.groupBy(
    planned.flatMap((window) => cutAtMidnights(window, zone)),
    ({ day }) => day,
  );
  const partsOf = new Map<BusinessDay, Part[]>();

  const takeOf = (day: BusinessDay, part: Part): DayReading | null => {
    const before = (partsOf.get(day) ?? []).filter((one) => !overlaps(one, part));
    const parts = [...before, part];
    partsOf.set(day, parts);
    const wanted = plannedOf.get(day) ?? [part];
    const isRead = wanted.every((window) => covers(parts, window));
    return isRead || !part.reading.certified ? united(day, parts, wanted) : null;
  };

  return {
    take: (window: Window, reading: WindowReading): DayReading[] =>
      cutAtMidnights(window, zone).flatMap(
        ({ day, beginMs, endMs }) =>
          takeOf(day, { beginMs, endMs, reading: within(reading, { beginMs, endMs }, window) }) ?? [],
      ),
  };
}

export type DayReadings = ReturnType<typeof createDayReadings>;

/** What of a reading lies in a part of its window. */
function within(reading: WindowReading, { beginMs, endMs }: Window, window: Window): WindowReading {
  if (beginMs === window.beginMs && endMs === window.endMs) return reading;
  const entries = reading.entries.filter(({ bookedMs }) => bookedMs >= beginMs && bookedMs <= endMs);
  return { ...reading, entries, total: entries.length + reading.unreadable.length };
}

function united(day: BusinessDay, parts: readonly Part[], wanted: readonly Window[]): DayReading {
  const sum = (figure: (reading: WindowReading) => number): number =>
    parts.reduce((total, { reading }) => total + figure(reading), 0);
  const failed = parts.find(({ reading }) => !reading.certified);
  return {
    day,
    beginMs: Math.min(...wanted.map(({ beginMs }) => beginMs)),
    endMs: Math.max(...wanted.map(({ endMs }) => endMs)),
    total: sum(({ total }) => total),
    entries: sum(({ entries }) => new Set(entries.map(({ batchNo }) => batchNo)).size),
    unreadable: sum(({ unreadable }) => unreadable.length),
    requests: sum(({ requests }) => requests),
    problem: failed === undefined ? null : (failed.reading.problem ?? 'not certified'),
  };
}
