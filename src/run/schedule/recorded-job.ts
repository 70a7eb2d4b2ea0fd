/** Work that reads no ledger, recorded as a run, so that the schedule knows when it was done. */
import { messageOf } from '../../ledger/text.ts';
import type { Db } from '../../store/engine/database.ts';
import { finishRun, startRun } from '../../store/runs.ts';
import type { DueJob } from './due.ts';
import type { JobReport } from './job.ts';
import { exitCodeOf } from '../verdict/exit-codes.ts';

export interface RecordedWork {
  readonly db: Db;
  readonly now: () => Date;
  readonly holder: string;
  readonly signal: AbortSignal;
}

/** How the work ended; the run on record has its figures and notes. */
type Ended = Pick<JobReport, 'exitCode' | 'notes'> & { readonly figures: object };

/**
 * Does the work and records it as a run of the job, of this slot if the schedule asked for it. Throws what the work throws; the run is
 * then recorded as failed.
 */
export async function recordedJob<End extends Ended>(
  { db, now, holder, signal }: RecordedWork,
  { job, slot }: Pick<DueJob, 'job'> & { readonly slot: string | null },
  work: (runId: number) => Promise<End>,
): Promise<Omit<End, 'figures'> & JobReport> {
  const startedMs = performance.now();
  const runId = await startRun(db, { command: job, slot, holder, fromDay: null, toDay: null, now: now() });
  try {
    const { figures, ...ended } = await work(runId);
    const { exitCode, notes } = ended;
    await finishRun(db, runId, { exitCode, figures: { ...figures, notes }, now: now() });
    return { ...ended, runId, elapsedMs: Math.round(performance.now() - startedMs) };
  } catch (error) {
    const figures = { notes: [messageOf(error)], interrupted: signal.aborted };
    await finishRun(db, runId, { exitCode: exitCodeOf(error), figures, now: now() }).catch(() => undefined);
    throw error;
  }
}
