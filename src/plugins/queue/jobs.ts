/**
 * Reads pg-boss's table of jobs, where pg-boss itself has no bounded way to ask. Its columns are those of the version
 * that package.json names.
 */
import { sql } from 'kysely';
import { type Db, type Trx, rowsOf, rowOf } from '../../store/engine/database.ts';
import { DEAD_LETTERS, NIGHT, QUEUE_SCHEMA, type MerchantJob, executorOf, type Queue } from './queue.ts';
import { randomUUID } from 'node:crypto';
import { EXIT, type ExitCode } from '../../ledger/ending.ts';
import type { LaneCounts, QueueGlance } from '../../run/work-queue.ts';

const JOBS = sql.table(`${QUEUE_SCHEMA}.job`);
/** States of a job that is still to be done, as pg-boss orders them: created, retry, active. */
const IS_OPEN = sql`state <= 'active'`;
/** A dead letter that pg-boss could not send back is marked as failed there, and stays a dead letter. */
const IS_DEAD = sql`state <> 'completed' AND state <> 'cancelled'`;
const IS_OF_NIGHT = sql`name = ${NIGHT}`;

/** The run of a job; null where its payload, which anybody with the queue's rights may write, does not say it as daybook does. */
const RUN_ID = sql`CASE WHEN data->>'runId' ~ '^[0-9]{1,15}$' THEN (data->>'runId')::bigint END`;

export async function isEmpty(db: Db): Promise<boolean> {
  const rows = await rowsOf(db)<{ open: boolean }>`
    SELECT EXISTS (SELECT 1 FROM ${JOBS} WHERE ${IS_OF_NIGHT} AND ${IS_OPEN})
      OR EXISTS (SELECT 1 FROM run_merchant WHERE joins AND exit_code IS NULL) AS open`;
  return !rows[0]!.open;
}

/** Whether a merchant waits for a worker. */
export async function isWaiting(db: Db): Promise<boolean> {
  const { waits } = await rowOf(db)<{ waits: boolean }>`
    SELECT EXISTS (
      SELECT 1 FROM ${JOBS} WHERE ${IS_OF_NIGHT} AND state < 'active' AND start_after <= now()) AS waits`;
  return waits;
}

export async function laneCounts(db: Db): Promise<LaneCounts[]> {
  const rows = await rowsOf(db)<LaneCounts>`
    SELECT name AS lane, count(*) FILTER (WHERE state < 'active') AS waiting,
      count(*) FILTER (WHERE state = 'active') AS active,
      min(created_on) FILTER (WHERE state < 'active') AS oldest
    FROM ${JOBS} WHERE ${IS_OF_NIGHT} AND ${IS_OPEN} GROUP BY name`;
  return [rows[0] ?? { lane: NIGHT, waiting: 0, active: 0, oldest: null }];
}

/** A job that was given up: each of its attempts failed, or its workers were lost. */
export interface DeadLetter extends MerchantJob {
  readonly id: string;
  readonly problem: string;
  /** The exit code that the last attempt's error had; null if the worker was lost. */
  readonly exitCode: number | null;
  readonly attempts: number;
  readonly givenUpAt: Date;
}

interface DeadLetterFilter {
  readonly limit: number;
  readonly merchants?: readonly string[] | undefined;
  readonly ids?: readonly string[];
}

/** Dead letters, the oldest first. */
export const deadLetters = (db: Db, { limit, merchants, ids }: DeadLetterFilter) => rowsOf(db)<DeadLetter>`
    SELECT id, coalesce(${RUN_ID}, 0) AS "runId", coalesce(data->>'merchantNo', singleton_key, 'job ' || id) AS "merchantNo",
      coalesce(source_output->>'message', source_output->'value'->>'message', 'no reason is known') AS problem,
      CASE WHEN source_output->>'exitCode' ~ '^[0-9]{1,3}$' THEN (source_output->>'exitCode')::int END AS "exitCode", source_retry_count + 1 AS attempts,
      created_on AS "givenUpAt"
    FROM ${JOBS}
    WHERE name = ${DEAD_LETTERS} AND ${IS_DEAD}
      ${merchants === undefined ? sql`` : sql`AND singleton_key = ANY(${merchants})`}
      ${ids === undefined ? sql`` : sql`AND id = ANY(${ids}::uuid[])`}
    ORDER BY created_on, id LIMIT ${limit}`;

export async function countDeadLetters(db: Db): Promise<number> {
  const { count } = await rowOf(db)<{ count: number }>`
    SELECT count(*) AS count FROM ${JOBS} WHERE name = ${DEAD_LETTERS} AND ${IS_DEAD}`;
  return count;
}

export async function merchantsWithJob(db: Db, merchants: readonly string[]): Promise<Set<string>> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT singleton_key AS "merchantNo" FROM ${JOBS}
    WHERE ${IS_OF_NIGHT} AND ${IS_OPEN} AND singleton_key = ANY(${merchants})`;
  return new Set(rows.map(({ merchantNo }) => merchantNo));
}

/** Dead letters that are shown; their count covers all. */
const SHOWN = 10;

/** What is on the queue; null if its tables are missing. */
export async function glanceAtQueue(db: Db): Promise<QueueGlance | null> {
  const rows = await rowsOf(db)<{ exists: boolean }>`
    SELECT to_regclass(${`${QUEUE_SCHEMA}.job`}) IS NOT NULL AS exists`;
  if (!rows[0]!.exists) return null;
  return {
    lanes: await laneCounts(db),
    givenUpCount: await countDeadLetters(db),
    givenUp: await deadLetters(db, { limit: SHOWN }),
  };
}

const LETTERS_MAX = 10_000;

export interface Redriven {
  /** These are on their queue again, with all their attempts. */
  readonly sent: readonly DeadLetter[];
  /** These stay: another job of their merchant has to be done first. */
  readonly kept: readonly DeadLetter[];
}

/**
 * Sends dead letters back, of some merchants or of all, one for each merchant: the oldest. The others stay, as
 * do those of a merchant with a job that waits or is at work. `trx` is the transaction that opens their runs again.
 */
export async function redrive(
  { boss }: Pick<Queue, 'boss'>,
  trx: Trx,
  merchants?: readonly string[],
): Promise<Redriven> {
  const db = executorOf(trx);
  const letters = await deadLetters(trx, { limit: LETTERS_MAX, merchants });
  const ids = (await sendable(trx, letters)).map(({ id }) => id);
  if (ids.length === 0) return { sent: [], kept: letters };
  // A dead letter that could not be returned before is marked as failed; it must wait like the others to be sent.
  await boss.retry(DEAD_LETTERS, ids, { db });
  await boss.redrive(DEAD_LETTERS, { ids, limit: ids.length, db });
  const left = new Set((await deadLetters(trx, { limit: ids.length, ids })).map(({ id }) => id));
  const sent = letters.filter(({ id }) => ids.includes(id) && !left.has(id));
  return { sent, kept: letters.filter((letter) => !sent.includes(letter)) };
}

/** The oldest letter of each merchant where no other job of the merchant is open. */
async function sendable(trx: Trx, letters: readonly DeadLetter[]): Promise<DeadLetter[]> {
  const merchants = [...new Set(letters.map(({ merchantNo }) => merchantNo))];
  const taken = await merchantsWithJob(trx, merchants);
  return letters.filter(({ merchantNo }) => !taken.has(merchantNo) && taken.add(merchantNo));
}

const BATCH = 5_000;

/**
 * Adds one job a merchant, in the transaction that puts the run on record. Returns the jobs that were refused: an
 * earlier job of their merchant is still waiting or at work on this queue.
 */
export async function enqueue(
  { boss }: Pick<Queue, 'boss'>,
  trx: Trx,
  jobs: readonly MerchantJob[],
): Promise<MerchantJob[]> {
  const db = executorOf(trx);
  const refused: MerchantJob[] = [];
  for (let at = 0; at < jobs.length; at += BATCH) {
    const batch = jobs.slice(at, at + BATCH).map((job) => ({ id: randomUUID(), job }));
    const sent = batch.map(({ id, job }) => ({ id, data: job, singletonKey: job.merchantNo }));
    const taken = new Set(await boss.insert(NIGHT, sent, { db, returnId: true }));
    refused.push(...batch.filter(({ id }) => !taken.has(id)).map(({ job }) => job));
  }
  return refused;
}

/**
 * Gives merchants that waited for their jobs of earlier runs jobs of their own, where those jobs are gone and did not end
 * them: they had begun before the run did, read fewer days back, or were given up.
 */
export async function sendJoined({ boss, db }: Queue): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const jobs = await rowsOf(trx)<MerchantJob>`
      SELECT DISTINCT ON (merchant_no) run_id AS "runId", merchant_no AS "merchantNo" FROM run_merchant AS own
      WHERE joins AND exit_code IS NULL AND NOT EXISTS (
        SELECT FROM ${JOBS} WHERE name = 'night' AND ${IS_OPEN} AND singleton_key = own.merchant_no)
      ORDER BY merchant_no, run_id LIMIT ${LOST_MAX}`;
    if (jobs.length === 0) return;
    const refused = await enqueue({ boss }, trx, jobs);
    const sent = jobs.filter((job) => !refused.includes(job));
    await sql`
      UPDATE run_merchant AS own SET joins = false FROM ${jobRows(sent)}
      WHERE own.run_id = job.run_id AND own.merchant_no = job.merchant_no`.execute(trx);
  });
}

/** A job that a worker has taken. `retryCount` says which attempt it is. */
export interface ClaimedJob extends MerchantJob {
  readonly id: string;
  readonly retryCount: number;
}

/**
 * Puts a job back that was not worked on, as a new one: no attempt is used up. It may be taken again after `delayS`.
 * Does nothing if the job is no longer this worker's.
 */
export async function giveBack({ boss, db }: Queue, job: ClaimedJob, delayS: number): Promise<void> {
  const { runId, merchantNo } = job;
  await db.transaction().execute(async (trx) => {
    const executor = executorOf(trx);
    const removed = await boss.deleteJob(NIGHT, attemptOf(job), { db: executor });
    if (affectedBy(removed) === 0) return;
    const again = { data: { runId, merchantNo }, singletonKey: merchantNo, startAfter: delayS };
    await boss.insert(NIGHT, [again], { db: executor });
  });
}

/**
 * The job that a payload describes. One that cannot be read is put with the jobs that were given up, without further attempts, and named to
 * `onProblem`; null.
 */
export async function claimed(
  { boss, db }: Queue,
  { id, retryCount, data }: { readonly id: string; readonly retryCount: number; readonly data: unknown },
  onProblem: (error: unknown) => void,
): Promise<ClaimedJob | null> {
  const { runId, merchantNo } = (data ?? {}) as Readonly<Record<string, unknown>>;
  if (Number.isSafeInteger(runId) && typeof merchantNo === 'string' && merchantNo !== '')
    return { id, retryCount, runId: Number(runId), merchantNo };
  const message = `the payload of job ${id} cannot be read: it does not name a run and a merchant`;
  onProblem(new Error(`${message}; the job is given up, and \`daybook jobs list\` shows it`));
  await sql`UPDATE ${JOBS} SET retry_limit = retry_count WHERE ${IS_OF_NIGHT} AND id = ${id}::uuid`.execute(
    db,
  );
  await boss.fail(NIGHT, { id, retryCount }, { message });
  return null;
}

/** Names this attempt of the job, so that a later one of another worker is left alone. */
export const attemptOf = ({ id, retryCount }: ClaimedJob) => ({ id, retryCount });

/** How many jobs a call to pg-boss changed. Its type does not say. */
export const affectedBy = (response: object): number => (response as { readonly affected: number }).affected;

const LOST_MAX = 1_000;
/** Dead letters of one merchant that are read; each run may have left one. */
const LETTERS_EACH_MAX = 20;

/** A merchant whose job was given up, or is missing. */
interface LostMerchant extends MerchantJob {
  readonly problem: string;
  readonly exitCode: ExitCode;
}

/**
 * Merchants that wait in a run that has not ended, and have no job that waits or is at work: it was given up, or waited
 * for too long. Each merchant has one or the other at any moment, as rows and jobs are written together. Both are read
 * once, whatever the planner knows of them.
 */
export async function lostMerchants(db: Db): Promise<LostMerchant[]> {
  const rows = await rowsOf(db)<MerchantJob>`
    SELECT run_id AS "runId", merchant_no AS "merchantNo" FROM (
      SELECT waiting.run_id, waiting.merchant_no
      FROM run JOIN run_merchant waiting ON waiting.run_id = run.id AND waiting.exit_code IS NULL AND NOT waiting.joins
      WHERE run.request IS NOT NULL AND run.exit_code IS NULL
      EXCEPT SELECT ${RUN_ID}, singleton_key COLLATE "C" FROM ${JOBS} WHERE ${IS_OF_NIGHT} AND ${IS_OPEN}
    ) AS lost
    ORDER BY 1, 2 LIMIT ${LOST_MAX}`;
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

/** The merchants and their runs as rows `(run_id, merchant_no)` with the alias `job`. */
const jobRows = (jobs: readonly MerchantJob[]) => sql`unnest(
  ${jobs.map(({ runId }) => runId)}::bigint[], ${jobs.map(({ merchantNo }) => merchantNo)}::text[]) AS job (run_id, merchant_no)`;

/** Makes these merchants wait again, in the transaction that sends their jobs back. Their runs are open again. */
export async function waitAgain(trx: Trx, jobs: readonly MerchantJob[]): Promise<void> {
  const runIds = jobs.map(({ runId }) => runId);
  await sql`
    UPDATE run_merchant AS own SET exit_code = NULL, finished_at = NULL, holder = NULL FROM ${jobRows(jobs)}
    WHERE own.run_id = job.run_id AND own.merchant_no = job.merchant_no`.execute(trx);
  await sql`
    UPDATE run SET exit_code = NULL, finished_at = NULL WHERE id = ANY(${runIds}::bigint[])`.execute(trx);
}
