/** What the copy must be after the platform behaved well and was read twice. */
import type { Window } from '../../src/ledger/entry.ts';
import { covers } from './history-state.ts';
import type { StoredRow } from './window-laws.ts';
import {
  dayWindow,
  isInside,
  isNameless,
  nameOf,
  PAGE_SIZE,
  type WindowPlatform,
} from './window-platform.ts';

const DAYS: readonly Window[] = [dayWindow(0), dayWindow(1)];

export interface Copy {
  readonly rows: readonly StoredRow[];
  readonly windows: readonly Window[];
  readonly exitCode: number;
  /** How much wider windows are requested. Wrecks (unreadable entries) near an edge then come with both windows. */
  readonly clockSkewMs: number;
}

/**
 * Each day is certified and holds exactly what the platform holds. A wreck without batchNo may be any stored entry.
 * So the copy may keep as many entries too many as the platform holds such wrecks. If more are missing, nothing is
 * proven.
 */
export function wrongCopy(platform: WindowPlatform, copy: Copy): string[] {
  const days = DAYS.map((day) => {
    const seen = compare(platform, copy, day);
    const mayStay = copy.clockSkewMs > 0 && seen.nameless > 0 ? Infinity : seen.nameless;
    const isOpen =
      seen.nameless > 0 && (seen.unaccounted > seen.nameless || isUndecidable(platform, copy, day));
    return { ...seen, mayStay, isOpen, isCertified: covers(copy.windows, day) };
  });
  if (![0, 3].includes(copy.exitCode) && !days.some(({ isOpen }) => isOpen))
    return [`a calm reading does not certify all: exit code ${copy.exitCode}`];
  return days.flatMap(({ isCertified, isOpen, lacks, unaccounted, mayStay }) => {
    if (!isCertified && !isOpen) return ['a calm reading does not certify all: a day is missing'];
    return lacks.length === 0 && (!isCertified || unaccounted <= mayStay)
      ? []
      : [
          `after a calm reading the copy is not exact: it lacks [${lacks.join(', ')}], ${unaccounted} too many`,
        ];
  });
}

/** `unaccounted` counts entries that are stored but not shown by the platform under their batchNo. */
function compare(
  platform: WindowPlatform,
  { rows, clockSkewMs }: Copy,
  day: Window,
): { lacks: readonly string[]; unaccounted: number; nameless: number } {
  const held = [...platform.held().values()];
  const here = held.filter((one) => isInside(one, day));
  const named = new Set(here.filter((one) => !isNameless(one)).map(({ batchNo }) => batchNo));
  const stored = rows.filter(({ batchNo, vanished }) => {
    const ms = platform.trueMsOf(batchNo);
    return !vanished && ms >= day.beginMs && ms <= day.endMs;
  });
  const has = new Set(stored.map(nameOf));
  return {
    lacks: here
      .filter(({ wreck }) => wreck === null)
      .map(nameOf)
      .filter((one) => !has.has(one)),
    unaccounted: stored.filter(({ batchNo }) => !named.has(batchNo)).length,
    nameless: held.filter((one) => isNameless(one) && isInside(one, wider(day, clockSkewMs))).length,
  };
}

/**
 * Whether there are identical wrecks that no window separates and that may be on two pages. No one can tell two of
 * them from one that moved.
 */
function isUndecidable(platform: WindowPlatform, { clockSkewMs }: Copy, day: Window): boolean {
  const held = [...platform.held().values()];
  return held
    .filter((one) => isInside(one, day))
    .some(({ trueMs }) => {
      const instant = { beginMs: trueMs, endMs: trueMs };
      const together = held.filter((one) => isInside(one, wider(instant, 2 * clockSkewMs)));
      return together.length > PAGE_SIZE && together.filter(isNameless).length > 1;
    });
}

const wider = ({ beginMs, endMs }: Window, byMs: number): Window => ({
  beginMs: beginMs - byMs,
  endMs: endMs + byMs,
});
