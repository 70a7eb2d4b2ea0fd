/**
 * What the platform contradicted itself about. A reading of several days that lacks stored entries proves none of them: its
 * days are read again in smaller windows. What it showed is remembered until then, entry by entry.
 *
 * - A day that lacks what was shown a moment before is not proven by that, nor by an earlier run any more, until the next
 *   run reads it.
 * - If entries that were lacking are there after all, the platform is not steady about these days. Then a day that came back
 *   empty is asked for by itself, and if it is empty again, it is not believed before the next run. If the reading that
 *   lacked them had none at all, only such readings are doubted.
 */
import type { Window } from '../ledger/entry.ts';
import { isAllStored, type Compared } from '../store/compare-with-stored.ts';
import type { Asked } from './certificate.ts';
import { spanText, type NotedReading } from './certify.ts';
import { apartAt, holds, isIn, wideOf, type WideWindow } from './wide-windows.ts';

interface Contradicted {
  readonly asked: Asked;
  /** How many entries the first reading had. */
  readonly total: number;
  /** How many came with the readings that lacked nothing. */
  came: number;
  /** Entries that came with readings that were not stored, and with none since: their times in ms by batchNo. */
  readonly shown: Map<string, number>;
  /** Stored entries that such readings lacked though they had others. */
  readonly lacked: Set<string>;
  /** Stored entries that such a reading lacked, which had none at all. */
  readonly lackedByNone: Set<string>;
  /** The platform shows some entries in one reading, and not in the next one. */
  isUnsteady: boolean;
  /** A reading without any entry was wrong. */
  wasNoneWrong: boolean;
  empty: Empty[];
}

interface Empty {
  readonly asked: Asked;
  readonly read: NotedReading;
  /** Whether it was asked for by itself. */
  readonly isAlone: boolean;
  /** Whether the reading had no entry at all, of whatever day. */
  readonly isNone: boolean;
}

export interface ContradictedReadings {
  /** The planned windows in which a reading of several lacks what is stored, or what was shown before. */
  readonly oddIn: (wide: Asked, checked: readonly Compared[]) => readonly Window[];
  /**
   * Remembers a reading that is not stored. Returns the smaller windows to be read in its place; once the window itself, if
   * the reading had no entry at all.
   */
  readonly reject: (wide: WideWindow, checked: readonly Compared[], odd: readonly Window[]) => WideWindow[];
  /** Whether the window lies in one that was read again. */
  readonly concerns: (asked: Asked) => boolean;
  /** Why a reading of one window cannot be believed, in a sentence; null if it can. */
  readonly problemOf: (asked: Asked, read: NotedReading) => string | null;
  /** To be called with each reading that was not rejected. */
  readonly accept: (asked: Asked, read: NotedReading) => void;
  /** Whether the reading is empty and tells something new. It waits for `takeUnsteady` and `settle` then. */
  readonly mustWait: (
    asked: Asked,
    checked: Compared,
    from: { readonly read: NotedReading } & Pick<Empty, 'isAlone'>,
  ) => boolean;
  /** Windows that came back empty together with others, and of which the platform is not steady: each is to be asked for alone. */
  readonly takeUnsteady: () => WideWindow[];
  /** Windows of which the platform showed some entries in one reading, and not in the next: a sentence for each. */
  readonly unsteady: () => string[];
  /** To be called when all is read: hands over what came back empty. */
  readonly settle: (to: EmptySettled) => Promise<void>;
}

/** Where empty readings go at the end. */
export interface EmptySettled {
  readonly store: (asked: Asked, read: NotedReading) => Promise<void>;
  /** Takes those that are not believed, with the reason in a sentence. */
  readonly storeDoubted: (asked: Asked, read: NotedReading, problem: string) => Promise<void>;
}

export function createContradicted(): ContradictedReadings {
  const all: Contradicted[] = [];
  const outerOf = (part: Asked) => all.find(({ asked }) => holds(asked, part));
  const begin = (asked: Asked, total: number): Contradicted => {
    const begun = {
      asked,
      total,
      came: 0,
      shown: new Map(),
      lacked: new Set<string>(),
      lackedByNone: new Set<string>(),
      isUnsteady: false,
      wasNoneWrong: false,
      empty: [],
    };
    all.push(begun);
    return begun;
  };
  return {
    oddIn: (wide, checked) => {
      const came = checked.flatMap(({ part }) => part.reading.entries.map(numberOf));
      const missingMs = missingFrom(outerOf(wide), wide.window, came).map(([, bookedMs]) => bookedMs);
      return checked
        .filter(
          ({ part: { window }, unstored }) =>
            unstored.lacking.length > 0 || missingMs.some((ms) => isIn(window, ms)),
        )
        .map(({ part }) => part.window);
    },
    reject: (wide, checked, odd) => {
      const entries = checked.flatMap(({ part }) => part.reading.entries);
      const before = outerOf(wide);
      const outer = before ?? begin(wide, entries.length);
      noteSteadiness(outer, wide.window, entries.map(numberOf));
      for (const { batchNo, bookedMs } of entries) outer.shown.set(batchNo, bookedMs);
      const lacked = entries.length === 0 ? outer.lackedByNone : outer.lacked;
      for (const { unstored } of checked) for (const batchNo of unstored.lacking) lacked.add(batchNo);
      if (before === undefined && entries.length === 0) return [wide];
      return apartAt(wide, odd, { isFirst: before === undefined });
    },
    concerns: (asked) => outerOf(asked) !== undefined,
    problemOf: (asked, read) => {
      const gone = read.reading.certified ? missingFrom(outerOf(asked), asked.window, numbersOf(read)) : [];
      return gone.length === 0 ? null : missingText(asked, gone);
    },
    accept: (asked, read) => {
      const outer = outerOf(asked);
      if (outer === undefined) return;
      const numbers = numbersOf(read);
      noteSteadiness(outer, asked.window, numbers);
      outer.came += read.reading.entries.length;
      for (const batchNo of numbers) outer.shown.delete(batchNo);
    },
    mustWait: (asked, { part: { reading }, unstored }, { read, isAlone }) => {
      const outer = isEmpty(reading) && !isAllStored(unstored) ? outerOf(asked) : undefined;
      const isNone = isEmpty(read.reading);
      outer?.empty.push({ asked, read: { reading, notices: [], outOfScope: [] }, isAlone, isNone });
      return outer !== undefined;
    },
    takeUnsteady: () => all.flatMap(takeDoubted),
    unsteady: () =>
      all
        .filter(({ isUnsteady, wasNoneWrong }) => isUnsteady || wasNoneWrong)
        .map(({ asked }) => `${spanText(asked)} lacked entries in one reading that another one showed`),
    settle: (to) => settle(all, to),
  };
}

const isDoubted = ({ isUnsteady, wasNoneWrong }: Contradicted, { isNone }: Empty): boolean =>
  isUnsteady || (wasNoneWrong && isNone);

/** Takes out what came back empty together with other windows and is doubted, each as a window to be asked for. */
function takeDoubted(one: Contradicted): WideWindow[] {
  const again = one.empty.filter((empty) => !empty.isAlone && isDoubted(one, empty));
  one.empty = one.empty.filter((empty) => !again.includes(empty));
  return again.map(({ asked: { window, currency } }) => wideOf([window], currency));
}

async function settle(all: readonly Contradicted[], { store, storeDoubted }: EmptySettled): Promise<void> {
  for (const one of all) {
    for (const empty of one.empty) {
      const { asked, read } = empty;
      if (isDoubted(one, empty)) await storeDoubted(asked, read, unsteadyText(asked, one));
      else await store(asked, read);
    }
  }
}

/** What was shown of the window before, and did not come now. */
const missingFrom = (
  outer: Contradicted | undefined,
  window: Window,
  came: readonly string[],
): [batchNo: string, bookedMs: number][] => {
  const numbers = new Set(came);
  return [...(outer?.shown ?? [])].filter(([batchNo, ms]) => isIn(window, ms) && !numbers.has(batchNo));
};

/** Notes whether a reading of the window brings what was lacking, or lacks what was shown. */
function noteSteadiness(outer: Contradicted, window: Window, came: readonly string[]): void {
  outer.isUnsteady ||=
    came.some((batchNo) => outer.lacked.has(batchNo)) || missingFrom(outer, window, came).length > 0;
  outer.wasNoneWrong ||= came.some((batchNo) => outer.lackedByNone.has(batchNo));
}

const numberOf = ({ batchNo }: { readonly batchNo: string }): string => batchNo;

const numbersOf = ({ reading: { entries, unreadable } }: NotedReading): string[] =>
  [...entries, ...unreadable].flatMap(({ batchNo }) => batchNo ?? []);

const isEmpty = ({ entries, unreadable }: NotedReading['reading']): boolean =>
  entries.length + unreadable.length === 0;

const missingText = (asked: Asked, gone: readonly [string, number][]): string =>
  `${spanText(asked)} came without ${gone.length} entr${gone.length === 1 ? 'y' : 'ies'} that the platform showed shortly ` +
  `before, such as ${gone[0]![0]}: it is read again in the next run`;

const unsteadyText = (part: Asked, { asked, total, came }: Contradicted): string =>
  `${spanText(part)} came back empty, and the platform is not steady about it: of ${spanText(asked)} it showed ${total} ` +
  `entries at first, and ${came} when that was asked for in parts`;
