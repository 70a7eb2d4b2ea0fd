/** The schedule's work with workers: puts due jobs on the queue, and reports the end of each run. */
import type { Logger } from 'pino';
import type { Job } from '../../jobs/job.ts';
import { enqueue } from '../queue/enqueue.ts';
import type { Queue } from '../queue/queue.ts';
import { runDeps, type PlatformApp } from '../run/app.ts';
import { chosenMerchants, merchantsNotRead } from '../run/chosen-merchants.ts';
import { queueSlot } from '../run/queued/begin.ts';
import { finishQueuedRun } from '../run/queued/finish.ts';
import { notesOf } from '../run/run-state.ts';
import type { DueJob } from '../run/schedule/due.ts';
import { EXIT } from '../run/verdict/exit-codes.ts';
import { openRunOfSlot, openRunSince } from '../store/queued-runs.ts';
import { runById } from '../store/runs.ts';

/** A job that comes due waits this long for the run before it: until then its merchants still have their jobs. */
const WAITS_FOR_OTHERS_MS = 3_600_000;

export class QueuedSlots {
  readonly #app: PlatformApp;
  readonly #queue: Queue;
  readonly #log: Logger;
  /** Runs on the queue whose end is not reported yet. */
  readonly #open = new Map<number, DueJob>();

  constructor(app: PlatformApp, queue: Queue, log: Logger) {
    this.#app = app;
    this.#queue = queue;
    this.#log = log;
  }

  /** Puts the slot on the queue, unless it is there or done: another schedule may have been faster. Returns at once. */
  async put(due: DueJob, job: Job, signal: AbortSignal): Promise<void> {
    const app = this.#app;
    const { db } = app.database;
    if ((await openRunOfSlot(db, due.job, due.slot)) === undefined) {
      const other = await openRunSince(db, new Date(app.now().getTime() - WAITS_FOR_OTHERS_MS));
      if (other !== undefined) {
        this.#log.info({ ...due, run: other }, 'job waits until this run has ended');
        return;
      }
    }
    const merchants = await chosenMerchants(app, null);
    const notRead = await merchantsNotRead(app.settings, db);
    const deps = { ...runDeps(app, signal), ...job.lookback?.(app.settings) };
    const run = await queueSlot(
      { command: 'run', range: null, merchants, notRead, currencies: null, scheduled: due },
      { ...deps, enqueue: (trx, jobs) => enqueue(this.#queue, trx, 'night', jobs) },
    );
    if (run === null) {
      this.#log.info(due, 'job done by another process');
      return;
    }
    if (this.#open.has(run)) return;
    this.#open.set(run, due);
    this.#log.info({ ...due, run }, 'job is on the queue');
    // If no merchant could be queued, no worker will end the run.
    await finishQueuedRun(run, deps);
  }

  /** Tells the runs that have ended since they were put on the queue. */
  async tellEnds(): Promise<void> {
    for (const [run, due] of this.#open) {
      const row = await runById(this.#app.database.db, run);
      if (row?.exitCode === null) continue;
      this.#open.delete(run);
      if (row === undefined) continue;
      const { exitCode, figures } = row;
      const level = exitCode === EXIT.done ? 'info' : 'warn';
      this.#log[level](
        { ...due, run, exitCode, notes: notesOf(figures), elapsedMs: figures['elapsedMs'] },
        'job ended',
      );
    }
  }
}
