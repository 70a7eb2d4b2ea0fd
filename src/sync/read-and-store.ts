/** One pass over a merchant's windows: reads them, waits for the zone's proof, stores each completely. */
import { splitAtTransitions } from '../ledger/business-day.ts';
import { UNTRACED } from '../host/trace.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerReader } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { isDatabaseTrouble } from '../store/engine/errors.ts';
import { LeaseLost } from '../store/engine/lease.ts';
import { seenWindows } from '../store/certificates.ts';
import { wideReader, holdBack, type PlatformClock } from './clocks.ts';
import { createCutSeconds, type CutSeconds, type ZoneGate } from './zone-gate.ts';
import { READ_LIMITS } from './limits.ts';
import { createNewestPage, type NewestPage, settledByMs, clockCheckedReader } from './newest-page.ts';
import { readWindows, type ReadWindowsOptions } from './read-windows.ts';
import { createReadingStore, type ReadingStore } from './store-readings.ts';
import type { SyncOptions } from './sync.ts';
import { ClockOff, NOTHING_SYNCED, ReadAnew, type SyncReport } from './sync-report.ts';
import { SEEN_MS_BEFORE, widen, type WideWindow, fullSeconds } from './wide-windows.ts';
import type { Asked } from './certificate.ts';
import { createEmptyWindows, type EmptyWindows } from './empty-windows.ts';
import { TimeZoneWrong, type Probe } from './time-zone-proof.ts';

/** The clocks, as far as they are known. They outlive a pass. */
export interface Clocks {
  readonly zoneGate: ZoneGate;
  readonly platformClock: PlatformClock;
}

/** A pass on its way. */
interface Pass extends Clocks {
  /** `reader` counts its calls and watches the platform's clock. */
  readonly options: SyncOptions;
  readonly planned: readonly Asked[];
  /** The planned windows, joined to wide ones. */
  readonly wide: readonly WideWindow[];
  /** What is too young by the platform's clock, and not read. */
  readonly heldBack: readonly Window[];
  /** How much wider windows are asked for in this pass. */
  readonly clockSkewMs: number;
  readonly counts: { calls: number; windowsDone: number };
  /** What replies of one reading contradicted each other about, a sentence each. */
  readonly contradictions: string[];
  readonly probe: Probe;
  readonly cutSeconds: CutSeconds;
  readonly readings: ReadingStore;
  readonly empty: EmptyWindows;
}

/**
 * Reads and stores all windows once. What is the merchant's own trouble ends in the report: see `syncMerchant`. Throws
 * `ReadAnew` if one of the clocks turns out to be off, and what `syncMerchant` throws.
 */
export async function readAndStore(given: SyncOptions, clocks: Clocks): Promise<SyncReport> {
  const pass = await beginPass(given, clocks);
  try {
    await readAll(pass);
    return reportOf(pass);
  } catch (error) {
    return reportFailed(pass, error);
  }
}

async function beginPass(given: SyncOptions, clocks: Clocks): Promise<Pass> {
  const { zoneGate, platformClock } = clocks;
  const {
    merchant: { merchantNo },
    trace = UNTRACED,
  } = given;
  const { settled, heldBack } = settledOf(given, platformClock.behindMs());
  const planned = plannedOf(settled, given);
  const wide = await widened(planned, given);
  const counts = { calls: 0, windowsDone: 0 };
  const options = { ...given, reader: countedReader(clockCheckedReader(given, wide, platformClock), counts) };
  const probe = probeOf(options);
  const cutSeconds = createCutSeconds({
    db: options.db,
    merchantNo,
    probe,
    clockSkewMs: zoneGate.clockSkewMs,
  });
  const readings = createReadingStore({ ...options, merchantNo, planned });
  const empty = createEmptyWindows({
    db: options.db,
    merchantNo,
    planned,
    zoneGate,
    probe,
    store: async (part, read) => {
      await trace('transaction', {}, () => readings.store(part, read));
      reportProgress(pass);
    },
  });
  const clockSkewMs = zoneGate.clockSkewMs();
  const known = { ...clocks, options, planned, wide, heldBack, clockSkewMs, counts, contradictions: [] };
  const pass: Pass = { ...known, probe, cutSeconds, readings, empty };
  return pass;
}

async function readAll(pass: Pass): Promise<void> {
  const { options, wide, clockSkewMs, readings, empty } = pass;
  const { merchant, signal, zone } = options;
  const reader = clockSkewMs === 0 ? options.reader : wideReader(options.reader, clockSkewMs, zone);
  const newestPage = createNewestPage({ reader, merchant, asked: wide, clockSkewMs, signal });
  // Windows are read meanwhile, but nothing is taken before this resolves.
  const proven = options.provesNewest === true ? proveByNewest(pass, newestPage) : Promise.resolve();
  proven.catch(() => undefined);
  const onWindowDone = (): void => {
    pass.counts.windowsDone += 1;
    reportProgress(pass);
  };
  await readOnce(pass, { asked: wide, reader: newestPage.reader, proven, onWindowDone });
  await proven;
  readings.leave(await empty.settle(true));
  // What lacks stored entries may lack others as well. Smaller windows show whose they are.
  for (let asked = readings.takeAgain(); asked.length > 0; asked = readings.takeAgain())
    await readOnce(pass, { asked, reader, proven, onWindowDone: () => undefined });
  await readings.settleEmpty();
  await readings.judgeAbsent();
}

/** Reads these windows. Their readings are stored, or wait for the zone's proof, or turn out to lack what is stored. */
const readOnce = (
  pass: Pass,
  once: Pick<ReadWindowsOptions, 'asked' | 'reader' | 'onWindowDone'> & { readonly proven: Promise<void> },
): Promise<void> => {
  const { options, clockSkewMs, empty } = pass;
  const { merchant, limits, signal } = options;
  return readWindows({
    ...once,
    trace: options.trace,
    onSplit: options.onSplit,
    onContradiction: (problem) => pass.contradictions.push(problem),
    merchant,
    signal,
    limits: { ...limits, clockSkewMsMax: clockSkewMs },
    onFirstPage: async (page, { window }) => {
      await once.proven;
      await checkZone(pass, page.entries, window);
    },
    onReading: async (part, read) => {
      const came = [...read.reading.entries, ...read.outOfScope];
      if (came.length > 0) {
        await checkZone(pass, came, part.window);
        await empty.release();
      }
      await empty.take(part, read);
    },
  });
};

/**
 * The report of a pass that failed, if the failure is the merchant's own. Throws the error if it concerns everybody.
 */
async function reportFailed(pass: Pass, error: unknown): Promise<SyncReport> {
  const { options, readings, empty } = pass;
  const { signal } = options;
  if (error instanceof ReadAnew) {
    error.soFar = reportOf(pass);
    throw error;
  }
  const isLeaseLost = error instanceof LeaseLost;
  if (signal.aborted && error === signal.reason && !isLeaseLost) return reportOf(pass, { interrupted: true });
  if (isLeaseLost || error instanceof TimeZoneWrong || isDatabaseTrouble(error)) throw error;
  if (isPlatformError(error)) readings.leave(await empty.settle(false));
  return reportOf(pass, { failure: error instanceof Error ? error : new Error(String(error)) });
}

const reportOf = (
  { readings, counts, contradictions, platformClock, heldBack }: Pass,
  end: Partial<SyncReport> = {},
): SyncReport => {
  const contradicted = [...contradictions, ...readings.contradictions()];
  return {
    ...NOTHING_SYNCED,
    ...readings.soFar(),
    requests: counts.calls,
    contradictions: contradicted.length,
    contradiction: contradicted[0] ?? null,
    platformBehindMs: platformClock.behindMs(),
    platformAheadMs: platformClock.aheadMs(),
    heldBack,
    ...end,
  };
};

const reportProgress = ({ options, counts, planned, readings }: Pass): void =>
  options.onProgress?.({
    merchantNo: options.merchant.merchantNo,
    windowsDone: counts.windowsDone,
    windowsPlanned: planned.length,
    entries: readings.entries(),
    requests: counts.calls,
  });

async function proveByNewest(pass: Pass, { newest }: NewestPage): Promise<void> {
  const found = await newest();
  if (found === null) return;
  await proveZone(pass, found.entries, () => pass.zoneGate.prove(pass.probe, found.entries));
  await pass.empty.release();
}

const checkZone = (pass: Pass, entries: readonly LedgerEntry[], window: Window): Promise<void> =>
  proveZone(pass, entries, () => pass.zoneGate.check(pass.probe, entries, window));

async function proveZone(
  pass: Pass,
  entries: readonly LedgerEntry[],
  prove: () => Promise<void>,
): Promise<void> {
  await (pass.options.timeZoneTrusted === true ? prove() : pass.cutSeconds.before(entries, prove));
  assertClockSkewUnchanged(pass);
}

/** Throws `ClockOff` if it turned out during this pass that windows have to be asked for with slack. */
function assertClockSkewUnchanged({ zoneGate, clockSkewMs }: Pass): void {
  if (zoneGate.clockSkewMs() !== clockSkewMs) throw new ClockOff();
}

/** Without what is too young by the platform's clock. */
const settledOf = (given: SyncOptions, behindMs: number): ReturnType<typeof holdBack> =>
  behindMs === 0
    ? { settled: given.windows, heldBack: [] }
    : holdBack(given.windows.map(fullSeconds), settledByMs(given, behindMs));

/** The windows for each currency that was asked for, cut where a wall-clock time would mean two instants. */
const plannedOf = (
  windows: readonly Window[],
  { currencies, zone }: Pick<SyncOptions, 'currencies' | 'zone'>,
): Asked[] =>
  (currencies ?? [null]).flatMap((currency) =>
    windows
      .flatMap((window) => splitAtTransitions(fullSeconds(window), zone))
      .map((window): Asked => ({ window, currency })),
  );

/** Joins the planned windows, by what their last readings brought. */
async function widened(
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

const probeOf =
  ({ reader, merchant, signal }: SyncOptions): Probe =>
  (batchNo, window) => {
    signal.throwIfAborted();
    const query = { merchant, window, pageNum: 1, ...(batchNo === null ? {} : { batchNo }) };
    return reader.page({ ...query, isUrgent: true }, signal);
  };

/** Counts every call, failed ones too. */
const countedReader = (reader: LedgerReader, counts: { calls: number }): LedgerReader => ({
  page: (query, signal) => {
    counts.calls += 1;
    return reader.page(query, signal);
  },
});
