/** What a worker does with one job: one merchant of a queued run, from reading to published. */
import { EXIT, type ExitCode } from '../../ledger/ending.ts';
import type { MerchantJob } from '../../queue/queue.ts';
import { merchantEnd } from '../../store/run-merchants.ts';
import { endWaiting, queuedRun } from '../../store/queued-runs.ts';
import { runZoneGate, type ActiveRun, type RunDeps, type RunRequest } from '../active-run.ts';
import { runDeps, type PlatformApp } from '../app.ts';
import { checkedBy } from '../checked.ts';
import { chosenMerchants } from '../chosen-merchants.ts';
import { underLeases, type HeldLeases } from '../leases.ts';
import { endMerchants } from '../merchant-ends.ts';
import { runRanges } from '../merchant-ranges.ts';
import { nothingDoneFor } from '../merchant-work.ts';
import type { MerchantOutcome } from '../report.ts';
import { prepare } from '../run.ts';
import { markReported } from '../run-end.ts';
import { withExplainedFailure } from '../stages/sync-stage.ts';
import { STAGES } from '../stages/stages-of.ts';
import { UsageError } from '../verdict/exit-codes.ts';
import { workOnAll } from '../work-on-all.ts';
import type { QueuedRequest, QueuedRun } from './queued-run.ts';

/** Runs that a worker remembers: it proves the time zone and checks the object store once for each. */
const RUNS_REMEMBERED = 8;

/** What a worker knows of a run that it does merchants of. */
interface RememberedRun extends QueuedRun {
  readonly zoneGate: ActiveRun['zoneGate'];
  /** Set once the object store was checked. */
  isPrepared: boolean;
}

/** The work on queued merchants of one worker process. */
export class QueuedMerchants {
  readonly #app: PlatformApp;
  readonly #onTrouble: RunDeps['onTrouble'];
  readonly #runs = new Map<number, RememberedRun>();

  /** `onTrouble` is called with each error that ended a stage for one merchant, to log it. */
  constructor(app: PlatformApp, onTrouble?: RunDeps['onTrouble']) {
    this.#app = app;
    this.#onTrouble = onTrouble;
  }

  /**
   * Does one merchant of a queued run under its lease, and records its end. Returns its exit code. Does nothing if the
   * merchant has ended already. Throws `LeaseHeld` if another process is at work on it, and what concerns all merchants:
   * a database or an object store in trouble, `TimeZoneWrong`, the signal's reason. Its end is then not recorded.
   */
  async workOn({ runId, merchantNo }: MerchantJob, signal: AbortSignal): Promise<ExitCode> {
    const { db } = this.#app.database;
    const known = await merchantEnd(db, runId, merchantNo);
    if (known === undefined) return EXIT.done;
    if (known.exitCode !== null) return known.exitCode as ExitCode;
    const run = await this.#run(runId, signal);
    const deps = this.#deps(run.request, signal);
    return underLeases([merchantNo], deps, (held) => this.#underLease(run, merchantNo, deps, held));
  }

  #deps({ lateSweepDays }: QueuedRequest, signal: AbortSignal): RunDeps {
    return {
      ...runDeps(this.#app, signal),
      ...(lateSweepDays !== null && { lateSweepDays }),
      ...(this.#onTrouble !== undefined && { onTrouble: this.#onTrouble }),
    };
  }

  async #underLease(
    run: RememberedRun,
    merchantNo: string,
    ownDeps: RunDeps,
    held: HeldLeases,
  ): Promise<ExitCode> {
    const deps = { ...ownDeps, signal: held.signal };
    const merchants = await chosenMerchants(this.#app, [merchantNo]).catch((error: unknown) => {
      if (error instanceof UsageError) return error;
      throw error;
    });
    if (merchants instanceof UsageError) return endUnknown(deps, run.id, merchantNo, merchants.message);
    const request: RunRequest = { ...askedOf(run.request), merchants };
    const { ranges } = await runRanges(request, deps);
    const { id: runId, from, to, zoneGate } = run;
    const active: ActiveRun = { request, deps, runId, zoneGate, from, to, checked: checkedBy(request, deps) };
    if (!run.isPrepared) await prepare(active, held);
    run.isPrepared = true;
    const outcomes = new Map<string, MerchantOutcome>();
    await workOnAll(active, { held, ranges, stages: STAGES[request.command], outcomes });
    const outcome = outcomes.get(merchantNo) ?? nothingDoneFor(merchantNo);
    if (outcome.sync !== null) [outcome.sync = null] = await withExplainedFailure([outcome.sync], deps.db);
    const [end] = await endMerchants(active, [{ outcome, lease: held.leaseOf(merchantNo) }]);
    // A lease that was lost meanwhile records nothing. The one that took over does.
    held.lossOf(merchantNo).throwIfAborted();
    if (!end!.isRecorded) throw new Error(`the end of ${merchantNo} in run ${runId} was not recorded`);
    await markReported(active, end!.standing, [end!]);
    return end!.exitCode;
  }

  async #run(runId: number, signal: AbortSignal): Promise<RememberedRun> {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const row = await queuedRun(this.#app.database.db, runId);
    if (row === undefined)
      throw new Error(`run ${runId} is on the queue and has no row that says what it was asked for`);
    const request = row.request as unknown as QueuedRequest;
    const run = { ...row, request, zoneGate: runZoneGate(this.#deps(request, signal)), isPrepared: false };
    this.#runs.set(runId, run);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > RUNS_REMEMBERED) this.#runs.delete(oldest!);
    return run;
  }
}

const askedOf = ({
  command,
  range,
  currencies,
  scheduled,
}: QueuedRequest): Omit<RunRequest, 'merchants'> => ({
  command,
  range,
  currencies,
  ...(scheduled !== null && { scheduled }),
});

/** The end of a merchant that was disabled since its job was sent: there is nothing to do for it. */
async function endUnknown(
  { db, holder, now }: RunDeps,
  runId: number,
  merchantNo: string,
  what: string,
): Promise<ExitCode> {
  const figures = { reasons: [{ exitCode: EXIT.done, what, todo: null, merchantNo }] };
  const end = { merchantNo, exitCode: EXIT.done, figures };
  await endWaiting(db, [end], { runId, holder, now: now() });
  return EXIT.done;
}
