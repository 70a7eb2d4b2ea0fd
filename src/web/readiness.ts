/** Whether a notification posted now would be kept: the database answers, has its tables, and there is a key. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
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
  const checks = {
    serving: signal.aborted ? 'stopping' : null,
    secretKeys: secretKeys.length === 0 ? 'DAYBOOK_SECRET_KEYS is not set' : null,
    database: await databaseProblem(db),
  };
  return { ready: Object.values(checks).every((problem) => problem === null), checks };
}

async function databaseProblem(db: Kysely<DB>): Promise<string | null> {
  const timer = new AbortController();
  const late = sleep(DATABASE_ANSWER_MS_MAX, 'does not answer', { signal: timer.signal, ref: false });
  // In a transaction, as a read of its own would be made again for seconds; who asks wants to know how it is now.
  const pendingNow = db.transaction().execute((trx) => pendingMigrations<DB>(trx));
  const asked = pendingNow.then(
    (pending) => (pending.length === 0 ? null : `lacks ${pending.join(', ')}`),
    () => 'cannot be reached',
  );
  try {
    return await Promise.race([asked, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}
