/** Does the slices of backfills: each is the work on one merchant, from reading to published, under its lease. */
import pLimit from 'p-limit';
import type { MerchantAccess } from '../../platform/ledger-reader.ts';
import { leaveOut, openPart, partsToDo, putOff, storeSlice, type OpenPart } from '../../store/backfills.ts';
import { isDatabaseTrouble } from '../../store/engine/errors.ts';
import { LeaseHeld, LeaseLost } from '../../store/engine/lease.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import { runZoneGate, type ActiveRun, type RunDeps, type RunRequest } from '../active-run.ts';
import type { MerchantOutcome } from '../report.ts';
import { runDeps, type PlatformApp } from '../app.ts';
import { checkedBy } from '../checked.ts';
import { chosenMerchants } from '../chosen-merchants.ts';
import { underLeases, type HeldLeases } from '../leases.ts';
import { recordPublished } from '../merchant-ends.ts';
import { runRanges } from '../merchant-ranges.ts';
import { nothingDoneFor } from '../merchant-work.ts';
import type { DayRange } from '../range.ts';
import { prepare } from '../run.ts';
import { noticeShared } from '../stages/notice-stage.ts';
import { STAGES } from '../stages/stages-of.ts';
import { UsageError, type ExitCode } from '../verdict/exit-codes.ts';
import { workOnAll } from '../work-on-all.ts';
import { endBackfills } from './end.ts';
import { exitCodeOfSlice } from './slice-verdict.ts';
import { pauseMs, sliceFrom } from './slices.ts';

/** A merchant that another process is at work on is come back to after this time. */
const BUSY_AGAIN_MS = 60_000;

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
  /** 0 or 3 if it is done. */
  readonly exitCode: ExitCode | null;
  /** Why it is not done. */
  readonly problem: string | null;
}

type Ended = Pick<SliceEnd, 'outcome' | 'exitCode' | 'problem'>;

/** The slices that one process does. */
export class BackfillSlices {
  readonly #app: PlatformApp;
  readonly #change: Partial<RunDeps>;
  readonly #atWork = new Set<string>();
  readonly #oneAtATime = pLimit(1);
  /** The time zone is proven once for all slices of a backfill. */
  #zoneGate: { readonly runId: number; readonly gate: ActiveRun['zoneGate'] } | null = null;

  /** `change` takes the place of what a run gets from the app. */
  constructor(app: PlatformApp, change: Partial<RunDeps> = {}) {
    this.#app = app;
    this.#change = change;
  }

  /**
   * Does the slice whose turn it is, of a merchant that this process is not at work on. Null if there is none now. Throws
   * the signal's reason, and what a database in trouble throws; the slice is then still to be done.
   */
  async doNext(signal: AbortSignal, backfillId?: number): Promise<SliceEnd | null> {
    const part = await this.#oneAtATime(async () => {
      const { db } = this.#app.database;
      const without = [...this.#atWork];
      const [first] = await partsToDo(db, { now: this.#app.now(), limit: 1, backfillId, without });
      if (first !== undefined) this.#atWork.add(first.merchantNo);
      return first;
    });
    if (part === undefined) {
      await endBackfills(this.#app.database.db, this.#app.now());
      return null;
    }
    try {
      return await this.do(part, signal);
    } catch (error) {
      if (!(error instanceof LeaseHeld)) throw error;
      const tryAt = new Date(this.#app.now().getTime() + BUSY_AGAIN_MS);
      await putOff(this.#app.database.db, part, { tryAt, problem: null });
      return endOf(part, { outcome: 'busy', exitCode: null, problem: error.message });
    } finally {
      this.#atWork.delete(part.merchantNo);
    }
  }

  /** Does the next slice of a part. Throws as `doNext`, and `LeaseHeld` if another process is at work on the merchant. */
  async do(part: OpenPart, signal: AbortSignal): Promise<SliceEnd> {
    const { db } = this.#app.database;
    const deps = { ...runDeps(this.#app, signal), ...this.#change };
    const ended = await underLeases([part.merchantNo], deps, (held) =>
      this.#underLease(part, { ...deps, signal: held.signal }, held).catch((error: unknown) => {
        // The one that took over does the slice.
        if (error instanceof LeaseLost) return PASSED;
        throw error;
      }),
    );
    const end = endOf(part, ended);
    if (ended.outcome === 'left-out' || end.to === part.toDay) await endBackfills(db, this.#app.now());
    return end;
  }

  async #underLease(part: OpenPart, deps: RunDeps, held: HeldLeases): Promise<Ended> {
    const { db, now } = deps;
    const current = await openPart(db, part);
    if (current?.nextDay !== part.nextDay) return PASSED;
    const startedAt = now();
    try {
      const [merchant] = await chosenMerchants(this.#app, [part.merchantNo]);
      const exitCode = await this.#work(part, { merchant: merchant!, deps, held });
      const slice = { ...sliceFrom(part.nextDay, part.toDay), exitCode, holder: deps.holder, startedAt };
      await writeTransaction(db, held.leaseOf(part.merchantNo), (trx) =>
        storeSlice(trx, part, { ...slice, finishedAt: now() }),
      );
      return { outcome: 'done', exitCode, problem: null };
    } catch (error) {
      deps.signal.throwIfAborted();
      if (error instanceof LeaseLost || isDatabaseTrouble(error)) throw error;
      const problem = error instanceof Error ? error.message : String(error);
      if (error instanceof UsageError) {
        await leaveOut(db, part, { problem, now: now() });
        return { outcome: 'left-out', exitCode: null, problem };
      }
      const tryAt = new Date(now().getTime() + pauseMs(part.tries + 1));
      await putOff(db, part, { tryAt, problem });
      return { outcome: 'failed', exitCode: null, problem };
    }
  }

  /** The exit code of the slice alone. Throws `SliceUndone` if it is not done. */
  async #work(
    part: OpenPart,
    {
      merchant,
      deps,
      held,
    }: { readonly merchant: MerchantAccess; readonly deps: RunDeps; readonly held: HeldLeases },
  ): Promise<ExitCode> {
    const { runId, merchantNo } = part;
    const range = sliceFrom(part.nextDay, part.toDay);
    const request: RunRequest = { command: 'run', range, merchants: [merchant], currencies: null };
    const { ranges } = await runRanges(request, deps);
    const checked = checkedBy(request, deps);
    const run: ActiveRun = {
      request,
      deps,
      runId,
      ...range,
      zoneGate: this.#zoneGateOf(runId, deps),
      checked,
    };
    await prepare(run, held);
    const outcomes = new Map<string, MerchantOutcome>();
    await workOnAll(run, { held, ranges, stages: STAGES.run, outcomes });
    const outcome = outcomes.get(merchantNo) ?? nothingDoneFor(merchantNo);
    await recordPublished(deps.db, held.leaseOf(merchantNo), outcome);
    await noticeShared(deps, { runId, merchants: [merchantNo] });
    return exitCodeOfSlice(run, outcome);
  }

  #zoneGateOf(runId: number, deps: RunDeps): ActiveRun['zoneGate'] {
    if (this.#zoneGate?.runId !== runId) this.#zoneGate = { runId, gate: runZoneGate(deps) };
    return this.#zoneGate.gate;
  }
}

const PASSED: Ended = { outcome: 'passed', exitCode: null, problem: null };

const endOf = (part: OpenPart, ended: Ended): SliceEnd => ({
  backfillId: part.backfillId,
  merchantNo: part.merchantNo,
  ...sliceFrom(part.nextDay, part.toDay),
  ...ended,
});
