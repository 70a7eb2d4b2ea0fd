/** Whether a notification posted now would be kept: the database answers, has its tables, and there is a key. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { secretKeysProblem } from '../store/key-check.ts';
import { pendingMigrations } from '../store/migrations.ts';
import type { DB } from '../store/schema.ts';
import type { SecretKey } from '../store/secrets.ts';
import type { Readiness } from './health.ts';

export const DATABASE_ANSWER_MS_MAX = 2_000;

export interface ReadinessDeps {
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  /** Set once the process is asked to stop: no new work should come here. */
  readonly signal: AbortSignal;
}

export async function readinessOf({ db, secretKeys, signal }: ReadinessDeps): Promise<Readiness> {
  const database = await databaseProblem(db);
  const checks = {
    serving: signal.aborted ? 'stopping' : null,
    secretKeys: database === null ? await keysProblem(db, secretKeys) : noKeyProblem(secretKeys),
    database,
  };
  return { ready: Object.values(checks).every((problem) => problem === null), checks };
}

const noKeyProblem = (secretKeys: readonly SecretKey[]): string | null =>
  secretKeys.length === 0 ? 'DAYBOOK_SECRET_KEYS is not set' : null;

/** The database may have been restored, or another one put in its place, since this process began. */
const keysProblem = async (db: Kysely<DB>, secretKeys: readonly SecretKey[]): Promise<string | null> =>
  noKeyProblem(secretKeys) ?? (await inTime(secretKeysProblem(db, secretKeys), 'cannot be told'));

function databaseProblem(db: Kysely<DB>): Promise<string | null> {
  // In a transaction, as a read of its own would be made again for seconds; who asks wants to know how it is now.
  const pendingNow = db.transaction().execute((trx) => pendingMigrations<DB>(trx));
  const asked = pendingNow.then((pending) => (pending.length === 0 ? null : `lacks ${pending.join(', ')}`));
  return inTime(asked, 'cannot be reached');
}

/** What was asked, or what to say of a database that fails, or does not answer in time. */
async function inTime(asked: Promise<string | null>, onFailure: string): Promise<string | null> {
  const timer = new AbortController();
  const late = sleep(DATABASE_ANSWER_MS_MAX, 'does not answer', { signal: timer.signal, ref: false });
  try {
    return await Promise.race([asked.catch(() => onFailure), late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}
