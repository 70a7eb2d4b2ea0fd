/** Brings one merchant's windows into the store; begins anew with what a pass finds out about the platform's clocks. */
import { isClockOff, storeClockOff } from '../store/installation.ts';
import {
  CLOCK_STEPS_MAX,
  createPlatformClock,
  PlatformClockUnsteady,
  holdBack,
  type PlatformClock,
} from './clocks.ts';
import {
  NOTHING_SYNCED,
  PlatformBehind,
  ReadAnew,
  withEarlier,
  type SyncReport,
  ClockOff,
} from './sync-report.ts';
import {
  createZoneGate,
  type MerchantZoneGate,
  type ZoneGate,
  createSecondsCheck,
  leftWithoutProof,
  type SecondsCheck,
  type Waiting,
} from './zone-gate.ts';
import { type Trace, UNTRACED } from '../host/trace.ts';
import type { Window, LedgerEntry } from '../ledger/entry.ts';
import type { LedgerPage, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { type Lease, LeaseLost } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { type ReadLimits, READ_LIMITS } from './limits.ts';
import { splitAtTransitions } from '../ledger/business-day.ts';
import { isPlatformError } from '../platform/errors.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { seenWindows } from '../store/certificates.ts';
import { entryNear } from '../store/entries.ts';
import { isDatabaseTrouble } from '../store/engine/errors.ts';
import { isEmpty } from './beliefs.ts';
import type { Asked } from './certificate.ts';
import { capText } from './caps.ts';
import { MAY_BE_CUT_MS, type NotedReading } from './certify.ts';
import { type AccountAsked, isRefusal, pageQuery } from './page-source.ts';
import { createPassReader, settledByMs, type PassReader } from './pass-reader.ts';
import { readWindows, type ReadWindowsOptions } from './read-windows.ts';
import { createReadingWork, type ReadingWork } from './reading-work.ts';
import { createReadingStore, type ReadingStore } from './store-readings.ts';
import { TimeZoneWrong } from './time-zone-proof.ts';
import { lengthMs } from '../ledger/window.ts';
import { asZoneChange } from './zone-changed.ts';
import { fullSeconds, plannedIn, SEEN_MS_BEFORE, widen, wideOf, type WideWindow } from './wide-windows.ts';
import type { Kysely } from 'kysely';

/**
 * Reads and stores the windows. What is the merchant's own trouble ends in `failure`: the platform fails, no entry
 * proves the zone (`TimeZoneUnproven`; nothing was written under that offset), a token cannot be read, a fault. An
 * aborted signal ends in `interrupted`. Throws what concerns every merchant: `TimeZoneWrong` where nothing ever proved the
 * zone, `LeaseLost`, a database in trouble.
 */
export async function syncMerchant(options: SyncOptions): Promise<SyncReport> {
  const { db, lease, now } = options;
  const runGate = options.zoneGate ?? ownZoneGate(options);
  const zoneGate = runGate.ofMerchant(options.merchant.merchantNo);
  await zoneGate.learn(() => isClockOff(db));
  const platformClock = createPlatformClock();
  const limits = { ...READ_LIMITS, ...options.limits };
  const work = createReadingWork(options.windows.length, limits);
  const shared = { zoneGate, platformClock, work, isZoneProvenByAny: runGate.isProvenByAny };
  let before = NOTHING_SYNCED;
  let clockSteps = 0;
  for (;;) {
    try {
      return withEarlier(before, await readAndStore(options, shared));
    } catch (error) {
      if (!(error instanceof ReadAnew)) throw error;
      before = withEarlier(before, error.soFar);
      if (error instanceof PlatformBehind) {
        clockSteps += 1;
        if (clockSteps <= CLOCK_STEPS_MAX) continue;
        return { ...before, failure: new PlatformClockUnsteady(platformClock.behindMs()) };
      }
      // Now that it is known, every window of this run and of later ones is asked for with slack: this happens once.
      await storeClockOff(db, lease, zoneGate.clockOff() ?? '', now());
    }
  }
}

const ownZoneGate = ({ zone, clockToleranceS, timeZoneTrusted }: SyncOptions) =>
  createZoneGate(zone, {
    ...(clockToleranceS === undefined ? {} : { clockToleranceS }),
    ...(timeZoneTrusted === undefined ? {} : { isTrusted: timeZoneTrusted }),
  });

export interface SyncProgress {
  readonly merchantNo: string;
  readonly windowsDone: number;
  readonly windowsPlanned: number;
  readonly entries: number;
  readonly requests: number;
}

export interface SyncOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchant: MerchantAccess;
  /** They are widened to full seconds, and cut where the zone's clock changes. */
  readonly windows: readonly Window[];
  readonly zone: string;
  /** Nothing younger than this by the platform's own clock is read. 0 if left out. */
  readonly settleDelayMs?: number;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: SyncProgress) => void;
  readonly onSplit?: () => void;
  readonly trace?: Trace;
  readonly limits?: Partial<ReadLimits>;
  /** How far timestamps may differ from the times the platform filters by. Used if there is no `zoneGate`. */
  readonly clockToleranceS?: number;
  /** A person answers for the zone. Used if there is no `zoneGate`. */
  readonly timeZoneTrusted?: boolean;
  /** The zone is proven by the newest entry before anything is written, instead of by the entry that comes first. */
  readonly provesNewest?: boolean;
  /** Shared by the merchants of a run: what it knows of the platform's clock, not the proofs. Left out: the merchant gets its own. */
  readonly zoneGate?: ZoneGate;
}

/** What the passes of one reading share. */
interface Shared {
  readonly zoneGate: MerchantZoneGate;
  readonly isZoneProvenByAny: () => boolean;
  readonly platformClock: PlatformClock;
  readonly work: ReadingWork;
}

interface Pass extends Shared {
  readonly options: SyncOptions;
  readonly planned: readonly Asked[];
  readonly wide: readonly WideWindow[];
  readonly heldBack: readonly Window[];
  /** How much wider windows are asked for in this pass. */
  readonly clockSkewMs: number;
  readonly contradictions: string[];
  readonly source: PassReader;
  readonly checkSeconds: SecondsCheck;
  readonly readings: ReadingStore;
  /** Windows that showed fewer entries than their parts and were asked about. */
  readonly lesserNamed: Set<Asked>;
  /** Empty readings until the zone is proven; null from then on. */
  waiting: Waiting[] | null;
  windowsDone: number;
}

/**
 * Reads and stores all windows once. What is the merchant's own trouble ends in the report: see `syncMerchant`. Throws
 * `ReadAnew` if one of the clocks turns out to be off, and what `syncMerchant` throws.
 */
async function readAndStore(given: SyncOptions, shared: Shared): Promise<SyncReport> {
  const pass = await beginPass(given, shared);
  try {
    await readAll(pass);
    return reportOf(pass);
  } catch (error) {
    return reportFailed(pass, error);
  }
}

async function beginPass(options: SyncOptions, shared: Shared): Promise<Pass> {
  const { zoneGate, platformClock } = shared;
  const { db, merchant } = options;
  const { merchantNo } = merchant;
  const { settled, heldBack } = settledOf(options, platformClock.behindMs());
  const planned = plannedOf(settled, options);
  const wide = await joined(planned, options);
  const clockSkewMs = zoneGate.clockSkewMs();
  const source = createPassReader({ ...options, asked: wide, platformClock, clockSkewMs });
  return {
    ...shared,
    ...{ options, planned, wide, heldBack, clockSkewMs, source },
    checkSeconds: createSecondsCheck({
      ...{ db, merchantNo, probe: source.probe },
      clockSkewMs: zoneGate.clockSkewMs,
    }),
    readings: createReadingStore({
      ...{ ...options, merchantNo, planned, timeZoneTrusted: zoneGate.isTrusted },
      readOlder: readOlder(options, source),
    }),
    ...{ contradictions: [], lesserNamed: new Set(), waiting: [], windowsDone: 0 },
  };
}

/** Of stored days that are not read in this pass. */
const readOlder =
  ({ merchant, signal }: SyncOptions, { reader }: PassReader) =>
  async (asked: AccountAsked): Promise<LedgerPage | null> => {
    try {
      return await reader.page(pageQuery(merchant, asked, 1), signal);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return null;
    }
  };

async function readAll(pass: Pass): Promise<void> {
  const { options, wide, source, readings } = pass;
  // Windows are read meanwhile, but nothing is taken before this resolves.
  const proven = options.provesNewest === true ? proveByNewest(pass) : Promise.resolve();
  proven.catch(() => undefined);
  const onWindowDone = (): void => {
    pass.windowsDone += 1;
    reportProgress(pass);
  };
  await readOnce(pass, { asked: wide, reader: source.firstReader, proven, onWindowDone });
  await proven;
  await settleWaiting(pass, true);
  // What lacks stored entries may lack others as well. Smaller windows show whose they are.
  // So may a window that was proven with a total which another one, or the parts of a longer one, then showed to be a cap.
  const again = async (): Promise<WideWindow[]> => {
    const found = [...(await readings.takeAgain()), ...provenAtCap(pass)];
    if (found.length > 0) return found;
    await nameCaps(pass);
    return provenAtCap(pass);
  };
  for (let asked = await again(); asked.length > 0; asked = await again())
    await readOnce(pass, { asked, reader: source.reader, proven, onWindowDone: () => undefined });
  await readings.finish();
}

/** By their planned windows, so that each day is proven by itself. */
const provenAtCap = ({ work, planned }: Pass): WideWindow[] =>
  work.takeProvenAtCap().map((asked) => wideOf(plannedIn(asked, planned).map(({ window }) => window)));

/** A cap hides more entries than one wrong total or an entry at the edge of a window accounts for. */
const HIDDEN_FACTOR_MIN = 1.05;

/** A window that showed fewer entries than its parts, and states the same total again, is one that the platform caps. */
async function nameCaps({ options, readings, source, work, lesserNamed }: Pass): Promise<void> {
  const { merchant, signal } = options;
  for (const { asked, total, came } of readings.lesser()) {
    if (lengthMs(asked.window) > MAY_BE_CUT_MS || came < HIDDEN_FACTOR_MIN * total) continue;
    if (lesserNamed.has(asked)) continue;
    lesserNamed.add(asked);
    const again = await source.reader.page(pageQuery(merchant, asked, 1), signal);
    if (again.total !== total) continue;
    work.noteCap(capText(asked, total, came));
    work.noteCapped(total, asked);
  }
}

const readOnce = (
  pass: Pass,
  once: Pick<ReadWindowsOptions, 'asked' | 'reader' | 'onWindowDone'> & { readonly proven: Promise<void> },
): Promise<void> => {
  const { db, merchant, limits, signal, trace, onSplit } = pass.options;
  return readWindows({
    ...once,
    work: pass.work,
    storedNear: (window) => entryNear(db, merchant.merchantNo, window),
    ...{ trace, onSplit, merchant, signal },
    onContradiction: (problem) => pass.contradictions.push(problem),
    limits: { ...limits, clockSkewMsMax: pass.clockSkewMs },
    onFirstPage: async (page, { window }) => {
      await once.proven;
      await checkZone(pass, page.entries, window);
    },
    onReading: (part, read) => take(pass, part, read),
  });
};

/** Stores a reading, or lets it wait if it is empty and the zone is not proven. */
async function take(pass: Pass, part: Asked, read: NotedReading): Promise<void> {
  const came = [...read.reading.entries, ...read.outOfScope];
  if (came.length > 0) {
    await checkZone(pass, came, part.window);
    await release(pass);
  }
  if (pass.waiting !== null && isEmpty(read.reading)) pass.waiting.push({ part, read });
  else await store(pass, { part, read });
}

async function store(pass: Pass, { part, read }: Waiting): Promise<void> {
  const { trace = UNTRACED } = pass.options;
  await trace('transaction', {}, () => pass.readings.store(part, read));
  reportProgress(pass);
}

async function release(pass: Pass): Promise<void> {
  const held = pass.waiting ?? [];
  pass.waiting = null;
  await Promise.all(held.map((one) => store(pass, one)));
}

/** To be called at the end: stores what waits, but for windows of which a wrong zone may be why they came back empty. */
async function settleWaiting(pass: Pass, mayAsk: boolean): Promise<void> {
  const { options, zoneGate, source, planned, readings } = pass;
  const held = (pass.waiting ?? []).flatMap(({ part, read }) =>
    plannedIn(part, planned).map((own): Waiting => ({ part: own, read })),
  );
  const by = { db: options.db, merchantNo: options.merchant.merchantNo, zoneGate, probe: source.probe };
  const { left, spans } = await leftWithoutProof(by, held, mayAsk);
  if (left.length > 0) pass.waiting = held.filter((one) => !left.includes(one));
  await release(pass);
  readings.leave(spans);
}

/**
 * The report of a pass that failed, if the failure is the merchant's own. Throws the error if it concerns everybody.
 */
async function reportFailed(pass: Pass, error: unknown): Promise<SyncReport> {
  const { signal } = pass.options;
  if (error instanceof ReadAnew) {
    error.soFar = reportOf(pass);
    throw error;
  }
  const isLeaseLost = error instanceof LeaseLost;
  if (signal.aborted && error === signal.reason && !isLeaseLost) return reportOf(pass, { interrupted: true });
  if (isLeaseLost || isDatabaseTrouble(error)) throw error;
  if (error instanceof TimeZoneWrong) {
    const { db, merchant } = pass.options;
    const isProvenByAny = pass.isZoneProvenByAny();
    const changed = await asZoneChange(error, { db, merchantNo: merchant.merchantNo, isProvenByAny });
    if (changed === null) throw error;
    return reportOf(pass, { failure: changed });
  }
  if (isPlatformError(error)) await settleWaiting(pass, false);
  return reportOf(pass, { failure: error instanceof Error ? error : new Error(String(error)) });
}

const reportOf = (
  { readings, source, contradictions, platformClock, heldBack, work }: Pass,
  end: Partial<SyncReport> = {},
): SyncReport => {
  const contradicted = [...contradictions, ...readings.contradictions()];
  return {
    ...NOTHING_SYNCED,
    ...readings.soFar(),
    requests: source.calls(),
    contradictions: contradicted.length,
    contradiction: contradicted[0] ?? null,
    caps: work.caps(),
    platformBehindMs: platformClock.behindMs(),
    platformAheadMs: platformClock.aheadMs(),
    heldBack,
    ...end,
  };
};

const reportProgress = ({ options, source, windowsDone, planned, readings }: Pass): void =>
  options.onProgress?.({
    merchantNo: options.merchant.merchantNo,
    windowsDone,
    windowsPlanned: planned.length,
    entries: readings.entries(),
    requests: source.calls(),
  });

async function proveByNewest(pass: Pass): Promise<void> {
  const { source, zoneGate } = pass;
  const found = await source.newest();
  if (found === null) return;
  await proveZone(pass, found.entries, () => zoneGate.prove(source.probe, found.entries));
  await release(pass);
}

const checkZone = (pass: Pass, entries: readonly LedgerEntry[], window: Window): Promise<void> =>
  proveZone(pass, entries, () => pass.zoneGate.check(pass.source.probe, entries, window));

/** Throws `ClockOff` if it turned out during this pass that windows have to be asked for with slack. */
async function proveZone(
  { options, checkSeconds, zoneGate, clockSkewMs }: Pass,
  entries: readonly LedgerEntry[],
  prove: () => Promise<void>,
): Promise<void> {
  await (options.timeZoneTrusted === true ? prove() : checkSeconds(entries, prove));
  if (zoneGate.clockSkewMs() !== clockSkewMs) throw new ClockOff();
}

const settledOf = (given: SyncOptions, behindMs: number): ReturnType<typeof holdBack> =>
  behindMs === 0
    ? { settled: given.windows, heldBack: [] }
    : holdBack(given.windows.map(fullSeconds), settledByMs(given, behindMs));

/** The windows, cut where a wall-clock time would mean two instants. */
const plannedOf = (windows: readonly Window[], { zone }: Pick<SyncOptions, 'zone'>): Asked[] =>
  windows
    .flatMap((window) => splitAtTransitions(fullSeconds(window), zone))
    .map((window): Asked => ({ window }));

async function joined(
  planned: readonly Asked[],
  { db, merchant, zone, limits }: Pick<SyncOptions, 'db' | 'merchant' | 'zone' | 'limits'>,
): Promise<WideWindow[]> {
  if (planned.length === 0) return [];
  const { widePages, partFill } = { ...READ_LIMITS, ...limits };
  const entriesMax = widePages * partFill * PAGE_SIZE_MAX;
  const beginMs = Math.min(...planned.map(({ window }) => window.beginMs)) - SEEN_MS_BEFORE;
  const endMs = Math.max(...planned.map(({ window }) => window.endMs));
  const seen = await seenWindows(db, merchant.merchantNo, { beginMs, endMs });
  return widen(planned, { seen, zone, entriesMax });
}
