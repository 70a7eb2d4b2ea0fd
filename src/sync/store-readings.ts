/** Stores readings, judges missing entries when all is stored, and counts what it did. */
import type { Kysely } from 'kysely';
import pLimit from 'p-limit';
import type { Window } from '../ledger/entry.ts';
import { createTimesSeen, type FullMinutes } from '../ledger/whole-minutes.ts';
import { lengthMs } from '../ledger/window.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import {
  NOTHING_CHANGED,
  type StoredWindow,
  type WindowReading,
  isAllStored,
  type Compared,
} from '../store/compare-with-stored.ts';
import {
  countNameless,
  judgeReading,
  storeWindow,
  compareWideWithStored,
  storeWide,
} from '../store/windows.ts';
import type { Asked } from './certificate.ts';
import { type NotedReading, spanText } from './certify.ts';
import { holds, plannedIn, type WideWindow, wideOf, apartAt, isIn } from './wide-windows.ts';

/** Most different sentences counted one by one in a report; all others are counted together. */
const NOTICES_MAX = 100;
const MORE_NOTICES = 'further notices';

export interface UncertifiedSpan {
  readonly window: Window;
  /** A sentence with the window and the figures. */
  readonly problem: string;
  /** Entries are missing and held until a person decides. That is reported of the account's days, once for all of them. */
  readonly isHeld?: true;
}

/** What storing readings did. */
export interface StoredReadings extends StoredWindow {
  /** Windows stored, each part of a split one by itself. */
  readonly windows: number;
  readonly entries: number;
  readonly uncertified: readonly UncertifiedSpan[];
  /** Sentences about oddities in replies, each with how often it came. */
  readonly notices: Readonly<Record<string, number>>;
  /** The newest timestamps, if the platform cut their seconds; null if not. */
  readonly fullMinutes: FullMinutes | null;
}

export const NOTHING_STORED: StoredReadings = {
  windows: 0,
  entries: 0,
  uncertified: [],
  ...NOTHING_CHANGED,
  notices: {},
  fullMinutes: null,
};

const FIGURES = ['inserted', 'amended', 'vanished', 'returned', 'quarantined', 'unchanged'] as const;

interface ReadingStoreOptions {
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchantNo: string;
  /** The windows that are read: several of them at once, each completely, or in parts that cover it exactly. */
  readonly planned: readonly Asked[];
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

export interface ReadingStore {
  /**
   * Stores a wide window, a planned one or a part of one; one call waits for the other. Throws what `storeWindow` throws.
   */
  readonly store: (part: Asked, read: NotedReading) => Promise<void>;
  /** To be called when all is read: the windows that are to be read again, as the platform contradicted itself about them. */
  readonly takeAgain: () => readonly WideWindow[];
  /** To be called when no window is to be read again: stores what came back empty, as unproven where that cannot be believed. */
  readonly settleEmpty: () => Promise<void>;
  /** Entries that are stored now, or were before. */
  readonly entries: () => number;
  /** To be called when all is stored: judges the stored entries that no window brought. */
  readonly judgeAbsent: () => Promise<void>;
  /** Notes windows that are not stored because what they show cannot be believed. */
  readonly leave: (spans: readonly UncertifiedSpan[]) => void;
  readonly soFar: () => StoredReadings;
  /** What the platform contradicted itself about between two readings, a sentence each. */
  readonly contradictions: () => readonly string[];
}

/** Adds up what storing readings did. */
function createTally() {
  const stored: { -readonly [Key in keyof StoredReadings]: StoredReadings[Key] } = { ...NOTHING_STORED };
  const notices: Record<string, number> = {};
  const note = (sentence: string): void => {
    const key = sentence in notices || Object.keys(notices).length < NOTICES_MAX ? sentence : MORE_NOTICES;
    notices[key] = (notices[key] ?? 0) + 1;
  };
  const times = createTimesSeen();
  const count = ({ reading, notices: sentences }: NotedReading, windows: number, did: StoredWindow): void => {
    stored.windows += windows;
    stored.entries += reading.entries.length;
    times.add(reading.entries.map(({ bookedAt }) => bookedAt));
    for (const figure of FIGURES) stored[figure] += did[figure];
    for (const sentence of sentences) note(sentence);
  };
  return { stored, notices, times, count };
}

/** How far a planned window is stored. */
interface Progress {
  readonly asked: Asked;
  storedMs: number;
  isCertified: boolean;
  absent: number;
  namelessCount: number;
}

/** The planned windows of which entries are absent; they are judged together. */
function createAbsences({ db, lease, merchantNo, runId, now, planned }: ReadingStoreOptions) {
  const all = planned.map((asked): Progress => ({
    ...{ asked, storedMs: 0, isCertified: true, absent: 0, namelessCount: 0 },
  }));
  return {
    /** Notes a reading of a planned window, or of a part of it. */
    note: (part: Asked, reading: WindowReading, absent: number): void => {
      const read = all.find(({ asked }) => holds(asked, part))!;
      read.storedMs += lengthMs(part.window);
      read.isCertified &&= reading.certified;
      read.absent += absent;
      read.namelessCount += countNameless(reading);
    },
    /** Only of windows that were certified in all their parts something can be absent. */
    judge: async (): Promise<{ readonly vanished: number; readonly spans: readonly UncertifiedSpan[] }> => {
      const missing = all.filter(
        ({ asked, storedMs, isCertified, absent }) =>
          absent > 0 && isCertified && storedMs >= lengthMs(asked.window),
      );
      if (missing.length === 0) return { vanished: 0, spans: [] };
      const judged = await judgeReading(
        db,
        lease,
        missing.map(({ asked: { window, currency }, namelessCount }) => ({
          ...{ merchantNo, planned: window, currency, runId, now: now(), namelessCount },
        })),
      );
      return {
        vanished: judged.reduce((sum, { vanished }) => sum + vanished, 0),
        spans: judged.flatMap(({ doubt, isHeld }, at) =>
          doubt === null
            ? []
            : [{ window: missing[at]!.asked.window, problem: doubt, ...(isHeld && { isHeld }) }],
        ),
      };
    },
  };
}

/** What storing readings leads to. */
interface Outcome {
  readonly tally: ReturnType<typeof createTally>;
  readonly absences: ReturnType<typeof createAbsences>;
  readonly uncertified: UncertifiedSpan[];
}

/** Stores readings of a planned window, or of parts of it. */
function createPartStore(
  { db, lease, merchantNo, runId, now, planned }: ReadingStoreOptions,
  { tally, absences, uncertified }: Outcome,
): (part: Asked, read: NotedReading) => Promise<void> {
  return async (part, read) => {
    const { reading } = read;
    const { window, currency } = planned.find((asked) => holds(asked, part))!;
    const about = { merchantNo, planned: window, currency, runId, now: now() };
    const did = await storeWindow(db, lease, { ...about, window: part.window, reading });
    tally.count(read, 1, did);
    if (reading.problem !== null) uncertified.push({ window: part.window, problem: reading.problem });
    absences.note(part, reading, did.absent);
  };
}

export function createReadingStore(options: ReadingStoreOptions): ReadingStore {
  const { signal } = options;
  const tally = createTally();
  const absences = createAbsences(options);
  const uncertified: UncertifiedSpan[] = [];
  const storePart = createPartStore(options, { tally, absences, uncertified });
  const contradicted = createContradicted();
  const checked = createCheckedStore(options, contradicted, { tally, absences, uncertified });
  const oneAtATime = pLimit(1);

  const store = async (part: Asked, read: NotedReading): Promise<void> => {
    signal.throwIfAborted();
    const own = plannedIn(part, options.planned);
    if (own.length > 1) return checked.storeSeveral(own, read);
    if (contradicted.concerns(part) && !(await checked.isBelieved(part, read))) return;
    await storePart(part, read);
  };

  return {
    store: (part, read) => oneAtATime(() => store(part, read)),
    takeAgain: () => [...checked.takeAgain(), ...contradicted.takeUnsteady()],
    settleEmpty: () =>
      oneAtATime(() => contradicted.settle({ store: storePart, storeDoubted: checked.storeDoubted })),
    entries: () => tally.stored.entries,
    contradictions: contradicted.unsteady,
    judgeAbsent: async () => {
      signal.throwIfAborted();
      const { vanished, spans } = await absences.judge();
      tally.stored.vanished += vanished;
      uncertified.push(...spans);
    },
    leave: (spans) => {
      uncertified.push(...spans);
    },
    soFar: () => ({
      ...tally.stored,
      uncertified: [...uncertified].sort((a, b) => a.window.beginMs - b.window.beginMs),
      notices: { ...tally.notices },
      fullMinutes: tally.times.fullMinutes(),
    }),
  };
}

/** Stores readings of several planned windows, and says of others whether they are to be stored now. */
function createCheckedStore(
  { db, lease, merchantNo, runId, now }: ReadingStoreOptions,
  contradicted: ContradictedReadings,
  { tally, absences, uncertified }: Outcome,
) {
  const again: WideWindow[] = [];

  const storeSeveral = async (own: readonly Asked[], read: NotedReading): Promise<void> => {
    const windows = own.map(({ window }) => window);
    const wide = wideOf(windows, own[0]!.currency);
    const { currency } = wide;
    const toStore = { merchantNo, currency, runId, now: now(), planned: windows, reading: read.reading };
    const checked = await compareWideWithStored(db, toStore);
    const odd = contradicted.oddIn(wide, checked);
    if (odd.length > 0) {
      again.push(...contradicted.reject(wide, checked, odd));
      return;
    }
    contradicted.accept(wide, read);
    const sure = checked.filter(
      (one) => !contradicted.mustWait({ ...wide, window: one.part.window }, one, { read, isAlone: false }),
    );
    const did = await storeWide(db, lease, sure);
    tally.count(read, sure.length, did);
    sure.forEach(({ part: { window, reading } }, at) => {
      absences.note({ window, currency }, reading, did.absent[at]!);
    });
  };

  /**
   * Stores a reading that is not believed as one that was not certified: what came is kept, and the window is on record as
   * unproven, whatever proved it before.
   */
  const storeDoubted = async ({ window, currency }: Asked, read: NotedReading, problem: string) => {
    const reading = { ...read.reading, certified: false, problem };
    const did = await storeWindow(db, lease, { merchantNo, window, currency, runId, now: now(), reading });
    tally.count(read, 1, did);
    uncertified.push({ window, problem });
  };

  /** Whether a reading of a window that the platform contradicted itself about is to be stored now, as it is. */
  const isBelieved = async (part: Asked, read: NotedReading): Promise<boolean> => {
    const problem = contradicted.problemOf(part, read);
    contradicted.accept(part, read);
    if (problem !== null) {
      await storeDoubted(part, read, problem);
      return false;
    }
    const { reading } = read;
    if (reading.entries.length > 0) return true;
    const { window, currency } = part;
    const toStore = { merchantNo, currency, runId, now: now(), planned: [window], reading };
    const [checked] = await compareWideWithStored(db, toStore);
    return !contradicted.mustWait(part, checked!, { read, isAlone: true });
  };

  return { storeSeveral, isBelieved, storeDoubted, takeAgain: () => again.splice(0) };
}

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

interface ContradictedReadings {
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
interface EmptySettled {
  readonly store: (asked: Asked, read: NotedReading) => Promise<void>;
  /** Takes those that are not believed, with the reason in a sentence. */
  readonly storeDoubted: (asked: Asked, read: NotedReading, problem: string) => Promise<void>;
}

function createContradicted(): ContradictedReadings {
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
