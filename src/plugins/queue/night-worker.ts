/** The job of a merchant in a night: its part of a run that is on the queue, from its lease to its end. */
import { runZoneGate, type RunDeps } from '../../run/active-run.ts';
import { runDeps, type PlatformApp } from '../../run/app.ts';
import { chosenMerchants } from '../../run/chosen-merchants.ts';
import { underLeases } from '../../run/leases.ts';
import { endMerchant, endOfReason } from '../../run/merchant-ends.ts';
import { RunMemory, workOnStages, type RecordedRun } from '../../run/recorded-run.ts';
import { markReported } from '../../run/run-end.ts';
import { withExplainedFailure } from '../../run/stages/sync-stage.ts';
import { EXIT, UsageError, type ExitCode } from '../../run/verdict/exit-codes.ts';
import { endJoined, recordEnds } from '../../store/run-merchants.ts';
import type { MerchantJob } from './queue.ts';
import { merchantExitCode, queuedRun, type QueuedRequest } from './stored.ts';

/** What a worker knows of a run that it does merchants of. */
interface KnownRun extends RecordedRun {
  readonly asked: QueuedRequest;
}

/** Does merchants of queued runs. */
export class NightWorker {
  readonly #app: PlatformApp;
  readonly #change: Partial<RunDeps>;
  readonly #runs = new RunMemory<KnownRun>();

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
  async doMerchant({ runId, merchantNo }: MerchantJob, signal: AbortSignal): Promise<ExitCode> {
    const known = await merchantExitCode(this.#app.database.db, runId, merchantNo);
    if (known !== null) return (known ?? EXIT.done) as ExitCode;
    const run = await this.#runs.of(runId, () => this.#learn(runId, signal));
    const { command, range, currencies, scheduled, lateSweepDays } = run.asked;
    const begunAt = this.#app.now();
    const deps = {
      ...runDeps(this.#app, signal),
      ...(lateSweepDays !== null && { lateSweepDays }),
      ...this.#change,
    };
    return underLeases([merchantNo], deps, async (held) => {
      const merchants = await chosenMerchants(this.#app, [merchantNo]).catch((error: unknown) => {
        if (error instanceof UsageError) return error;
        throw error;
      });
      // It was disabled since its job was sent: there is nothing to do for it.
      if (merchants instanceof UsageError) {
        const end = endOfReason({ exitCode: EXIT.done, what: merchants.message, todo: null, merchantNo });
        const { db, holder, now } = deps;
        await recordEnds(db, [end], { runId, holder, now: now(), ifWaiting: true });
        return EXIT.done;
      }
      const request = { command, range, currencies, merchants, ...(scheduled !== null && { scheduled }) };
      const { outcome, run: active } = await workOnStages(run, request, deps, held);
      if (outcome.sync !== null) [outcome.sync = null] = await withExplainedFailure([outcome.sync], deps.db);
      const end = await endMerchant(active, { outcome, lease: held.leaseOf(merchantNo) });
      // A lease that was lost meanwhile records nothing. The one that took over does.
      held.lossOf(merchantNo).throwIfAborted();
      if (!end.isRecorded) throw new Error(`the end of ${merchantNo} in run ${runId} was not recorded`);
      await markReported(active, end.standing, [end]);
      await endJoined(deps.db, { runId, merchantNo, begunAt });
      return end.exitCode;
    });
  }

  async #learn(runId: number, signal: AbortSignal): Promise<KnownRun> {
    const row = await queuedRun(this.#app.database.db, runId);
    if (row === undefined)
      throw new Error(`run ${runId} is on the queue and has no row that says what it was asked for`);
    const zoneGate = runZoneGate({ ...runDeps(this.#app, signal), ...this.#change });
    return { ...row, asked: row.request, zoneGate, ownsStore: null };
  }
}
