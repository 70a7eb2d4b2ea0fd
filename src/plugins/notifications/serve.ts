/** The command `serve` (`serve-pages.ts` has the one with pages alone): runs the HTTP server and processes the notifications it stores, until it is asked to stop. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { HEALTH_CONNECTIONS } from '../../cli/observed.ts';
import { isSameAddress } from '../../host/addresses.ts';
import { createInbox } from './inbox.ts';
import { keepProcessing, type ProcessReport } from './process.ts';
import type { App } from '../../run/app.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { freeSpace, type Db } from '../../store/engine/database.ts';
import { adoptSecretKey } from '../../store/secrets/key-check.ts';
import { UnknownSecretKey } from '../../store/secrets/secrets.ts';
import { type MetricsPage, createReadiness } from '../../web/readiness.ts';
import type { ShownPages } from '../../web/pages.ts';
import { createHealthServer, listenOn, type WebEvent } from '../../web/server.ts';
import { createInboxServer } from './server.ts';

/** When asked to stop, requests being answered have this long to end. Then their connections are closed. */
export const DRAIN_MS_MAX = 11_000;
/** The notification being processed then has this long. */
const PROCESSING_MS_MAX = 6_000;

export interface ServeEvents {
  readonly onRefusal: (event: WebEvent) => void;
  /** The same, of pages that have a port of their own. Default: not called. */
  readonly onPagesRefusal?: (event: WebEvent) => void;
  readonly onProcessed: (report: ProcessReport) => void;
  /** Called with all that is left, whenever that changes. */
  readonly onLeft?: (left: ProcessReport['left']) => void;
  readonly onFault: (error: unknown) => void;
}

export interface Serving {
  readonly url: string;
  /** Where `/healthz` and `/readyz` are; the same as `url` unless they have an address of their own, with `/metrics`. */
  readonly healthUrl: string;
  /** Where the pages are; null where none are shown. */
  readonly pagesUrl: string | null;
  /**
   * Resolves after the signal, at the latest after `DRAIN_MS_MAX` plus `PROCESSING_MS_MAX`, whatever clients and database
   * do. Slow clients are disconnected. A notification still being processed is processed again after the next start.
   */
  readonly ended: Promise<void>;
}

export type ServeSettings = Pick<SettingsWithoutPlatform, 'secretKeys' | 'listen'> &
  Partial<Pick<SettingsWithoutPlatform, 'healthListen' | 'pagesListen' | 'trustedProxies'>>;

export interface ServeApp extends Pick<App, 'database' | 'now'> {
  readonly drainMs?: number;
  /** Served at `healthListen`, if set. Reads from what it is given. */
  readonly metricsOn?: (db: Db) => MetricsPage;
  /** What is shown at `pagesListen`; nothing if there is none. */
  readonly pages?: ShownPages;
}

/**
 * Resolves once the server listens. Throws `UnknownSecretKey` if there is no key and `SecretKeyWrong` if it is not
 * the database's key, because then nothing could be stored. Throws `ListenRefused`.
 */
export async function serve(
  { database, now, drainMs = DRAIN_MS_MAX, metricsOn, pages }: ServeApp,
  { secretKeys, listen, healthListen = null, pagesListen = null, trustedProxies }: ServeSettings,
  signal: AbortSignal,
  { onRefusal, onPagesRefusal = () => undefined, onProcessed, onLeft, onFault }: ServeEvents,
): Promise<Serving> {
  if (secretKeys.length === 0) {
    throw new UnknownSecretKey(
      'serve keeps what it receives encrypted, and DAYBOOK_SECRET_KEYS is not set: set it to id:base64 with 32 random ' +
        'bytes, such as `k1:$(head -c 32 /dev/urandom | base64)`.',
    );
  }
  const { db } = database;
  // Posts come first: the platform waits for its answer. They share a pool with the health checks; processing, pages and alerts
  // share what is left.
  const promptDb = database.reserve(1 + HEALTH_CONNECTIONS);
  await adoptSecretKey(db, secretKeys);
  const stopping = new AbortController();
  const processing = keepProcessing({
    db,
    secretKeys,
    now,
    signal: stopping.signal,
    freeSpace: () => freeSpace(database, ['notification']),
    onReport: onProcessed,
    ...(onLeft && { onLeft }),
    onFault,
  });
  const inbox = createInbox({ db: promptDb, secretKeys, now, onKept: processing.wake });
  const readiness = createReadiness({ db: promptDb, secretKeys, signal });
  const proxies = trustedProxies === undefined ? {} : { trustedProxies };
  const server = createInboxServer({
    inbox,
    readiness: healthListen === null ? readiness : null,
    onRefusal,
    ...proxies,
  });
  const metrics = metricsOn?.(promptDb);
  const health = healthListen === null ? null : createHealthServer({ readiness, metrics, onRefusal });
  // Pages share the port of the notifications only where both are set to the same one.
  const ownPages =
    pages && pagesListen && !isSameAddress(pagesListen, listen)
      ? pages.createServer({ ...proxies, onRefusal: onPagesRefusal })
      : null;
  if (pages && pagesListen && ownPages === null) pages.addTo(server, { ...proxies, onRefusal });
  const stop = async (): Promise<void> => {
    await Promise.all(
      [server, ...(ownPages === null ? [] : [ownPages])].map((one) => closeWithin(one, drainMs)),
    );
    stopping.abort();
    await Promise.race([processing.ended, sleep(PROCESSING_MS_MAX, undefined, { ref: false })]);
    if (health !== null) await closeWithin(health, 0);
  };
  try {
    await inbox.readPaths();
    const url = await listenOn(server, listen);
    const healthUrl = health === null ? url : await listenOn(health, healthListen!, 'DAYBOOK_HEALTH_LISTEN');
    const pagesUrl = ownPages === null ? url : await listenOn(ownPages, pagesListen!, 'DAYBOOK_PAGES_LISTEN');
    return {
      url,
      healthUrl,
      pagesUrl: pages && pagesListen ? pagesUrl : null,
      ended: aborted(signal).then(stop),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Once a server is closing, Node no longer disconnects slow clients. So this does it. */
export async function closeWithin(server: FastifyInstance, drainMs: number): Promise<void> {
  const timer = setTimeout(() => server.server.closeAllConnections(), drainMs);
  await server.close();
  clearTimeout(timer);
}

export function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  if (signal.aborted) resolve(undefined);
  else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return promise;
}
