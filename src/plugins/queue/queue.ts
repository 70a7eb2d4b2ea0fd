/** Opens the queue: pg-boss on daybook's own connections. */
import { CompiledQuery } from 'kysely';
import type { PgBoss, Db as Executor, Queue as QueueOptions } from 'pg-boss';
import { loadFor } from '../../host/packages.ts';
import type { App } from '../../run/app.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { MigrationsPending } from '../../store/engine/errors.ts';
import { type Db, rowsOf } from '../../store/engine/database.ts';

/** How often pg-boss searches for jobs of dead workers. All workers together search once in this time. */
const SUPERVISE_EVERY_S = 10;
/** For jobs that wait for other jobs, which daybook has none of. So it is as rare as it may be. */
const FLOW_EVERY_S = 86_400;

export interface Queue {
  readonly boss: PgBoss;
  readonly db: Db;
  /** Stops what runs in the background. The database stays open. */
  readonly close: () => Promise<void>;
}

/** Makes a pg-boss. Loading it takes long, so only who uses it does that. */
async function newBoss(
  db: Db,
  options: { readonly supervise: boolean; readonly migrate: boolean; readonly createSchema?: boolean },
): Promise<PgBoss> {
  const { PgBoss: Boss } = await loadFor('the queue of workers', () => import('pg-boss'));
  return new Boss({
    createSchema: false,
    ...options,
    db: executorOf(db),
    schema: QUEUE_SCHEMA,
    schedule: false,
    superviseIntervalSeconds: SUPERVISE_EVERY_S,
    monitorIntervalSeconds: SUPERVISE_EVERY_S,
    flowIntervalSeconds: FLOW_EVERY_S,
    monitorVacuum: false,
  });
}

interface OpenOptions {
  readonly supervises: boolean;
  readonly onProblem: (error: unknown) => void;
}

/**
 * Opens the queue. `supervises`: it searches in the background for jobs of dead workers, as workers do. `onProblem` is
 * called with what fails in the background, and is tried again by itself. Throws `MigrationsPending` if the queue's
 * tables are missing, or are those of another version of pg-boss.
 */
export async function openQueue(db: Db, { supervises, onProblem }: OpenOptions): Promise<Queue> {
  const boss = await newBoss(db, { supervise: supervises, migrate: false });
  boss.on('error', onProblem);
  const close = (): Promise<void> => boss.stop({ graceful: false });
  try {
    await boss.start();
  } catch (error) {
    await close();
    if (!(error instanceof Error) || !/^pg-boss (is not installed|database requires)/.test(error.message))
      throw error;
    throw new MigrationsPending(
      'the database lacks the queue of this version: run `daybook migrate` with DAYBOOK_WORKERS=queue and the files of sql/roles ' +
        '(all but migrate.sql), then the same command again.',
      { cause: error },
    );
  }
  return { boss, db, close };
}

/**
 * Opens the queue for `work`, and always closes it. `supervises` is for workers. Throws `UsageError` if DAYBOOK_WORKERS is
 * not `queue`, and what `openQueue` throws.
 */
export async function withQueue<Result>(
  {
    database,
    settings,
  }: Pick<App, 'database'> & { readonly settings: Pick<SettingsWithoutPlatform, 'workers'> },
  options: OpenOptions,
  work: (queue: Queue) => Promise<Result>,
): Promise<Result> {
  if (settings.workers !== 'queue') {
    throw new UsageError(
      'there is no queue: DAYBOOK_WORKERS is none, so the schedule does the work itself. Set it to queue and run ' +
        '`daybook migrate` to have workers.',
    );
  }
  const queue = await openQueue(database.db, options);
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

/** pg-boss sends some of its work as one script with its own BEGIN and COMMIT. */
const isScript = (text: string): boolean => /^\s*BEGIN\b/i.test(text);

/**
 * For pg-boss's option `db`. Given a transaction, the statements are part of it. Throws the errors of
 * src/store/engine/errors.ts.
 */
export const executorOf = (db: Db): Executor => ({
  async executeSql(text, values = []) {
    const query = CompiledQuery.raw(text, [...values]);
    if (!isScript(text)) return { rows: [...(await db.executeQuery(query)).rows] };
    return db.connection().execute(async (connection) => {
      try {
        return { rows: [...(await connection.executeQuery(query)).rows] };
      } catch (error) {
        // The script's transaction is still open, and the next user of the connection must not be in it.
        await connection.executeQuery(CompiledQuery.raw('ROLLBACK')).catch(() => undefined);
        throw error;
      }
    });
  },
});

/**
 * Makes or updates pg-boss's tables, and all queues with their options. Returns true if tables or queues were missing
 * or of an older version. The schema itself is only made if it is missing, as that needs a right on the database.
 */
export async function installQueue(db: Db): Promise<boolean> {
  const rows = await rowsOf(db)<{ exists: boolean }>`
    SELECT to_regnamespace(${QUEUE_SCHEMA}) IS NOT NULL AS exists`;
  const boss = await newBoss(db, { supervise: false, migrate: true, createSchema: !rows[0]!.exists });
  const before = (await boss.isInstalled()) ? await boss.schemaVersion() : null;
  try {
    await boss.start();
    const isNew = await bringQueues(boss);
    return isNew || (await boss.schemaVersion()) !== before;
  } finally {
    await boss.stop({ graceful: false });
  }
}

/** True if one was missing. The options of the others are set again. */
async function bringQueues(boss: PgBoss): Promise<boolean> {
  const known = new Set((await boss.getQueues()).map(({ name }) => name));
  for (const { name, policy, ...options } of QUEUES) {
    if (known.has(name)) await boss.updateQueue(name, options);
    else await boss.createQueue(name, { ...options, ...(policy !== undefined && { policy }) });
  }
  return QUEUES.some(({ name }) => !known.has(name));
}

/** The database schema of pg-boss's tables, separate from daybook's own. */
export const QUEUE_SCHEMA = 'daybook_queue';

/** The queue that workers take jobs from. */
export const NIGHT = 'night';

/** Where a job goes whose last attempt failed. Nothing takes it from there but `jobs redrive`. */
export const DEAD_LETTERS = 'dead';

/** A job that failed, or whose worker died, is tried again this often before it is given up. */
export const RETRY_LIMIT = 5;
/** The pause before the first of these attempts. It doubles each time, with some jitter. */
const RETRY_DELAY_S = 5;
const RETRY_DELAY_MAX_S = 300;

/** A job goes back to its queue if its worker has not been heard of for this long. */
const HEARTBEAT_S = 20;
/** No merchant takes longer. It is the longest time that pg-boss knows. */
const EXPIRE_S = 86_400;
/** How long a job waits for a worker before it is dropped; its run then says so. */
const KEPT_WAITING_S = 14 * 86_400;
const KEPT_DONE_S = 86_400;
const KEPT_DEAD_S = 90 * 86_400;

const worked = {
  // One job a merchant, waiting or at work: the next one is refused until it is done.
  policy: 'exclusive',
  deadLetter: DEAD_LETTERS,
  retryLimit: RETRY_LIMIT,
  retryDelay: RETRY_DELAY_S,
  retryBackoff: true,
  retryDelayMax: RETRY_DELAY_MAX_S,
  heartbeatSeconds: HEARTBEAT_S,
  expireInSeconds: EXPIRE_S,
  retentionSeconds: KEPT_WAITING_S,
  deleteAfterSeconds: KEPT_DONE_S,
} as const;

/** All queues. The dead letters come first, as the others name them. */
const QUEUES: readonly QueueOptions[] = [
  { name: DEAD_LETTERS, retryLimit: 0, retentionSeconds: KEPT_DEAD_S, deleteAfterSeconds: KEPT_DEAD_S },
  { name: NIGHT, ...worked },
];

export interface MerchantJob {
  readonly runId: number;
  readonly merchantNo: string;
}
