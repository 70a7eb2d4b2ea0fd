/** What the copy has to be once the platform behaves and was read twice. */
import type { Window } from '../../src/ledger/entry.ts';
import { covers } from './history-state.ts';
import type { StoredRow } from './window-laws.ts';
import {
  dayWindow,
  isInside,
  isNameless,
  nameOf,
  PAGE_SIZE,
  type Held,
  type WindowPlatform,
} from './window-platform.ts';

const DAYS: readonly Window[] = [dayWindow(0), dayWindow(1)];

/**
 * Each day is certified and holds exactly what the platform holds. Where the platform holds wrecks without batchNo, each
 * of them may be a stored entry: as many as they are may stay in the copy, and where more are missing nothing is proven.
 */
export function wrongCopy(
  platform: WindowPlatform,
  copy: {
    readonly rows: readonly StoredRow[];
    readonly windows: readonly Window[];
    readonly exitCode: number;
  },
): string[] {
  const isOpen = DAYS.map((day): boolean => {
    const { unaccounted, nameless } = compare(platform, copy.rows, day);
    return nameless.length > 0 && (unaccounted > nameless.length || isUndecidable(platform, day));
  });
  if (![0, 3].includes(copy.exitCode) && !isOpen.includes(true))
    return [`a calm reading does not certify all: exit code ${copy.exitCode}`];
  return DAYS.flatMap((day, at) => {
    const isCertified = covers(copy.windows, day);
    if (!isCertified && !isOpen[at]) return ['a calm reading does not certify all: a day is missing'];
    const { lacks, unaccounted, nameless } = compare(platform, copy.rows, day);
    const isExact = lacks.length === 0 && unaccounted <= (isCertified ? nameless.length : Infinity);
    return isExact
      ? []
      : [
          `after a calm reading the copy is not exact: it lacks [${lacks.join(', ')}], ${unaccounted} too many`,
        ];
  });
}

/** `unaccounted`: stored, and not shown by the platform under its batchNo. */
function compare(
  platform: WindowPlatform,
  rows: readonly StoredRow[],
  day: Window,
): { lacks: readonly string[]; unaccounted: number; nameless: readonly Held[] } {
  const held = [...platform.held().values()].filter((one) => isInside(one, day));
  const nameless = held.filter(isNameless);
  const named = new Set(held.filter((one) => !isNameless(one)).map(({ batchNo }) => batchNo));
  const stored = rows.filter(({ batchNo, vanished }) => {
    const ms = platform.trueMsOf(batchNo);
    return !vanished && ms >= day.beginMs && ms <= day.endMs;
  });
  const has = new Set(stored.map(nameOf));
  return {
    lacks: held
      .filter(({ wreck }) => wreck === null)
      .map(nameOf)
      .filter((one) => !has.has(one)),
    unaccounted: stored.filter(({ batchNo }) => !named.has(batchNo)).length,
    nameless,
  };
}

/** Identical wrecks of one instant that may stand on two pages: nobody can tell them from one that moved. */
function isUndecidable(platform: WindowPlatform, day: Window): boolean {
  const held = [...platform.held().values()].filter((one) => isInside(one, day));
  return held.some(({ trueMs }) => {
    const together = held.filter((one) => one.trueMs === trueMs);
    return together.length > PAGE_SIZE && together.filter(isNameless).length > 1;
  });
}
