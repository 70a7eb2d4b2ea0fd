/**
 * What is believed of a reading, from all that this pass has seen of the same days. Pure: fed with readings of any width, it
 * says what of each is to be stored. A reading of several days that lacks stored entries proves none of them: its days are
 * read again in smaller windows. What it showed is remembered until then, entry by entry.
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
import { type NotedReading } from './certify.ts';
import { spanText } from './page-source.ts';
import { apartAt, holds, isIn, wideOf, type WideWindow } from './wide-windows.ts';

interface Doubted {
  readonly asked: Asked;
  /** How many entries the first reading had, and how many came with the readings that lacked nothing. */
  readonly total: number;
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

interface Observed {
  readonly asked: WideWindow;
  readonly read: NotedReading;
  readonly compared: readonly Compared[] | null;
}

type Verdict =
  | { readonly kind: 'store' }
  | { readonly kind: 'store parts'; readonly parts: readonly Compared[] }
  | { readonly kind: 'doubt'; readonly problem: string }
  /** It is read again, or stored with the rest at the end. */
  | { readonly kind: 'wait' };

const WAIT: Verdict = { kind: 'wait' };

interface Beliefs {
  /** Whether the reading has to be compared with what is stored before it is observed. */
  readonly isToCompare: (asked: WideWindow, read: NotedReading) => boolean;
  readonly observe: (observed: Observed) => Verdict;
  /** The windows to be read again, as the platform contradicted itself about them. */
  readonly takeAgain: () => WideWindow[];
  /** Once nothing is to be read again: what came back empty, with why it is not believed; null if it is. */
  readonly rest: () => readonly (Pick<Empty, 'asked' | 'read'> & { readonly problem: string | null })[];
  /** Windows that lacked stored entries, and whose parts showed more than the total that was stated for all of them. */
  readonly lesser: () => { readonly asked: Asked; readonly total: number; readonly came: number }[];
  /** Windows of which the platform showed some entries in one reading, and not in the next: a sentence for each. */
  readonly contradictions: () => string[];
}

export function createBeliefs(): Beliefs {
  const all: Doubted[] = [];
  const again: WideWindow[] = [];
  const outerOf = (part: Asked) => all.find(({ asked }) => holds(asked, part));

  const observeSeveral = (wide: WideWindow, read: NotedReading, compared: readonly Compared[]): Verdict => {
    const outer = outerOf(wide);
    const odd = oddIn(outer, wide.window, compared);
    if (odd.length > 0) {
      const doubted = outer ?? beginDoubt(wide, compared);
      if (outer === undefined) all.push(doubted);
      again.push(...reject(doubted, wide, compared, { odd, isFirst: outer === undefined }));
      return WAIT;
    }
    if (outer === undefined) return { kind: 'store parts', parts: compared };
    accept(outer, wide, read);
    const isNone = isEmpty(read.reading);
    const own = (one: Compared): Asked => ({ window: one.part.window });
    const parts = compared.filter((one) => !waits(outer, own(one), one, { isAlone: false, isNone }));
    return { kind: 'store parts', parts };
  };

  const observeOne = (asked: Asked, read: NotedReading, compared: Compared | undefined): Verdict => {
    const outer = outerOf(asked);
    if (outer === undefined) return { kind: 'store' };
    const gone = read.reading.certified ? missingFrom(outer, asked.window, numbersOf(read)) : [];
    accept(outer, asked, read);
    if (gone.length > 0) return { kind: 'doubt', problem: missingText(asked, gone) };
    if (compared === undefined) return { kind: 'store' };
    return waits(outer, asked, compared, { isAlone: true, isNone: isEmpty(read.reading) })
      ? WAIT
      : { kind: 'store' };
  };

  return {
    isToCompare: (asked, { reading }) =>
      asked.planned.length > 1 || (reading.entries.length === 0 && outerOf(asked) !== undefined),
    observe: ({ asked, read, compared }) =>
      asked.planned.length > 1
        ? observeSeveral(asked, read, compared!)
        : observeOne(asked, read, compared?.[0]),
    takeAgain: () => [...again.splice(0), ...all.flatMap(takeDoubted)],
    rest: () =>
      all.flatMap((one) =>
        one.empty.map((empty) => ({
          ...{ asked: empty.asked, read: empty.read },
          problem: isDoubted(one, empty) ? unsteadyText(empty.asked, one) : null,
        })),
      ),
    lesser: () => all.filter(({ total, came, isUnsteady }) => isUnsteady && total > 0 && came > total),
    contradictions: () =>
      all
        .filter(({ isUnsteady, wasNoneWrong }) => isUnsteady || wasNoneWrong)
        .map(({ asked }) => `${spanText(asked)} lacked entries in one reading that another one showed`),
  };
}

const beginDoubt = (asked: Asked, compared: readonly Compared[]): Doubted => ({
  asked,
  total: compared.reduce((sum, { part }) => sum + part.reading.entries.length, 0),
  came: 0,
  shown: new Map(),
  lacked: new Set(),
  lackedByNone: new Set(),
  isUnsteady: false,
  wasNoneWrong: false,
  empty: [],
});

/** The planned windows in which a reading of several lacks what is stored, or what was shown before. */
function oddIn(outer: Doubted | undefined, window: Window, compared: readonly Compared[]): Window[] {
  const came = compared.flatMap(({ part }) => part.reading.entries.map(numberOf));
  const missingMs = outer === undefined ? [] : missingFrom(outer, window, came).map(([, ms]) => ms);
  return compared
    .filter(
      ({ part, unstored }) => unstored.lacking.length > 0 || missingMs.some((ms) => isIn(part.window, ms)),
    )
    .map(({ part }) => part.window);
}

/**
 * Remembers a reading that is not stored. Returns the smaller windows to be read in its place; once the window itself, if
 * the reading had no entry at all.
 */
function reject(
  outer: Doubted,
  wide: WideWindow,
  compared: readonly Compared[],
  { odd, isFirst }: { readonly odd: readonly Window[]; readonly isFirst: boolean },
): WideWindow[] {
  const entries = compared.flatMap(({ part }) => part.reading.entries);
  noteSteadiness(outer, wide.window, entries.map(numberOf));
  for (const { batchNo, bookedMs } of entries) outer.shown.set(batchNo, bookedMs);
  const lacked = entries.length === 0 ? outer.lackedByNone : outer.lacked;
  for (const { unstored } of compared) for (const batchNo of unstored.lacking) lacked.add(batchNo);
  return isFirst && entries.length === 0 ? [wide] : apartAt(wide, odd, { isFirst });
}

function accept(outer: Doubted, asked: Asked, read: NotedReading): void {
  const numbers = numbersOf(read);
  noteSteadiness(outer, asked.window, numbers);
  outer.came += read.reading.entries.length;
  for (const batchNo of numbers) outer.shown.delete(batchNo);
}

/** Whether the reading is empty and tells something new: then it is kept until the end. */
function waits(
  outer: Doubted,
  asked: Asked,
  { part: { reading }, unstored }: Compared,
  how: Pick<Empty, 'isAlone' | 'isNone'>,
): boolean {
  if (!isEmpty(reading) || isAllStored(unstored)) return false;
  outer.empty.push({ asked, read: { reading, notices: [], outOfScope: [] }, ...how });
  return true;
}

const isDoubted = ({ isUnsteady, wasNoneWrong }: Doubted, { isNone }: Empty): boolean =>
  isUnsteady || (wasNoneWrong && isNone);

function takeDoubted(one: Doubted): WideWindow[] {
  const again = one.empty.filter((empty) => !empty.isAlone && isDoubted(one, empty));
  one.empty = one.empty.filter((empty) => !again.includes(empty));
  return again.map(({ asked: { window } }) => wideOf([window]));
}

function missingFrom(
  { shown }: Doubted,
  window: Window,
  came: readonly string[],
): [batchNo: string, bookedMs: number][] {
  const numbers = new Set(came);
  return [...shown].filter(([batchNo, ms]) => isIn(window, ms) && !numbers.has(batchNo));
}

function noteSteadiness(outer: Doubted, window: Window, came: readonly string[]): void {
  outer.isUnsteady ||=
    came.some((batchNo) => outer.lacked.has(batchNo)) || missingFrom(outer, window, came).length > 0;
  outer.wasNoneWrong ||= came.some((batchNo) => outer.lackedByNone.has(batchNo));
}

const numberOf = ({ batchNo }: { readonly batchNo: string }): string => batchNo;

const numbersOf = ({ reading: { entries, unreadable } }: NotedReading): string[] =>
  [...entries, ...unreadable].flatMap(({ batchNo }) => batchNo ?? []);

export const isEmpty = ({ entries, unreadable }: NotedReading['reading']): boolean =>
  entries.length + unreadable.length === 0;

const missingText = (asked: Asked, gone: readonly [string, number][]): string =>
  `${spanText(asked)} came without ${gone.length} entr${gone.length === 1 ? 'y' : 'ies'} that the platform showed shortly ` +
  `before, such as ${gone[0]![0]}: it is read again in the next run`;

const unsteadyText = (part: Asked, { asked, total, came }: Doubted): string =>
  `${spanText(part)} came back empty, and the platform is not steady about it: of ${spanText(asked)} it showed ${total} ` +
  `entries at first, and ${came} when that was asked for in parts`;
