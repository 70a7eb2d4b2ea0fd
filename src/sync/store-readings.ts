/** Stores readings, judges missing entries when all is stored, and counts what it did. */
import type { Kysely } from 'kysely';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { createTimesSeen, type FullMinutes } from '../ledger/whole-minutes.ts';
import { covers, lengthMs } from '../ledger/window.ts';
import { certifiedWindows } from '../store/certificates.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { entriesByNumber } from '../store/entries.ts';
import {
  NOTHING_CHANGED,
  type StoredWindow,
  type WindowReading,
  type Compared,
} from '../store/compare-with-stored.ts';
import {
  countNameless,
  judgeReading,
  storeWindow,
  compareWideWithStored,
  storeWide,
  holdStored,
} from '../store/windows.ts';
import type { Asked } from './certificate.ts';
import { createBeliefs } from './beliefs.ts';
import { createDayReadings, cutAtMidnights } from './day-readings.ts';
import type { NotedReading } from './certify.ts';
import type { OwnLedgerOptions } from './ledger-sight.ts';
import { movedAlike, TimestampsMoved } from './moved-alike.ts';
import { createOwnLedger, type OwnLedger } from './own-ledger.ts';
import type { AccountAsked } from './page-source.ts';
import { holds, plannedIn, type WideWindow, wideOf } from './wide-windows.ts';
import pLimit from 'p-limit';

/** Most different sentences counted one by one in a report; all others are counted together. */
const NOTICES_MAX = 100;
const MORE_NOTICES = 'further notices';

export interface UncertifiedSpan {
  readonly window: Window;
  readonly problem: string;
  /** Entries are missing and held until a person decides. That is reported of the account's days, once for all of them. */
  readonly isHeld?: true;
}

export interface StoredReadings extends StoredWindow {
  /** Windows stored, each part of a split one by itself. */
  readonly windows: number;
  readonly entries: number;
  readonly uncertified: readonly UncertifiedSpan[];
  /** Sentences about oddities in replies, each with how often it came. */
  readonly notices: Readonly<Record<string, number>>;
  /** The newest timestamps, if the platform cut their seconds; null if not. */
  readonly fullMinutes: FullMinutes | null;
  /** The accounts that another ledger was answered for. Nothing of it was written. */
  readonly otherLedgers: readonly { readonly currency: string; readonly problem: Error }[];
}

export const NOTHING_STORED: StoredReadings = {
  windows: 0,
  entries: 0,
  uncertified: [],
  ...NOTHING_CHANGED,
  notices: {},
  fullMinutes: null,
  otherLedgers: [],
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
  readonly readOlder: OwnLedgerOptions['readOlder'];
  /** A person answers for the zone: stored entries may come at other times. */
  readonly timeZoneTrusted: boolean;
  readonly zone: string;
}

export interface ReadingStore {
  /** Stores what is believed of a reading; one call waits for the other. Throws what `storeWindow` throws. */
  readonly store: (part: Asked, read: NotedReading) => Promise<void>;
  /** To be called when all is read: the windows that are to be read again, as the platform contradicted itself about them. */
  readonly takeAgain: () => Promise<readonly WideWindow[]>;
  /**
   * To be called when no window is to be read again: stores the rest, and judges the stored entries that no window brought.
   * Throws `AnotherLedgerAnswered` if no reading was of the merchant's own ledger; nothing is stored then.
   */
  readonly finish: () => Promise<void>;
  readonly entries: () => number;
  readonly leave: (spans: readonly UncertifiedSpan[]) => void;
  readonly soFar: () => StoredReadings;
  /** See `createBeliefs`. */
  readonly lesser: ReturnType<typeof createBeliefs>['lesser'];
  /** What the platform contradicted itself about between two readings, a sentence each. */
  readonly contradictions: () => readonly string[];
}

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

interface Progress {
  readonly asked: Asked;
  storedMs: number;
  isCertified: boolean;
  absent: number;
  namelessCount: number;
}

function createAbsences({ db, lease, merchantNo, runId, now, planned }: ReadingStoreOptions) {
  const all = planned.map((asked): Progress => ({
    ...{ asked, storedMs: 0, isCertified: true, absent: 0, namelessCount: 0 },
  }));
  return {
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
        missing.map(({ asked: { window }, namelessCount }) => ({
          ...{ merchantNo, planned: window, currency: null, runId, now: now(), namelessCount },
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

interface Reading {
  readonly asked: WideWindow;
  readonly read: NotedReading;
}

/** Most entries that wait for one that is stored. */
const WAITING_ENTRIES_MAX = 20_000;

const entriesOf = (readings: readonly Reading[]): number =>
  readings.reduce((sum, { read }) => sum + read.reading.entries.length, 0);

interface RecognitionParts {
  readonly ledger: OwnLedger;
  readonly others: ReturnType<typeof createOthers>;
  readonly beliefs: ReturnType<typeof createBeliefs>;
  readonly compare: (one: Reading) => Promise<Compared[]>;
  readonly believe: (one: Reading, known?: readonly Compared[]) => Promise<void>;
}

/** Lets readings wait until one of them is of the merchant's own ledger, and those of an account until it is shown to be its own. */
function createRecognition(
  { planned, signal }: ReadingStoreOptions,
  { ledger, others, beliefs, compare, believe }: RecognitionParts,
) {
  let waiting: Reading[] = [];
  let isSecondRound = false;

  const release = async (): Promise<void> => {
    const isFree = ({ read }: Reading): boolean => ledger.knows(read.reading.entries);
    const free = waiting.filter(isFree);
    waiting = waiting.filter((one) => !free.includes(one));
    for (const one of free) await believe(one);
  };
  const settle = async (): Promise<void> => {
    ledger.settle();
    await release();
  };

  const store = async (part: Asked, read: NotedReading): Promise<void> => {
    signal.throwIfAborted();
    const windows = plannedIn(part, planned).map(({ window }) => window);
    const one = { asked: wideOf(windows), read };
    const { entries } = read.reading;
    if (!ledger.knows(entries) && !(await ledger.mayTell())) await settle();
    if (ledger.knows(entries) || (entries.length === 0 && !(await ledger.holds()))) return believe(one);
    const compared = await compare(one);
    const sight = await ledger.examine(compared);
    if (sight === 'other') await others.see();
    await release();
    if (ledger.knows(entries)) return believe(one, compared);
    // What is odd about several days is read again in parts before anything of it is believed.
    const isOdd = sight === 'other' && compared.some(({ unstored }) => unstored.lacking.length > 0);
    if (isOdd && windows.length > 1 && !isSecondRound) {
      const isKnown = (entry: LedgerEntry): boolean => !ledger.isKnown() || ledger.knows([entry]);
      return believe(
        { ...one, read: onlyOf(read, isKnown) },
        compared.map((its) => onlyComparedOf(its, isKnown)),
      );
    }
    waiting.push(one);
    if (ledger.problem() === null && entriesOf(waiting) > WAITING_ENTRIES_MAX) await settle();
  };

  const takeAgain = async (): Promise<readonly WideWindow[]> => {
    if (ledger.problem() === null) await settle();
    const again = isSecondRound && !ledger.isKnown() ? [] : beliefs.takeAgain();
    const isLast = isSecondRound || again.length === 0;
    isSecondRound = true;
    if (!isLast || !ledger.isKnown() || ledger.isSettled()) return again;
    await settle();
    return [...again, ...beliefs.takeAgain()];
  };

  return { store, takeAgain };
}

type IsKept = (entry: LedgerEntry) => boolean;

/** A reading without the entries that are not believed, as if the platform had not sent them. */
function onlyOf(read: NotedReading, isKept: IsKept): NotedReading {
  const entries = read.reading.entries.filter(isKept);
  const left = read.reading.entries.length - entries.length;
  return left === 0
    ? read
    : { ...read, reading: { ...read.reading, entries, total: Math.max(0, read.reading.total - left) } };
}

const onlyComparedOf = ({ part, unstored }: Compared, isKept: IsKept): Compared => {
  const entries = part.reading.entries.filter(isKept);
  return {
    part: { ...part, reading: { ...part.reading, entries, total: entries.length } },
    unstored: { ...unstored, entries: unstored.entries.filter(isKept) },
  };
};

export function createReadingStore(options: ReadingStoreOptions): ReadingStore {
  const { db, merchantNo, runId, now, planned, signal } = options;
  const tally = createTally();
  const absences = createAbsences(options);
  const uncertified: UncertifiedSpan[] = [];
  const writes = createWrites(options, { tally, absences, uncertified });
  const beliefs = createBeliefs();
  const oneAtATime = pLimit(1);

  const ledger = createOwnLedger(options);
  const others = createOthers(options, { ledger, tally, uncertified });

  const compare = ({ asked, read }: Reading): Promise<Compared[]> => {
    const about = { merchantNo, runId, now: now(), planned: asked.planned };
    return compareWideWithStored(db, { ...about, reading: read.reading });
  };

  const believe = async (given: Reading, before?: readonly Compared[]): Promise<void> => {
    const one = others.without(given);
    const known = one === given ? before : undefined;
    const { asked, read } = one;
    const compared = beliefs.isToCompare(asked, read) ? (known ?? (await compare(one))) : null;
    if (compared !== null) await refuseMoved(options, compared);
    const verdict = beliefs.observe({ asked, read, compared });
    if (verdict.kind === 'store') await writes.store(asked, read);
    if (verdict.kind === 'store parts') await writes.storeParts(verdict.parts, read);
    if (verdict.kind === 'doubt') await writes.storeDoubted(asked, read, verdict.problem);
  };

  const { store, takeAgain } = createRecognition(options, { ledger, others, compare, believe, beliefs });

  const finish = async (): Promise<void> => {
    const another = ledger.isKnown() ? null : ledger.problem();
    if (another !== null) {
      await others.hold(planned);
      throw another;
    }
    for (const { asked, read, problem } of beliefs.rest())
      await (problem === null ? writes.store(asked, read) : writes.storeDoubted(asked, read, problem));
    signal.throwIfAborted();
    const { vanished, spans } = await absences.judge();
    tally.stored.vanished += vanished;
    uncertified.push(...spans);
    await others.leave();
  };

  return {
    store: (part, read) => oneAtATime(() => store(part, read)),
    takeAgain: () => oneAtATime(takeAgain),
    finish: () => oneAtATime(finish),
    entries: () => tally.stored.entries,
    contradictions: beliefs.contradictions,
    lesser: beliefs.lesser,
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

/** The accounts that another ledger was answered for: nothing of them is written, and what is stored of them is held. */
function createOthers(
  { db, lease, merchantNo, runId, now, planned, zone }: ReadingStoreOptions,
  {
    ledger,
    tally,
    uncertified,
  }: {
    readonly ledger: OwnLedger;
    readonly tally: ReturnType<typeof createTally>;
    readonly uncertified: UncertifiedSpan[];
  },
) {
  let provenBefore: Promise<readonly Window[]> | null = null;
  const hold = (asked: readonly AccountAsked[], foreign?: Parameters<typeof holdStored>[3]): Promise<void> =>
    holdStored(
      db,
      lease,
      [...asked, ...ledger.olderLacking()].map(({ window, currency = null }) => ({
        ...{ merchantNo, runId, now: now(), currency, planned: window },
      })),
      foreign,
    );
  return {
    hold,
    /** To be called before anything is stored of days of which another ledger was seen: what was proven before stays so. */
    see: async (): Promise<void> => {
      const beginMs = Math.min(...planned.map(({ window }) => window.beginMs));
      const endMs = Math.max(...planned.map(({ window }) => window.endMs));
      await (provenBefore ??= certifiedWindows(db, merchantNo, { beginMs, endMs }));
    },
    without: (one: Reading): Reading => {
      const read = onlyOf(one.read, ({ currency }) => !ledger.others().has(currency));
      return read === one.read ? one : { ...one, read };
    },
    /** Puts their days on record as unproven, but for those that were proven before. */
    leave: async (): Promise<void> => {
      const proven = (await provenBefore) ?? [];
      for (const [account, { message }] of ledger.others()) {
        const own = planned.map(({ window }) => ({ window, currency: account }));
        const unproven = own.filter(({ window }) => !covers(proven, window));
        const days = unproven.flatMap(({ window }) => cutAtMidnights(window, zone));
        await hold(own, { currency: account, days });
        uncertified.push(...own.map(({ window }) => ({ window, problem: message, isHeld: true as const })));
      }
      tally.stored.otherLedgers = [...ledger.others()].map(([currency, problem]) => ({ currency, problem }));
    },
  };
}

/** Throws `TimestampsMoved`. Asks only where a stored entry is not shown as it is stored. */
async function refuseMoved(
  { db, merchantNo, timeZoneTrusted }: ReadingStoreOptions,
  compared: readonly Compared[],
): Promise<void> {
  if (timeZoneTrusted || !compared.some(({ unstored }) => unstored.isAbsenceOpen)) return;
  const came = compared.flatMap(({ part }) => part.reading.entries);
  const numbers = compared.flatMap(({ unstored }) => unstored.entries.map(({ batchNo }) => batchNo));
  const known = new Map(came.map((entry) => [entry.batchNo, entry]));
  for (const one of numbers) known.delete(one);
  const stored = await entriesByNumber(db, merchantNo, numbers);
  const moved = movedAlike(came, new Map([...known, ...stored]));
  if (moved !== null) throw new TimestampsMoved(merchantNo, moved);
}

function createWrites(
  options: ReadingStoreOptions,
  {
    tally,
    absences,
    uncertified,
  }: {
    readonly tally: ReturnType<typeof createTally>;
    readonly absences: ReturnType<typeof createAbsences>;
    readonly uncertified: UncertifiedSpan[];
  },
) {
  const { db, lease, merchantNo, runId, now, planned, zone } = options;
  const days = createDayReadings(
    planned.map(({ window }) => window),
    zone,
  );
  return {
    store: async (part: Asked, read: NotedReading): Promise<void> => {
      const { reading } = read;
      const { window } = planned.find((asked) => holds(asked, part))!;
      const toStore = { merchantNo, planned: window, window: part.window, reading, runId, now: now() };
      const taken = days.take(part.window, reading);
      const did = await storeWindow(db, lease, toStore, taken, (compared) => refuseMoved(options, compared));
      tally.count(read, 1, did);
      if (reading.problem !== null) uncertified.push({ window: part.window, problem: reading.problem });
      absences.note(part, reading, did.absent);
    },
    storeParts: async (parts: readonly Compared[], read: NotedReading): Promise<void> => {
      const daysRead = parts.flatMap(({ part: { window, reading } }) => days.take(window, reading));
      const did = await storeWide(db, lease, parts, daysRead);
      tally.count(read, parts.length, did);
      parts.forEach(({ part: { window, reading } }, at) => {
        absences.note({ window }, reading, did.absent[at]!);
      });
    },
    /** Keeps what came, and puts the window on record as unproven, whatever proved it before. */
    storeDoubted: async ({ window }: Asked, read: NotedReading, problem: string): Promise<void> => {
      const reading = { ...read.reading, certified: false, problem };
      const toStore = { merchantNo, window, reading, runId, now: now() };
      const did = await storeWindow(db, lease, toStore, days.take(window, reading));
      tally.count(read, 1, did);
      uncertified.push({ window, problem });
    },
  };
}
