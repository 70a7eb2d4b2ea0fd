/** The queue by which workers share the merchants of a run, as the core knows it. A plugin has it. */
import { slot } from '../host/slot.ts';
import type { Db } from '../store/engine/database.ts';
import type { Logger } from 'pino';
import type { PlatformApp } from './app.ts';
import type { DueJob } from './schedule/due.ts';
import type { Job } from './schedule/job.ts';

/** The jobs of one lane of the queue of workers. */
export interface LaneCounts {
  readonly lane: string;
  /** Waiting for a worker, those included that are tried again later. */
  readonly waiting: number;
  readonly active: number;
  /** When the longest waiting job was put on the queue; null if none waits. */
  readonly oldest: Date | null;
}

/** What is on the queue of workers. */
export interface QueueGlance {
  readonly lanes: readonly LaneCounts[];
  readonly givenUpCount: number;
  /** The first of the jobs that were given up. */
  readonly givenUp: readonly { readonly merchantNo: string; readonly runId: number }[];
}

/** The slots of jobs of the ledger, as workers do them. */
export interface QueuedSlots {
  /** Puts the slot on the queue, unless it is there or done: another schedule may have been faster. Returns at once. */
  readonly put: (due: DueJob, job: Job, signal: AbortSignal) => Promise<void>;
  /** Tells the runs that have ended since they were put on the queue. */
  readonly tellEnds: () => Promise<void>;
}

/** The queue by which workers share the merchants of a run, where DAYBOOK_WORKERS asks for it. */
export interface WorkQueue {
  /** Makes or updates its tables. Returns the names of what was made; none if nothing was missing. */
  readonly install: (db: Db) => Promise<readonly string[]>;
  /** What is on it; null if its tables are missing. */
  readonly glance: (db: Db) => Promise<QueueGlance | null>;
  /** Calls `work` with the slots while the queue is open. Throws `MigrationsPending` if its tables are missing. */
  readonly withSlots: (
    app: PlatformApp,
    log: Logger,
    work: (slots: QueuedSlots) => Promise<void>,
  ) => Promise<void>;
}

export const workQueueSlot = slot<WorkQueue>('workers');

/** The queue of workers; null where these settings ask for none, or no plugin has one. */
export const queueOf = ({ workers }: { readonly workers: string }): WorkQueue | null =>
  workers === 'none' ? null : workQueueSlot.part();
