/** Slices of backfills that are on record, done one merchant at a time: lease, days, stages, end. */
import { messageOf } from '../../ledger/text.ts';
import pLimit from 'p-limit';
import { isDatabaseTrouble } from '../../store/engine/errors.ts';
import { LeaseHeld, LeaseLost } from '../../store/engine/lease.ts';
import type { ZoneGate } from '../../sync/zone-gate.ts';
import { runZoneGate, type RunDeps } from '../active-run.ts';
import { runDeps, type PlatformApp } from '../app.ts';
import { chosenMerchants } from '../chosen-merchants.ts';
import { underLeases, type HeldLeases } from '../leases.ts';
import { recordPublished } from '../merchant-ends.ts';
import type { DayRange } from '../range.ts';
import { RunMemory, workOnStages } from '../recorded-run.ts';
import { sideBySide } from '../side-by-side.ts';
import { noticeShared } from '../stages/notice-stage.ts';
import { UsageError, type ExitCode } from '../verdict/exit-codes.ts';
import { sliceFrom } from './backfills.ts';
import { endBackfills } from './end.ts';
import { storeIfDone } from './slices.ts';
import { leaveOut, openPart, partsToDo, putOff, type OpenPart } from './tasks.ts';

/** A merchant that another process is at work on is come back to after this time. */
const BUSY_AGAIN_MS = 60_000;
/** Pauses before a failed slice is tried again; from then on always the last one. */
const PAUSES_MIN = [1, 2, 4, 8, 15, 30, 60, 120, 240, 360];

/** How long to wait after a slice has failed for the `tries`-th time. */
const pauseMs = (tries: number): number =>
  PAUSES_MIN[Math.min(Math.max(tries, 1), PAUSES_MIN.length) - 1]! * 60_000;

/**
 * - `done`: the slice is stored
 * - `failed`: it is tried again after a pause
 * - `busy`: another process is at work on the merchant; it is come back to
 * - `left-out`: the merchant is not read any more, and has no part in the backfill now
 * - `passed`: another process did the slice, or the backfill was cancelled meanwhile
 */
export type SliceOutcome = 'done' | 'failed' | 'busy' | 'left-out' | 'passed';

export interface SliceEnd extends DayRange {
  readonly backfillId: number;
  readonly merchantNo: string;
  readonly outcome: SliceOutcome;
  readonly exitCode: ExitCode | null;
  readonly problem: string | null;
}

type Ended = Pick<SliceEnd, 'outcome' | 'exitCode' | 'problem'>;

const PASSED: Ended = { outcome: 'passed', exitCode: null, problem: null };

const endOf = ({ backfillId, merchantNo, nextDay, toDay }: OpenPart, ended: Ended): SliceEnd => ({
  ...{ backfillId, merchantNo, ...sliceFrom(nextDay, toDay) },
  ...ended,
});

interface BackfillOptions {
  readonly atOnce: number;
  readonly signal: AbortSignal;
  readonly onSlice: (end: SliceEnd) => Promise<void>;
}

/** Does slices, each of a merchant that it is not at work on. */
export class SliceWorker {
  readonly #app: PlatformApp;
  readonly #change: Partial<RunDeps>;
  readonly #zoneGates = new RunMemory<ZoneGate>();
  readonly #atWork = new Set<string>();
  readonly #oneAtATime = pLimit(1);

  /** `change` takes the place of what a run gets from the app. */
  constructor(app: PlatformApp, change: Partial<RunDeps> = {}) {
    this.#app = app;
    this.#change = change;
  }

  /**
   * Does the slice whose turn it is, of a merchant that this process is not at work on. Null if there is none now. Throws
   * the signal's reason, and what a database in trouble throws; the slice is then still to be done.
   */
  async doNextSlice(signal: AbortSignal, backfillId?: number): Promise<SliceEnd | null> {
    const { database, now } = this.#app;
    const part = await this.#oneAtATime(async () => {
      const without = [...this.#atWork];
      const [first] = await partsToDo(database.db, { now: now(), limit: 1, backfillId, without });
      if (first !== undefined) this.#atWork.add(first.merchantNo);
      return first;
    });
    if (part === undefined) {
      await endBackfills(runDeps(this.#app, signal));
      return null;
    }
    try {
      return await this.doSlice(part, signal);
    } catch (error) {
      if (!(error instanceof LeaseHeld)) throw error;
      const tryAt = new Date(now().getTime() + BUSY_AGAIN_MS);
      await putOff(database.db, part, { tryAt, problem: null });
      return endOf(part, { outcome: 'busy', exitCode: null, problem: error.message });
    } finally {
      this.#atWork.delete(part.merchantNo);
    }
  }

  /**
   * Does slices of the backfill, `atOnce` side by side, each of another merchant. Ends once the slices that are left wait
   * for a busy merchant or for another try. Throws as `doNextSlice`.
   */
  doBackfill(backfillId: number, { atOnce, signal, onSlice }: BackfillOptions): Promise<void> {
    const loops = Array.from({ length: atOnce }, (_, at) => String(at));
    return sideBySide(loops, { atOnce, signal, nameOf: (loop) => loop }, async (_, stopped) => {
      for (;;) {
        stopped.throwIfAborted();
        const end = await this.doNextSlice(stopped, backfillId);
        if (end === null) return;
        await onSlice(end);
      }
    });
  }

  /**
   * Does the next slice of this merchant. Throws as `doNextSlice`, and `LeaseHeld` if another process is at work on the
   * merchant.
   */
  async doSlice(part: OpenPart, signal: AbortSignal): Promise<SliceEnd> {
    const deps = { ...runDeps(this.#app, signal), ...this.#change };
    const ended = await underLeases([part.merchantNo], deps, (held) =>
      this.#sliceUnderLease(part, { ...deps, signal: held.signal }, held).catch((error: unknown) => {
        // The one that took over does the slice.
        if (error instanceof LeaseLost) return PASSED;
        throw error;
      }),
    );
    const end = endOf(part, ended);
    if (ended.outcome === 'left-out' || end.to === part.toDay) await endBackfills(deps);
    return end;
  }

  async #sliceUnderLease(part: OpenPart, deps: RunDeps, held: HeldLeases): Promise<Ended> {
    const { db, now } = deps;
    const { runId, merchantNo, nextDay, toDay } = part;
    if ((await openPart(db, part))?.nextDay !== nextDay) return PASSED;
    const startedAt = now();
    const range = sliceFrom(nextDay, toDay);
    try {
      const merchants = await chosenMerchants(this.#app, [merchantNo]);
      const request = { command: 'run', range, merchants, currencies: null } as const;
      const zoneGate = await this.#zoneGates.of(runId, () => runZoneGate(deps));
      // The store is checked before each slice, as days lie between two of them.
      const ofSlice = { id: runId, zoneGate, ...range, ownsStore: null };
      const { run, outcome } = await workOnStages(ofSlice, request, deps, held);
      const lease = held.leaseOf(merchantNo);
      await recordPublished(db, lease, outcome);
      await noticeShared(deps, { runId, merchants: [merchantNo] });
      const exitCode = await storeIfDone(run, outcome, { part, lease, startedAt });
      return { outcome: 'done', exitCode, problem: null };
    } catch (error) {
      deps.signal.throwIfAborted();
      if (error instanceof LeaseLost || isDatabaseTrouble(error)) throw error;
      const problem = messageOf(error);
      if (error instanceof UsageError) {
        await leaveOut(db, part, { problem, now: now() });
        return { outcome: 'left-out', exitCode: null, problem };
      }
      const tryAt = new Date(now().getTime() + pauseMs(part.tries + 1));
      await putOff(db, part, { tryAt, problem });
      return { outcome: 'failed', exitCode: null, problem };
    }
  }
}
