/** Opens the queue: pg-boss on daybook's own connections. */
import type { Kysely } from 'kysely';
import type { PgBoss } from 'pg-boss';
import { MigrationsPending } from '../store/engine/errors.ts';
import type { DB } from '../store/engine/schema.ts';
import { executorOf } from './executor.ts';
import { QUEUE_SCHEMA } from './lanes.ts';

/** How often pg-boss searches for jobs of dead workers. All workers together search once in this time. */
const SUPERVISE_EVERY_S = 10;
/** For jobs that wait for other jobs, which daybook has none of. So it is as rare as it may be. */
const FLOW_EVERY_S = 86_400;

export interface Queue {
  readonly boss: PgBoss;
  readonly db: Kysely<DB>;
  /** Stops what runs in the background. The database stays open. */
  readonly close: () => Promise<void>;
}

/** Makes a pg-boss. Loading it takes long, so only who uses it does that. */
export async function newBoss(
  db: Kysely<DB>,
  options: { readonly supervise: boolean; readonly migrate: boolean; readonly createSchema?: boolean },
): Promise<PgBoss> {
  const { PgBoss: Boss } = await import('pg-boss');
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

/**
 * Opens the queue. `supervises`: it searches in the background for jobs of dead workers, as workers do. `onProblem` is
 * called with what fails in the background, and is tried again by itself. Throws `MigrationsPending` if the queue's
 * tables are missing, or are those of another version of pg-boss.
 */
export async function openQueue(
  db: Kysely<DB>,
  { supervises, onProblem }: { readonly supervises: boolean; readonly onProblem: (error: unknown) => void },
): Promise<Queue> {
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
      'the database lacks the queue of this version: run `daybook migrate` with DAYBOOK_WORKERS=queue, then the same ' +
        'command again.',
      { cause: error },
    );
  }
  return { boss, db, close };
}
