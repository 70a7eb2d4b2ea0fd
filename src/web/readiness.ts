/**
 * `/readyz`: whether the process could do its work now. The database must answer and have its tables, its key must be the
 * right one, and where notifications are stored there must be a key.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Kysely } from 'kysely';
import { appliedMigrations, migrationNames, newerProblem } from '../store/engine/migrations.ts';
import type { DB } from '../store/engine/schema.ts';
import { secretKeysProblem } from '../store/secrets/key-check.ts';
import type { SecretKey } from '../store/secrets/secrets.ts';

const DATABASE_ANSWER_MS_MAX = 2_000;
/** An answer is reused for this long, as anyone may ask as often as they like. */
export const READINESS_LASTS_MS = 1_000;

interface ReadinessDeps {
  /** Uses a connection of its own, if the database has more than one, so that no post waits for it. */
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  /** Whether nothing can be done without a key, as nothing can be stored. If left out: true. */
  readonly needsKeys?: boolean;
  /** Aborted once the process is asked to stop. Then it should get no new work. */
  readonly signal: AbortSignal;
  /** A clock in ms that never goes back; its zero does not matter. */
  readonly clock?: () => number;
}

/** Makes a function that many may call at once. It costs the database at most one cheap query per second. */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  const { db, secretKeys, needsKeys = true, signal, clock = () => performance.now() } = deps;
  let names: Promise<readonly string[]> | undefined;
  let asked: Promise<string | null> | undefined;
  let answer: { readonly problem: string | null; readonly atMs: number } | undefined;

  let wrongKey: string | null = null;

  const askDatabase = async (): Promise<string | null> => {
    try {
      // In a transaction, because a single read would be retried for seconds, and the caller wants to know the state
      // now.
      const own = await (names ??= migrationNames());
      const [applied, newer] = await db.transaction().execute(async (trx) => {
        const found = await appliedMigrations<DB>(trx);
        return [found, await newerProblem(trx, found, own)] as const;
      });
      if (newer !== null) return newer;
      const pending = own.filter((name) => !applied.includes(name));
      // The database may have been restored or replaced since this process started.
      wrongKey = pending.length === 0 ? await secretKeysProblem(db, secretKeys) : null;
      return pending.length === 0 ? null : `lacks ${pending.join(', ')}`;
    } catch {
      return 'cannot be reached';
    }
  };
  const databaseProblem = async (): Promise<string | null> => {
    if (answer !== undefined && clock() - answer.atMs < READINESS_LASTS_MS) return answer.problem;
    // While one query hangs, no second one is started.
    asked ??= askDatabase().finally(() => (asked = undefined));
    const problem = await inTime(asked);
    answer = { problem, atMs: clock() };
    return problem;
  };
  return async () => {
    const database = await databaseProblem();
    const checks = {
      serving: signal.aborted ? 'stopping' : null,
      secretKeys: secretKeys.length === 0 && needsKeys ? 'DAYBOOK_SECRET_KEYS is not set' : wrongKey,
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

export interface Readiness {
  readonly ready: boolean;
  /** For each thing needed, what is wrong with it, or null. It holds no secrets, as anyone may ask. */
  readonly checks: Readonly<Record<string, string | null>>;
}

/** The text and content type of `/metrics`: counts and times, no personal data. */
export interface MetricsPage {
  readonly contentType: string;
  readonly text: () => Promise<string>;
}

export function addMetrics(server: FastifyInstance, { contentType, text }: MetricsPage): void {
  server.get('/metrics', async (_request, reply) => reply.type(contentType).send(await text()));
}

export function addHealth(server: FastifyInstance, readiness: () => Promise<Readiness>): void {
  server.get('/healthz', (_request, reply) => reply.send({ alive: true }));
  server.get('/readyz', async (_request, reply) => {
    const found = await readiness();
    return reply.code(found.ready ? 200 : 503).send(found);
  });
}
