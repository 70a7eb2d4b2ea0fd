/** What `serve` runs: the HTTP server, and the processing of what comes in by it, until it is asked to stop. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Kysely } from 'kysely';
import { createInbox } from '../notifications/inbox.ts';
import { keepProcessing } from '../notifications/keep-processing.ts';
import type { ProcessReport } from '../notifications/process.ts';
import type { App } from '../run/app.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import { freeSpace } from '../store/engine/free-space.ts';
import { adoptSecretKey } from '../store/secrets/key-check.ts';
import type { DB } from '../store/engine/schema.ts';
import { UnknownSecretKey } from '../store/secrets/secrets.ts';
import { createReadiness } from './readiness.ts';
import { createHealthServer, createWebServer, listenOn, type WebEvent } from './server.ts';

/** Requests at work when asked to stop have this long to end; then their connections are cut. */
const DRAIN_MS_MAX = 11_000;
/** And the notification being looked at has this long. */
const LOOK_MS_MAX = 6_000;

export interface ServeEvents {
  readonly onRefusal: (event: WebEvent) => void;
  readonly onProcessed: (report: ProcessReport) => void;
  readonly onFault: (error: unknown) => void;
}

export interface Serving {
  readonly url: string;
  /** Where `/healthz` and `/readyz` are answered; the same as `url` unless they have an address of their own. */
  readonly healthUrl: string;
  /**
   * Resolves after the signal, within `DRAIN_MS_MAX` and `LOOK_MS_MAX` whatever clients and database do: whoever
   * dawdles is cut off, and a notification that is looked at still is looked at again after the next start.
   */
  readonly ended: Promise<void>;
}

export type ServeSettings = Pick<SettingsWithoutPlatform, 'secretKeys' | 'listen'> &
  Partial<Pick<SettingsWithoutPlatform, 'healthListen' | 'trustedProxies'>>;

export interface ServeApp extends Pick<App, 'database' | 'now'> {
  /** A connection for readiness alone, so that asking takes none from the posts. */
  readonly readinessDb?: Kysely<DB>;
  readonly drainMs?: number;
}

/**
 * Listens once it resolves. Throws `UnknownSecretKey` where there is no key, `SecretKeyWrong` where it is another than
 * the one known, as nothing could be taken in; or `ListenRefused`.
 */
export async function serve(
  { database, now, readinessDb = database.db, drainMs = DRAIN_MS_MAX }: ServeApp,
  { secretKeys, listen, healthListen = null, trustedProxies }: ServeSettings,
  signal: AbortSignal,
  { onRefusal, onProcessed, onFault }: ServeEvents,
): Promise<Serving> {
  if (secretKeys.length === 0) {
    throw new UnknownSecretKey(
      'serve keeps what it receives encrypted, and DAYBOOK_SECRET_KEYS is not set: set it to id:base64 with 32 random ' +
        'bytes, such as `k1:$(head -c 32 /dev/urandom | base64)`.',
    );
  }
  const { db } = database;
  await adoptSecretKey(db, secretKeys);
  const stopping = new AbortController();
  const processing = keepProcessing({
    db,
    secretKeys,
    now,
    signal: stopping.signal,
    freeSpace: () => freeSpace(database, ['notification']),
    onReport: onProcessed,
    onFault,
  });
  const onNotKept = () => onRefusal({ route: '-', status: 200, reason: 'unknown path, beyond what is kept' });
  const inbox = createInbox({ db, secretKeys, now, onKept: processing.wake, onNotKept });
  const readiness = createReadiness({ db: readinessDb, secretKeys, signal });
  const server = createWebServer({
    inbox,
    readiness: healthListen === null ? readiness : null,
    onRefusal,
    ...(trustedProxies === undefined ? {} : { trustedProxies }),
  });
  const health = healthListen === null ? null : createHealthServer({ readiness, onRefusal });
  const stop = async (): Promise<void> => {
    await closeWithin(server, drainMs);
    stopping.abort();
    await Promise.race([processing.ended, sleep(LOOK_MS_MAX, undefined, { ref: false })]);
    if (health !== null) await closeWithin(health, 0);
  };
  try {
    await inbox.readPaths();
    const url = await listenOn(server, listen);
    const healthUrl = health === null ? url : await listenOn(health, healthListen!, 'DAYBOOK_HEALTH_LISTEN');
    return { url, healthUrl, ended: aborted(signal).then(stop) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Node no longer looks who takes too long once a server closes. */
async function closeWithin(server: FastifyInstance, drainMs: number): Promise<void> {
  const timer = setTimeout(() => server.server.closeAllConnections(), drainMs);
  await server.close();
  clearTimeout(timer);
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  if (signal.aborted) resolve(undefined);
  else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return promise;
}
