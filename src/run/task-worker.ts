/**
 * Does tasks of runs that are on record, one merchant at a time: its part of a run that is on the queue, or the next slice of
 * its backfill. Both go one way: lease, days, stages, end.
 */
import { messageOf } from '../ledger/text.ts';
import pLimit from 'p-limit';
import { waitingOn } from '../queue/jobs.ts';
import type { MerchantJob, Queue } from '../queue/queue.ts';
import { isDatabaseTrouble } from '../store/engine/errors.ts';
import { LeaseHeld, LeaseLost } from '../store/engine/lease.ts';
import { queuedRun } from '../store/runs.ts';
import { endTasks, merchantExitCode } from '../store/tasks.ts';
import {
  runZoneGate,
  type ActiveRun,
  type QueuedRequest,
  type RunDeps,
  type RunRequest,
  checkedBy,
  STAGES,
} from './active-run.ts';
import { runDeps, type PlatformApp } from './app.ts';
import { endBackfills, sliceFrom } from './backfill/backfills.ts';
import { storeIfDone } from './backfill/slices.ts';
import { leaveOut, openPart, partsToDo, putOff, type OpenPart } from './backfill/tasks.ts';
import { chosenMerchants } from './chosen-merchants.ts';
import { underLeases, type HeldLeases } from './leases.ts';
import { endMerchants, recordPublished, taskEndOf } from './merchant-ends.ts';
import { runRanges } from './merchant-ranges.ts';
import { nothingDoneFor, workOnAll } from './merchant-work.ts';
import type { DayRange } from './range.ts';
import type { MerchantOutcome } from './report.ts';
import { markReported } from './run-end.ts';
import { prepare } from './run.ts';
import { sideBySide } from './side-by-side.ts';
import { noticeShared } from './stages/notice-stage.ts';
import { withExplainedFailure } from './stages/sync-stage.ts';
import { EXIT, UsageError, mostSevere, type ExitCode } from './verdict/exit-codes.ts';

/** Runs that a worker remembers: it proves the time zone and checks the object store once for each. */
const RUNS_REMEMBERED = 8;
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

/** What a worker knows of a run that it does tasks of. */
interface RememberedRun extends DayRange {
  readonly id: number;
  readonly asked: QueuedRequest | null;
  readonly zoneGate: ActiveRun['zoneGate'];
  /** Set once the object store was checked. */
  isPrepared: boolean;
}

export class TaskWorker {
  readonly #app: PlatformApp;
  readonly #change: Partial<RunDeps>;
  readonly #runs = new Map<number, RememberedRun>();
  readonly #atWork = new Set<string>();
  readonly #oneAtATime = pLimit(1);

  /** `change` takes the place of what a run gets from the app. */
  constructor(app: PlatformApp, change: Partial<RunDeps> = {}) {
    this.#app = app;
    this.#change = change;
  }

  /**
   * Does one merchant of a queued run under its lease, and records its end. Returns its exit code. Does nothing if the
   * merchant has ended already. Throws `LeaseHeld` if another process is at work on it, and what concerns all merchants:
   * a database or an object store in trouble, `TimeZoneWrong`, the signal's reason. Its end is then not recorded.
   */
  async doQueued({ runId, merchantNo }: MerchantJob, signal: AbortSignal): Promise<ExitCode> {
    const known = await merchantExitCode(this.#app.database.db, runId, merchantNo);
    if (known !== null) return (known ?? EXIT.done) as ExitCode;
    const run = await this.#queuedRun(runId, signal);
    const asked = run.asked!;
    const deps = this.#deps(signal, asked);
    return underLeases([merchantNo], deps, async (held) => {
      const merchants = await chosenMerchants(this.#app, [merchantNo]).catch((error: unknown) => {
        if (error instanceof UsageError) return error;
        throw error;
      });
      // It was disabled since its job was sent: there is nothing to do for it.
      if (merchants instanceof UsageError) {
        const end = taskEndOf({ exitCode: EXIT.done, what: merchants.message, todo: null, merchantNo });
        const { db, holder, now } = deps;
        await endTasks(db, [end], { runId, holder, now: now(), ifWaiting: true });
        return EXIT.done;
      }
      const { command, range, currencies, scheduled } = asked;
      const request = { command, range, currencies, merchants, ...(scheduled !== null && { scheduled }) };
      const { outcome, run: active } = await workOnStages(run, request, deps, held);
      if (outcome.sync !== null) [outcome.sync = null] = await withExplainedFailure([outcome.sync], deps.db);
      const [end] = await endMerchants(active, [{ outcome, lease: held.leaseOf(merchantNo) }]);
      // A lease that was lost meanwhile records nothing. The one that took over does.
      held.lossOf(merchantNo).throwIfAborted();
      if (!end!.isRecorded) throw new Error(`the end of ${merchantNo} in run ${runId} was not recorded`);
      await markReported(active, end!.standing, [end!]);
      return end!.exitCode;
    });
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
      await endBackfills(database.db, now());
      return null;
    }
    try {
      return await this.#doSlice(part, signal);
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
   * Does the slices of one merchant, one after the other, until none is left or one has failed. Between two slices it
   * ends as well if a job of the night waits: `enqueueBackfills` then brings the rest. Throws as `doNextSlice`, and
   * `LeaseHeld` if another process is at work on the merchant.
   */
  async doSlices(queue: Pick<Queue, 'db'>, job: MerchantJob, signal: AbortSignal): Promise<ExitCode> {
    const codes: ExitCode[] = [];
    for (;;) {
      const part = await openPart(queue.db, job);
      if (part === undefined || part.tryAt > this.#app.now()) break;
      const { outcome, exitCode } = await this.#doSlice(part, signal);
      if (outcome === 'failed') return EXIT.incomplete;
      codes.push(exitCode ?? EXIT.done);
      if (await waitingOn(queue.db, 'night')) break;
      signal.throwIfAborted();
    }
    return mostSevere(codes);
  }

  async #doSlice(part: OpenPart, signal: AbortSignal): Promise<SliceEnd> {
    const { db } = this.#app.database;
    const deps = this.#deps(signal);
    const ended = await underLeases([part.merchantNo], deps, (held) =>
      this.#sliceUnderLease(part, { ...deps, signal: held.signal }, held).catch((error: unknown) => {
        // The one that took over does the slice.
        if (error instanceof LeaseLost) return PASSED;
        throw error;
      }),
    );
    const end = endOf(part, ended);
    if (ended.outcome === 'left-out' || end.to === part.toDay) await endBackfills(db, this.#app.now());
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
      const known = this.#remember({ id: runId, asked: null, ...range }, deps);
      // The store is checked before each slice, as days lie between two of them.
      const ofSlice = { ...known, ...range, isPrepared: false };
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

  #deps(signal: AbortSignal, asked?: QueuedRequest): RunDeps {
    const lateSweepDays = asked?.lateSweepDays ?? null;
    return {
      ...runDeps(this.#app, signal),
      ...(lateSweepDays !== null && { lateSweepDays }),
      ...this.#change,
    };
  }

  async #queuedRun(runId: number, signal: AbortSignal): Promise<RememberedRun> {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const row = await queuedRun(this.#app.database.db, runId);
    if (row === undefined)
      throw new Error(`run ${runId} is on the queue and has no row that says what it was asked for`);
    const asked = row.request as unknown as QueuedRequest;
    return this.#remember({ ...row, asked }, this.#deps(signal, asked));
  }

  #remember(row: Omit<RememberedRun, 'zoneGate' | 'isPrepared'>, deps: RunDeps): RememberedRun {
    const known = this.#runs.get(row.id);
    if (known !== undefined) return known;
    const run = { ...row, zoneGate: runZoneGate(deps), isPrepared: false };
    this.#runs.set(row.id, run);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > RUNS_REMEMBERED) this.#runs.delete(oldest!);
    return run;
  }
}

/** Does the stages for the request's one merchant. Throws what `workOnAll` throws. */
async function workOnStages(
  task: RememberedRun,
  request: RunRequest,
  ownDeps: RunDeps,
  held: HeldLeases,
): Promise<{ readonly run: ActiveRun; readonly outcome: MerchantOutcome }> {
  const deps = { ...ownDeps, signal: held.signal };
  const { ranges } = await runRanges(request, deps);
  const { id: runId, from, to, zoneGate } = task;
  const run: ActiveRun = { request, deps, runId, zoneGate, from, to, checked: checkedBy(request, deps) };
  if (!task.isPrepared) await prepare(run, held);
  task.isPrepared = true;
  const outcomes = await workOnAll(run, { held, ranges, stages: STAGES[request.command] });
  const [merchantNo] = held.merchants;
  return { run, outcome: outcomes.get(merchantNo!) ?? nothingDoneFor(merchantNo!) };
}
