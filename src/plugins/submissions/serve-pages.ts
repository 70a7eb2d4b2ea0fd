/** The command `serve --pages`: pages alone. It takes in and processes no result, and so needs no key that decrypts one. */
import { HEALTH_CONNECTIONS } from '../../cli/observed.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { createHealthServer, listenOn, type WebEvent } from '../../web/server.ts';
import { createReadiness } from '../../web/readiness.ts';
import { aborted, closeWithin, DRAIN_MS_MAX, type ServeApp, type Serving } from './serve.ts';

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
