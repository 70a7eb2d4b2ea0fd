/** Whether a notification posted now would be kept: the database answers, has its tables, and there is a key. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { secretKeysProblem } from '../store/secrets/key-check.ts';
import { appliedMigrations, migrationNames } from '../store/engine/migrations.ts';
import type { DB } from '../store/engine/schema.ts';
import type { SecretKey } from '../store/secrets/secrets.ts';
import type { Readiness } from './health.ts';

const DATABASE_ANSWER_MS_MAX = 2_000;
/** Anyone may ask as often as they like: the database is asked once in this time. */
export const READINESS_LASTS_MS = 1_000;

export interface ReadinessDeps {
  /** With a connection that nobody else waits for, where the database has more than one. */
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  /** Set once the process is asked to stop: no new work should come here. */
  readonly signal: AbortSignal;
  /** Ms from anywhere, never going back. */
  readonly clock?: () => number;
}

/** A question that many may ask at once, and that costs the database one cheap query a second at most. */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  const { db, secretKeys, signal, clock = () => performance.now() } = deps;
  let names: Promise<readonly string[]> | undefined;
  let asked: Promise<string | null> | undefined;
  let answer: { readonly problem: string | null; readonly atMs: number } | undefined;

  let wrongKey: string | null = null;

  const askDatabase = async (): Promise<string | null> => {
    try {
      // In a transaction, as a read of its own would be made again for seconds; who asks wants to know how it is now.
      const applied = new Set(await db.transaction().execute((trx) => appliedMigrations<DB>(trx)));
      const pending = (await (names ??= migrationNames())).filter((name) => !applied.has(name));
      // The database may have been restored, or another one put in its place, since this process began.
      wrongKey = pending.length === 0 ? await secretKeysProblem(db, secretKeys) : null;
      return pending.length === 0 ? null : `lacks ${pending.join(', ')}`;
    } catch {
      return 'cannot be reached';
    }
  };
  const databaseProblem = async (): Promise<string | null> => {
    if (answer !== undefined && clock() - answer.atMs < READINESS_LASTS_MS) return answer.problem;
    // One that hangs is not asked again beside itself.
    asked ??= askDatabase().finally(() => (asked = undefined));
    const problem = await inTime(asked);
    answer = { problem, atMs: clock() };
    return problem;
  };
  return async () => {
    const database = await databaseProblem();
    const checks = {
      serving: signal.aborted ? 'stopping' : null,
      secretKeys: secretKeys.length === 0 ? 'DAYBOOK_SECRET_KEYS is not set' : wrongKey,
      database,
    };
    return { ready: Object.values(checks).every((problem) => problem === null), checks };
  };
}

async function inTime(asked: Promise<string | null>): Promise<string | null> {
  const timer = new AbortController();
  const late = sleep(DATABASE_ANSWER_MS_MAX, 'does not answer', { signal: timer.signal, ref: false });
  try {
    return await Promise.race([asked, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}
