/**
 * Reads pg-boss's table of jobs, where pg-boss itself has no bounded way to ask. Its columns are those of the version
 * that package.json names.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { DB } from '../store/engine/schema.ts';
import {
  DEAD_LETTERS,
  LANES,
  QUEUE_SCHEMA,
  type Lane,
  type MerchantJob,
  executorOf,
  type Queue,
} from './queue.ts';

export const JOBS = sql.table(`${QUEUE_SCHEMA}.job`);
/** States of a job that is still to be done, as pg-boss orders them: created, retry, active. */
export const IS_OPEN = sql`state <= 'active'`;
/** A dead letter that pg-boss could not send back is marked as failed there, and stays a dead letter. */
const IS_DEAD = sql`state <> 'completed' AND state <> 'cancelled'`;
export const IS_ON_A_LANE = sql`name IN (${sql.join(LANES)})`;

/** Whether no job is waiting or at work, in any worker. */
export async function isEmpty(db: Kysely<DB>): Promise<boolean> {
  const { rows } = await sql<{ open: boolean }>`
    SELECT EXISTS (SELECT 1 FROM ${JOBS} WHERE ${IS_ON_A_LANE} AND ${IS_OPEN}) AS open`.execute(db);
  return !rows[0]!.open;
}

/** Whether a job waits on the lane and may be taken now. */
export async function waitingOn(db: Kysely<DB>, lane: Lane): Promise<boolean> {
  const { rows } = await sql<{ waits: boolean }>`
    SELECT EXISTS (
      SELECT 1 FROM ${JOBS} WHERE name = ${lane} AND state < 'active' AND start_after <= now()) AS waits`.execute(
    db,
  );
  return rows[0]!.waits;
}

/** How many jobs a queue has. */
export interface LaneCounts {
  readonly lane: Lane;
  /** Waiting for a worker, those included that are tried again later. */
  readonly waiting: number;
  readonly active: number;
  /** When the longest waiting job was put on the queue; null if none waits. */
  readonly oldest: Date | null;
}

export async function laneCounts(db: Kysely<DB>): Promise<LaneCounts[]> {
  const { rows } = await sql<LaneCounts>`
    SELECT name AS lane, count(*) FILTER (WHERE state < 'active') AS waiting,
      count(*) FILTER (WHERE state = 'active') AS active,
      min(created_on) FILTER (WHERE state < 'active') AS oldest
    FROM ${JOBS} WHERE ${IS_ON_A_LANE} AND ${IS_OPEN} GROUP BY name`.execute(db);
  return LANES.map(
    (lane) => rows.find((row) => row.lane === lane) ?? { lane, waiting: 0, active: 0, oldest: null },
  );
}

/** A job that was given up: each of its attempts failed, or its workers were lost. */
export interface DeadLetter extends MerchantJob {
  readonly id: string;
  readonly lane: Lane;
  /** Why the last attempt failed. */
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
export async function deadLetters(
  db: Kysely<DB>,
  { limit, merchants, ids }: DeadLetterFilter,
): Promise<DeadLetter[]> {
  const { rows } = await sql<DeadLetter>`
    SELECT id, (data->>'runId')::bigint AS "runId", data->>'merchantNo' AS "merchantNo", source_name AS lane,
      coalesce(source_output->>'message', source_output->'value'->>'message', 'no reason is known') AS problem,
      (source_output->>'exitCode')::int AS "exitCode", source_retry_count + 1 AS attempts,
      created_on AS "givenUpAt"
    FROM ${JOBS}
    WHERE name = ${DEAD_LETTERS} AND ${IS_DEAD}
      ${merchants === undefined ? sql`` : sql`AND singleton_key = ANY(${merchants})`}
      ${ids === undefined ? sql`` : sql`AND id = ANY(${ids}::uuid[])`}
    ORDER BY created_on, id LIMIT ${limit}`.execute(db);
  return rows;
}

export async function countDeadLetters(db: Kysely<DB>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM ${JOBS} WHERE name = ${DEAD_LETTERS} AND ${IS_DEAD}`.execute(db);
  return rows[0]!.count;
}

/** Of these merchants, those with a job on the lane that waits or is at work. */
export async function merchantsWithJob(
  db: Kysely<DB>,
  lane: Lane,
  merchants: readonly string[],
): Promise<Set<string>> {
  const { rows } = await sql<{ merchantNo: string }>`
    SELECT singleton_key AS "merchantNo" FROM ${JOBS}
    WHERE name = ${lane} AND ${IS_OPEN} AND singleton_key = ANY(${merchants})`.execute(db);
  return new Set(rows.map(({ merchantNo }) => merchantNo));
}

/** Dead letters that are shown; their count covers all. */
const SHOWN = 10;

export interface QueueGlance {
  readonly lanes: readonly LaneCounts[];
  readonly givenUpCount: number;
  /** The first of them. */
  readonly givenUp: readonly DeadLetter[];
}

/** What is on the queue; null if its tables are missing. */
export async function glanceAtQueue(db: Kysely<DB>): Promise<QueueGlance | null> {
  const { rows } = await sql<{ exists: boolean }>`
    SELECT to_regclass(${`${QUEUE_SCHEMA}.job`}) IS NOT NULL AS exists`.execute(db);
  if (!rows[0]!.exists) return null;
  return {
    lanes: await laneCounts(db),
    givenUpCount: await countDeadLetters(db),
    givenUp: await deadLetters(db, { limit: SHOWN }),
  };
}

/** Dead letters that are read in one call. */
const LETTERS_MAX = 10_000;

export interface Redriven {
  /** These are on their queue again, with all their attempts. */
  readonly sent: readonly DeadLetter[];
  /** These stay: another job of their merchant has to be done first. */
  readonly kept: readonly DeadLetter[];
}

/**
 * Sends dead letters back, of some merchants or of all, one for each merchant and queue: the oldest. The others stay, as
 * do those of a merchant with a job that waits or is at work. `trx` is the transaction that opens their runs again.
 */
export async function redrive(
  { boss }: Pick<Queue, 'boss'>,
  trx: Transaction<DB>,
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

/** The oldest letter of each merchant and queue where no other job of the merchant is open. */
async function sendable(trx: Transaction<DB>, letters: readonly DeadLetter[]): Promise<DeadLetter[]> {
  const chosen: DeadLetter[] = [];
  for (const lane of LANES) {
    const own = letters.filter((letter) => letter.lane === lane);
    const merchants = [...new Set(own.map(({ merchantNo }) => merchantNo))];
    const taken = await merchantsWithJob(trx, lane, merchants);
    for (const letter of own) {
      if (taken.has(letter.merchantNo)) continue;
      taken.add(letter.merchantNo);
      chosen.push(letter);
    }
  }
  return chosen;
}
