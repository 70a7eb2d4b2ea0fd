/** Brings one merchant's windows into the store: reads them, waits for the zone's proof, stores each whole. */
import type { Kysely } from 'kysely';
import pLimit from 'p-limit';
import { splitAtTransitions } from '../ledger/business-day.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { lengthMs } from '../ledger/window.ts';
import { isPlatformError } from '../platform/errors.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { isDatabaseTrouble } from '../store/errors.ts';
import { LeaseLost, type Lease } from '../store/lease.ts';
import type { DB } from '../store/schema.ts';
import type { StoredWindow } from '../store/window-reading.ts';
import { isClockOff, storeClockOff } from '../store/platform-clock.ts';
import { settlePlanned, storeWindow } from '../store/windows.ts';
import type { Asked } from './certificate.ts';
import type { NotedReading } from './certify.ts';
import { wideReader } from './clock-slack.ts';
import type { ReadLimits } from './limits.ts';
import { wholeSeconds } from './plan.ts';
import { readWindows } from './read-windows.ts';
import { TimeZoneWrong, type Probe } from './time-zone-proof.ts';
import { createZoneGate, type ZoneGate } from './zone-gate.ts';

/** Different sentences counted in one report; more are counted together. */
const NOTICES_MAX = 100;
const MORE_NOTICES = 'further notices';

export interface SyncProgress {
  readonly merchantNo: string;
  readonly windowsDone: number;
  readonly windowsPlanned: number;
  /** Entries stored or found stored. */
  readonly entries: number;
  readonly requests: number;
}

export interface SyncOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchant: MerchantAccess;
  /** Widened to whole seconds and cut where the zone's clock changes. */
  readonly windows: readonly Window[];
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** Null: every currency. */
  readonly currencies?: readonly string[] | null;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: SyncProgress) => void;
  readonly limits?: Partial<ReadLimits>;
  /** How far timestamps may be off from the times the platform filters by. Counts where no `zoneGate` is given. */
  readonly clockToleranceS?: number;
  /** The zone is taken on trust. Counts where no `zoneGate` is given. */
  readonly timeZoneTrusted?: boolean;
  /** Shared by the merchants of a run, so that the zone is proven once; an own one where absent. */
  readonly zoneGate?: ZoneGate;
}

export interface UncertifiedSpan {
  readonly window: Window;
  /** A sentence with the window and the figures. */
  readonly problem: string;
}

export interface SyncReport extends StoredWindow {
  readonly requests: number;
  /** Windows stored, each part of a split one by itself. */
  readonly windows: number;
  readonly entries: number;
  readonly uncertified: readonly UncertifiedSpan[];
  /** How often the reader said each sentence. */
  readonly notices: Readonly<Record<string, number>>;
  /** Why the ledger was not read to the end; what was certified before is stored and counted here. */
  readonly failure: Error | null;
  /** The signal stopped it before the end, at a window's edge. */
  readonly interrupted: boolean;
}

type Tally = { -readonly [Key in keyof SyncReport]: SyncReport[Key] };

/** Windows were asked for as if the clock were exact, and an entry showed that it is not: to be asked for anew. */
class ClockOff extends Error {
  /** What was done until then, and stays. */
  soFar: SyncReport = NOTHING_SYNCED;
}

/** A window as it was planned, and how much of it is stored. */
interface Planned extends Asked {
  storedMs: number;
  isUnsettled: boolean;
}

/**
 * Reads and stores the windows. Whatever is the merchant's own trouble ends in `failure`: a platform that fails,
 * `TimeZoneUnproven` before the first row under that offset, a token that cannot be read, a fault. An aborted signal ends
 * in `interrupted`. Throws what concerns every merchant: `TimeZoneWrong`, `LeaseLost`, a database in trouble.
 */
export async function syncMerchant(options: SyncOptions): Promise<SyncReport> {
  const { db, lease, zone, now, clockToleranceS, timeZoneTrusted } = options;
  const zoneGate =
    options.zoneGate ??
    createZoneGate(zone, {
      ...(clockToleranceS === undefined ? {} : { clockToleranceS }),
      ...(timeZoneTrusted === undefined ? {} : { isTrusted: timeZoneTrusted }),
    });
  if (await isClockOff(db)) zoneGate.noteClockOff('known from an earlier run');
  const before: Tally = emptyTally();
  for (;;) {
    try {
      const report: Tally = await readAndStore(options, zoneGate);
      for (const figure of KEPT) report[figure] += before[figure];
      return report;
    } catch (error) {
      if (!(error instanceof ClockOff)) throw error;
      for (const figure of KEPT) before[figure] += error.soFar[figure];
      // Once known, every window of this run and later ones is asked for with slack: this happens once.
      await storeClockOff(db, lease, zoneGate.clockOff() ?? '', now());
    }
  }
}

async function readAndStore(options: SyncOptions, zoneGate: ZoneGate): Promise<SyncReport> {
  const { lease, db, merchant, zone, currencies, runId, now, signal } = options;
  const { merchantNo } = merchant;
  const slackMs = zoneGate.slackMs();
  const reader = slackMs === 0 ? options.reader : wideReader(options.reader, slackMs, zone);
  const plannedWindows = (currencies ?? [undefined]).flatMap((currency) =>
    options.windows
      .flatMap((window) => splitAtTransitions(wholeSeconds(window), zone))
      .map((window): Planned => ({ window, currency, storedMs: 0, isUnsettled: false })),
  );
  const tally = emptyTally();
  const uncertified: UncertifiedSpan[] = [];
  const notices: Record<string, number> = {};
  const oneAtATime = pLimit(1);
  let windowsDone = 0;

  const probe: Probe = (batchNo, window) => {
    signal.throwIfAborted();
    tally.requests += 1;
    return options.reader.page(
      { merchant, window, pageNum: 1, ...(batchNo === null ? {} : { batchNo }) },
      signal,
    );
  };
  const check = async (entries: readonly LedgerEntry[], window: Window): Promise<void> => {
    await zoneGate.check(probe, entries, window);
    if (zoneGate.slackMs() !== slackMs) throw new ClockOff();
  };
  const progress = () =>
    options.onProgress?.({
      merchantNo,
      windowsDone,
      windowsPlanned: plannedWindows.length,
      entries: tally.entries,
      requests: tally.requests,
    });
  const plannedOf = ({ window, currency }: Asked): Planned =>
    plannedWindows.find(
      (planned) =>
        planned.currency === currency &&
        planned.window.beginMs <= window.beginMs &&
        planned.window.endMs >= window.endMs,
    )!;

  const store = async (part: Asked, { reading, notices: sentences }: NotedReading): Promise<void> => {
    signal.throwIfAborted();
    const planned = plannedOf(part);
    const about = { merchantNo, planned: planned.window, currency: part.currency, runId, now: now() };
    const stored = await storeWindow(db, lease, { ...about, window: part.window, reading });
    tally.windows += 1;
    tally.entries += reading.entries.length;
    for (const figure of STORED) tally[figure] += stored[figure];
    if (reading.problem !== null) uncertified.push({ window: part.window, problem: reading.problem });
    if (stored.doubt !== null) uncertified.push({ window: planned.window, problem: stored.doubt });
    planned.storedMs += lengthMs(part.window);
    planned.isUnsettled ||= stored.isUnsettled;
    if (planned.isUnsettled && planned.storedMs === lengthMs(planned.window)) {
      const { vanished, doubt } = await settlePlanned(db, lease, about);
      tally.vanished += vanished;
      if (doubt !== null) uncertified.push({ window: planned.window, problem: doubt });
    }
    for (const sentence of sentences) {
      const key = sentence in notices || Object.keys(notices).length < NOTICES_MAX ? sentence : MORE_NOTICES;
      notices[key] = (notices[key] ?? 0) + 1;
    }
    progress();
  };

  /** Empty windows read before any proof: a certificate is a row too, and waits for the zone like the others. */
  let unproven: (() => Promise<void>)[] | null = [];
  const release = async (): Promise<void> => {
    const held = unproven ?? [];
    unproven = null;
    await Promise.all(held.map((storeHeld) => oneAtATime(storeHeld)));
  };

  try {
    await readWindows({
      reader,
      merchant,
      asked: plannedWindows,
      limits: { ...options.limits, clockSlackMs: slackMs },
      signal,
      onRequest: () => (tally.requests += 1),
      onFirstPage: (page, { window }) => check(page.entries, window),
      onReading: async (part, read) => {
        const came = [...read.reading.entries, ...read.strangers];
        if (came.length > 0) {
          await check(came, part.window);
          await release();
        } else if (unproven !== null && read.reading.rejected.length === 0) {
          unproven.push(() => store(part, read));
          return;
        }
        await oneAtATime(() => store(part, read));
      },
      onWindowDone: () => {
        windowsDone += 1;
        progress();
      },
    });
    await release();
  } catch (error) {
    if (error instanceof ClockOff) {
      error.soFar = tally;
      throw error;
    }
    const isLeaseLost = error instanceof LeaseLost;
    if (signal.aborted && error === signal.reason && !isLeaseLost) tally.interrupted = true;
    else if (isLeaseLost || error instanceof TimeZoneWrong || isDatabaseTrouble(error)) throw error;
    else {
      tally.failure = error instanceof Error ? error : new Error(String(error));
      if (isPlatformError(error)) await release();
    }
  }
  uncertified.sort((a, b) => a.window.beginMs - b.window.beginMs);
  return { ...tally, uncertified, notices };
}

const STORED = ['inserted', 'amended', 'vanished', 'returned', 'quarantined', 'unchanged'] as const;

/** Figures that stand though the windows are read anew: what was found unchanged or is counted again does not. */
const KEPT = ['requests', 'inserted', 'amended', 'vanished', 'returned', 'quarantined'] as const;

/** The report of a merchant whose ledger was not read. */
export const NOTHING_SYNCED: SyncReport = {
  requests: 0,
  windows: 0,
  entries: 0,
  uncertified: [],
  inserted: 0,
  amended: 0,
  vanished: 0,
  returned: 0,
  quarantined: 0,
  unchanged: 0,
  notices: {},
  failure: null,
  interrupted: false,
};

const emptyTally = (): Tally => ({ ...NOTHING_SYNCED });
