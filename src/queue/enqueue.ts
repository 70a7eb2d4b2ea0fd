/** Puts jobs on a queue: for a run, or back after an attempt that could not be made. */
import { randomUUID } from 'node:crypto';
import { type Transaction, sql, type Kysely } from 'kysely';
import { EXIT, type ExitCode } from '../ledger/ending.ts';
import type { DB } from '../store/engine/schema.ts';
import { deadLetters, IS_ON_A_LANE, IS_OPEN, JOBS } from './job-table.ts';
import { executorOf, type Lane, type MerchantJob, type Queue } from './queue.ts';

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

/** Merchants that are read in one call. */
const LOST_MAX = 1_000;
/** Dead letters of one merchant that are read; each run may have left one. */
const LETTERS_EACH_MAX = 20;

/** A merchant whose job was given up, or is missing. */
interface LostMerchant extends MerchantJob {
  /** Why, as a sentence. */
  readonly problem: string;
  readonly exitCode: ExitCode;
}

/**
 * Merchants that wait in a run that has not ended, and have no job that waits or is at work: it was given up, or waited
 * for too long. Each merchant has one or the other at any moment, as rows and jobs are written together.
 */
export async function lostMerchants(db: Kysely<DB>): Promise<LostMerchant[]> {
  const { rows } = await sql<MerchantJob>`
    SELECT waiting.run_id AS "runId", waiting.merchant_no AS "merchantNo"
    FROM run JOIN run_merchant waiting ON waiting.run_id = run.id AND waiting.state = 'waiting'
    WHERE run.request IS NOT NULL AND run.exit_code IS NULL AND NOT EXISTS (
      SELECT 1 FROM ${JOBS}
      WHERE ${IS_ON_A_LANE} AND ${IS_OPEN} AND singleton_key = waiting.merchant_no
        AND (data->>'runId')::bigint = waiting.run_id)
    ORDER BY waiting.run_id, waiting.merchant_no LIMIT ${LOST_MAX}`.execute(db);
  if (rows.length === 0) return [];
  const merchants = rows.map(({ merchantNo }) => merchantNo);
  const letters = await deadLetters(db, { limit: LOST_MAX * LETTERS_EACH_MAX, merchants });
  return rows.map((row) => {
    const letter = letters.find(
      ({ runId, merchantNo }) => runId === row.runId && merchantNo === row.merchantNo,
    );
    if (letter === undefined) {
      return { ...row, problem: 'its job is missing: no worker took it in time', exitCode: EXIT.incomplete };
    }
    const { attempts, problem, exitCode } = letter;
    const given = `its job was given up after ${attempts} attempts: ${problem}`;
    return { ...row, problem: given, exitCode: exitCode === EXIT.fault ? EXIT.fault : EXIT.incomplete };
  });
}

/** Runs whose merchants have all ended, and that have no end of their own yet. */
export async function runsToFinish(db: Kysely<DB>): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    SELECT id FROM run WHERE request IS NOT NULL AND exit_code IS NULL AND NOT EXISTS (
      SELECT 1 FROM run_merchant WHERE run_id = run.id AND state = 'waiting')
    ORDER BY id`.execute(db);
  return rows.map(({ id }) => id);
}

/** Makes these merchants wait again, in the transaction that sends their jobs back. Their runs are open again. */
export async function waitAgain(trx: Transaction<DB>, jobs: readonly MerchantJob[]): Promise<void> {
  const runIds = jobs.map(({ runId }) => runId);
  const merchants = jobs.map(({ merchantNo }) => merchantNo);
  await sql`
    UPDATE run_merchant SET state = 'waiting', exit_code = NULL, finished_at = NULL, holder = NULL
    FROM unnest(${runIds}::bigint[], ${merchants}::text[]) AS again (run_id, merchant_no)
    WHERE run_merchant.run_id = again.run_id AND run_merchant.merchant_no = again.merchant_no`.execute(trx);
  await sql`UPDATE run SET exit_code = NULL, finished_at = NULL WHERE id = ANY(${runIds}::bigint[])`.execute(
    trx,
  );
}
