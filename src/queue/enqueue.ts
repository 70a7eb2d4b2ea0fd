/** Puts jobs on a queue: for a run, or back after an attempt that could not be made. */
import { randomUUID } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { DB } from '../store/engine/schema.ts';
import { executorOf } from './executor.ts';
import type { Lane, MerchantJob } from './lanes.ts';
import type { Queue } from './queue.ts';

/** Jobs that are sent in one statement. */
const BATCH = 5_000;

/**
 * Adds one job a merchant, in the transaction that puts the run on record. Returns the jobs that were refused: an
 * earlier job of their merchant is still waiting or at work on this queue.
 */
export async function enqueue(
  { boss }: Pick<Queue, 'boss'>,
  trx: Transaction<DB>,
  lane: Lane,
  jobs: readonly MerchantJob[],
): Promise<MerchantJob[]> {
  const db = executorOf(trx);
  const refused: MerchantJob[] = [];
  for (let at = 0; at < jobs.length; at += BATCH) {
    const batch = jobs.slice(at, at + BATCH).map((job) => ({ id: randomUUID(), job }));
    const sent = batch.map(({ id, job }) => ({ id, data: job, singletonKey: job.merchantNo }));
    const taken = new Set(await boss.insert(lane, sent, { db, returnId: true }));
    refused.push(...batch.filter(({ id }) => !taken.has(id)).map(({ job }) => job));
  }
  return refused;
}

/** A job that a worker has taken. `retryCount` says which attempt it is. */
export interface ClaimedJob extends MerchantJob {
  readonly lane: Lane;
  readonly id: string;
  readonly retryCount: number;
}

/**
 * Puts a job back that was not worked on, as a new one: no attempt is used up. It may be taken again after `delayS`.
 * Does nothing if the job is no longer this worker's.
 */
export async function giveBack({ boss, db }: Queue, job: ClaimedJob, delayS: number): Promise<void> {
  const { lane, runId, merchantNo } = job;
  await db.transaction().execute(async (trx) => {
    const executor = executorOf(trx);
    const removed = await boss.deleteJob(lane, attemptOf(job), { db: executor });
    if (affectedBy(removed) === 0) return;
    const again = { data: { runId, merchantNo }, singletonKey: merchantNo, startAfter: delayS };
    await boss.insert(lane, [again], { db: executor });
  });
}

/** Names this attempt of the job, so that a later one of another worker is left alone. */
export const attemptOf = ({ id, retryCount }: ClaimedJob) => ({ id, retryCount });

/** How many jobs a call to pg-boss changed. Its type does not say. */
export const affectedBy = (response: object): number => (response as { readonly affected: number }).affected;
