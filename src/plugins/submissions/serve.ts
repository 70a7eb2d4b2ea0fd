/** The servers of `serve`: results are taken in and processed, and pages are shown next to them or alone, until a stop is asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { HEALTH_CONNECTIONS } from '../../cli/observed.ts';
import { isSameAddress } from '../../host/addresses.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { App } from '../../run/app.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import type { Db } from '../../store/engine/database.ts';
import { NOTIFY_SECRET, type NotificationKind } from '../../store/notify-path.ts';
import { adoptSecretKey } from '../../store/secrets/key-check.ts';
import { UnknownSecretKey } from '../../store/secrets/secrets.ts';
import type { ShownPages } from '../../web/pages.ts';
import { addHealth, type MetricsPage, createReadiness, type Readiness } from '../../web/readiness.ts';
import {
  bareServer,
  createHealthServer,
  limitedServer,
  listenOn,
  type LimitedServerDeps,
  type WebEvent,
} from '../../web/server.ts';
import { storedBody } from './body.ts';
import {
  createInbox,
  PostRefused,
  processNotifications,
  type Inbox,
  type ProcessDeps,
  type ProcessReport,
} from './notifications.ts';

export interface InboxServerDeps extends LimitedServerDeps {
  readonly inbox: Inbox;
  /** Null if another address answers it. */
  readonly readiness: (() => Promise<Readiness>) | null;
}

const KINDS: readonly NotificationKind[] = ['onboarding', 'beneficiary'];
/** Every post is read as this type. Fastify would refuse an unknown type before our code sees the post. */
const ANY_TYPE = 'application/octet-stream';

/**
 * Takes in what the platform pushes: 200 once the post is committed, 404 for a path that daybook never gave out, 429 if
 * too many came by one path, 503 if it cannot be committed. Valid and invalid posts are treated alike. The document names
 * no content type (docs/platform.md 6.1), so a post is stored whatever its type, and with or without a slash behind its path.
 */
export function createInboxServer(deps: InboxServerDeps): FastifyInstance {
  const { inbox, readiness } = deps;
  const server = limitedServer(bareServer(deps), deps);
  if (readiness !== null) addHealth(server, readiness);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(ANY_TYPE, { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  const asAnyType = (
    request: { raw: { headers: Record<string, unknown> } },
    _reply: unknown,
    done: () => void,
  ) => {
    request.raw.headers['content-type'] = ANY_TYPE;
    done();
  };
  for (const kind of KINDS)
    for (const end of ['', '/'])
      server.post<{ Params: { secret: string } }>(
        `/notify/${kind}/:secret${end}`,
        { onRequest: asAnyType },
        async ({ params: { secret }, body, sender }, reply) => {
          if (!NOTIFY_SECRET.test(secret)) throw new PostRefused(404, 'no path');
          await inbox.keep({ kind, secret, body: storedBody(body), source: sender });
          return reply.code(200).send({ received: true });
        },
      );
  return server;
}

/** The time between passes when nothing comes in. */
const PASS_EVERY_MS = 10_000;

export interface KeepProcessingDeps extends ProcessDeps {
  /** Called for a pass that found something. What is left is reported once, and not for every pass. */
  readonly onReport: (report: ProcessReport) => void;
  /** Called with all that is left, whenever that changes, and after the first pass. */
  readonly onLeft?: (left: ProcessReport['left']) => void;
  /** Called when a pass failed. The next one comes after `everyMs`. */
  readonly onFault: (error: unknown) => void;
  readonly everyMs?: number;
}

/**
 * Starts at once, with what an earlier process left. `wake`: notifications arrived, so process now, or right after the
 * running pass. `ended` resolves after the signal, when the running pass has ended.
 */
export function keepProcessing(deps: KeepProcessingDeps) {
  const { signal, onReport, onLeft, onFault, everyMs = PASS_EVERY_MS } = deps;
  const pause = (stop: AbortSignal) => sleep(everyMs, undefined, { signal: stop }).catch(() => undefined);
  let woken = Promise.withResolvers<undefined>();
  let leftBefore = '';

  const pass = async (): Promise<void> => {
    try {
      const report = await processNotifications(deps);
      const left = JSON.stringify(report.left);
      const isNew = left !== leftBefore && report.left.length > 0;
      if (isNew || Object.keys(report.outcomes).length > 0)
        onReport(isNew ? report : { ...report, left: [] });
      if (left !== leftBefore) onLeft?.(report.left);
      leftBefore = left;
    } catch (error) {
      onFault(error);
      // Another pass at once would fail in the same way.
      await pause(signal);
    }
  };
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      woken = Promise.withResolvers();
      await pass();
      const timer = new AbortController();
      await Promise.race([woken.promise, pause(AbortSignal.any([signal, timer.signal]))]);
      timer.abort();
    }
  };
  return { wake: () => woken.resolve(undefined), ended: keep() };
}

/** When asked to stop, requests being answered have this long to end. Then their connections are closed. */
const DRAIN_MS_MAX = 11_000;
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
  // Posts come first: the platform waits for its answer. Processing, pages and alerts have the rest.
  const promptDb = database.reserve(1 + HEALTH_CONNECTIONS);
  await adoptSecretKey(db, secretKeys);
  const stopping = new AbortController();
  const processing = keepProcessing({
    db,
    secretKeys,
    now,
    signal: stopping.signal,
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

/** What pages alone stand on is missing. */
class PagesUnset extends ExpectedError {
  override readonly name = 'PagesUnset';
  readonly exitCode = EXIT.usage;
}

type PagesSettings = Pick<
  SettingsWithoutPlatform,
  'pagesListen' | 'healthListen' | 'trustedProxies' | 'access' | 'cookieKeys' | 'secretKeys'
>;

/** Throws `PagesUnset` where there is no address for pages, or where logins would end with each start. */
export function assertPagesAlone({ pagesListen, access, cookieKeys, secretKeys }: PagesSettings): void {
  if (pagesListen === null)
    throw new PagesUnset(
      'DAYBOOK_PAGES_LISTEN is not set, and `serve --pages` shows pages alone: set the address at which people open them, like 127.0.0.1:8090.',
    );
  const hasLogin = (access.users?.size ?? 0) > 0 || access.oidc !== null;
  if (hasLogin && cookieKeys.length + secretKeys.length === 0)
    throw new PagesUnset(
      'DAYBOOK_COOKIE_KEYS is not set, and it signs who is logged in: set it to id:base64 with 32 random bytes, such as ' +
        '`k1:$(head -c 32 /dev/urandom | base64)`, the same for every process with these pages.',
    );
}

export interface PagesOnly extends Omit<Serving, 'url' | 'healthUrl'> {
  /** No results are taken in. */
  readonly url: null;
  /** Null without an address of its own. */
  readonly healthUrl: string | null;
}

/** Resolves once the pages are there. Throws `ListenRefused`. */
export async function servePages(
  { database, drainMs = DRAIN_MS_MAX, metricsOn, pages }: ServeApp,
  { pagesListen, healthListen, trustedProxies }: PagesSettings,
  signal: AbortSignal,
  onRefusal: (event: WebEvent) => void,
): Promise<PagesOnly> {
  if (pages === undefined)
    throw new PagesUnset('this copy of daybook was made without pages: use one that has them.');
  const server = pages.createServer({ trustedProxies, onRefusal });
  const healthDb = database.reserve(HEALTH_CONNECTIONS);
  const readiness = createReadiness({ db: healthDb, secretKeys: [], needsKeys: false, signal });
  const metrics = metricsOn?.(healthDb);
  const health = healthListen === null ? null : createHealthServer({ readiness, metrics, onRefusal });
  const stop = async (): Promise<void> => {
    await closeWithin(server, drainMs);
    if (health !== null) await closeWithin(health, 0);
  };
  try {
    const healthUrl = health === null ? null : await listenOn(health, healthListen!, 'DAYBOOK_HEALTH_LISTEN');
    const pagesUrl = await listenOn(server, pagesListen!, 'DAYBOOK_PAGES_LISTEN');
    return { url: null, healthUrl, pagesUrl, ended: aborted(signal).then(stop) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Once a server is closing, Node no longer disconnects slow clients. So this does it. */
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
