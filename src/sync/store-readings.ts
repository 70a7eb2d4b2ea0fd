/** Stores readings, decides on missing entries when all of a planned window is stored, and counts what it did. */
import { createTimesSeen, type WholeMinutes } from '../ledger/whole-minutes.ts';
import type { Kysely } from 'kysely';
import pLimit from 'p-limit';
import type { Window } from '../ledger/entry.ts';
import { lengthMs } from '../ledger/window.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { NOTHING_CHANGED, type StoredWindow } from '../store/window-reading.ts';
import { stillMissed } from '../store/mark-vanished.ts';
import { countNameless, judgePlanned, storeWindow } from '../store/windows.ts';
import type { Asked } from './certificate.ts';
import type { NotedReading } from './certify.ts';
import { createContradicted } from './contradicted.ts';
import { createCheckedStore } from './store-checked.ts';
import { holds, plannedIn, type WideWindow } from './wide-windows.ts';

/** Most different sentences counted one by one in a report; all others are counted together. */
const NOTICES_MAX = 100;
const MORE_NOTICES = 'further notices';

export interface UncertifiedSpan {
  readonly window: Window;
  /** A sentence with the window and the figures. */
  readonly problem: string;
  /** Entries are missing and held until a person decides. That is told of the account's days, once for all of them. */
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
  readonly wholeMinutes: WholeMinutes | null;
}

export const NOTHING_STORED: StoredReadings = {
  windows: 0,
  entries: 0,
  uncertified: [],
  ...NOTHING_CHANGED,
  notices: {},
  wholeMinutes: null,
};

const FIGURES = ['inserted', 'amended', 'vanished', 'returned', 'quarantined', 'unchanged'] as const;

export interface ReadingStoreOptions {
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchantNo: string;
  /** The windows that are read: several of them at once, each whole, or in parts that cover it exactly. */
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
  /** To be called when all is read: drops doubts about entries that one window missed and another one brought. */
  readonly dropDoubts: () => Promise<void>;
  /** Notes windows that are not stored because what they show cannot be believed. */
  readonly leave: (spans: readonly UncertifiedSpan[]) => void;
  readonly soFar: () => StoredReadings;
  /** What the platform contradicted itself about between two readings, a sentence each. */
  readonly contradictions: () => readonly string[];
}

interface Progress {
  readonly asked: Asked;
  storedMs: number;
  isToBeJudged: boolean;
  namelessCount: number;
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

/** Planned windows that are not proven, as entries of them were missed. */
function createDoubts({ db, merchantNo }: Pick<ReadingStoreOptions, 'db' | 'merchantNo'>) {
  let doubts: (UncertifiedSpan & Pick<Asked, 'currency'>)[] = [];
  return {
    add: (asked: Asked, problem: string | null): void => {
      if (problem !== null) doubts.push({ ...asked, problem });
    },
    /** Drops those whose entries came with another window. */
    drop: async (): Promise<void> => {
      const missed = await Promise.all(
        doubts.map(({ window: planned, currency }) => stillMissed(db, merchantNo, { planned, currency })),
      );
      doubts = doubts.flatMap((doubt, index) => {
        if (missed[index] === 'none') return [];
        return [missed[index] === 'held' ? { ...doubt, isHeld: true as const } : doubt];
      });
    },
    soFar: (): UncertifiedSpan[] =>
      doubts.map(({ window, problem, isHeld }) => ({ window, problem, ...(isHeld && { isHeld }) })),
  };
}

/** What storing readings leads to. */
export interface Outcome {
  readonly tally: ReturnType<typeof createTally>;
  readonly doubts: ReturnType<typeof createDoubts>;
  readonly uncertified: UncertifiedSpan[];
}

/** Stores readings of a planned window, or of parts of it, which are judged when all are there. */
function createPartStore(
  options: ReadingStoreOptions,
  { tally, doubts, uncertified }: Outcome,
): (part: Asked, read: NotedReading) => Promise<void> {
  const { db, lease, merchantNo, runId, now } = options;
  const planned = options.planned.map((asked): Progress => ({
    asked,
    storedMs: 0,
    isToBeJudged: false,
    namelessCount: 0,
  }));
  return async (part, read) => {
    const { reading } = read;
    const whole = planned.find(({ asked }) => holds(asked, part))!;
    const { window, currency } = whole.asked;
    const about = { merchantNo, planned: window, currency, runId, now: now() };
    const did = await storeWindow(db, lease, { ...about, window: part.window, reading });
    tally.count(read, 1, did);
    if (reading.problem !== null) uncertified.push({ window: part.window, problem: reading.problem });
    doubts.add(whole.asked, did.doubt);
    whole.storedMs += lengthMs(part.window);
    whole.isToBeJudged ||= did.isToBeJudged;
    whole.namelessCount += countNameless(reading);
    if (!whole.isToBeJudged || whole.storedMs < lengthMs(window)) return;
    const { namelessCount } = whole;
    const judged = await judgePlanned(db, lease, { ...about, namelessCount });
    tally.stored.vanished += judged.vanished;
    doubts.add(whole.asked, judged.doubt);
  };
}

export function createReadingStore(options: ReadingStoreOptions): ReadingStore {
  const { signal } = options;
  const tally = createTally();
  const doubts = createDoubts(options);
  const uncertified: UncertifiedSpan[] = [];
  const storePart = createPartStore(options, { tally, doubts, uncertified });
  const contradicted = createContradicted();
  const checked = createCheckedStore(options, contradicted, { tally, doubts, uncertified });
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
    dropDoubts: doubts.drop,
    leave: (spans) => {
      uncertified.push(...spans);
    },
    soFar: () => ({
      ...tally.stored,
      uncertified: [...uncertified, ...doubts.soFar()].sort((a, b) => a.window.beginMs - b.window.beginMs),
      notices: { ...tally.notices },
      wholeMinutes: tally.times.wholeMinutes(),
    }),
  };
}
