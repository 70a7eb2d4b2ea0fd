/** `serve`: the HTTP server to which the platform pushes results, which it also processes, and its pages. */
import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { createRefusalLog } from '../../web/refusals.ts';
import type { ProcessMetrics } from '../../web/observation.ts';
import { pagesSlot, type EntryLink } from '../../web/pages.ts';
import type { PagesOnly, ServeApp, Serving } from './serve.ts';
import type { ProcessReport } from './notifications.ts';
import { counted } from '../../ledger/text.ts';
import { ABOUT_NO_MERCHANT, alertsOf, firstSentences, type Troubles } from '../../run/alerts.ts';
import type { App, PlatformApp } from '../../run/app.ts';
import { withRequests } from '../../run/requests.ts';
import { createLog, offlineSettings, print, stopSignal, withApp, withPlatform } from '../../cli/context.ts';
import { metricsOf } from '../../cli/observed.ts';
import { lines } from '../../cli/output/text.ts';
import type { Db } from '../../store/engine/database.ts';

const HELP = `
Listens on DAYBOOK_LISTEN; the platform reaches it by https under DAYBOOK_PUBLIC_URL, through a proxy that ends TLS.
DAYBOOK_HEALTH_LISTEN gives /healthz and /readyz an address of their own, with /metrics.
DAYBOOK_PAGES_LISTEN is where people see months, days, breaks and status in a browser. On this machine the printed link opens
them, once; a next one is printed when it was used. Off this machine people log in:
DAYBOOK_ACCESS_USERS, DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER, each with DAYBOOK_ACCESS_ROLES.
DAYBOOK_TRUSTED_PROXIES names proxies on other machines. Needs DAYBOOK_SECRET_KEYS.
With --pages it shows pages alone: it takes in no results and sends no alerts. It then needs neither DAYBOOK_SECRET_KEYS nor a database
login that may read what they decrypt; where people log in, DAYBOOK_COOKIE_KEYS signs who they are.
With the embedded database it also does what people ask on the pages to be read or published again; otherwise schedule and
workers do.`;

export function serveCommand(command: Command): void {
  command
    .option('--pages', 'show pages alone')
    .addHelpText('after', HELP)
    .action((flags: { readonly pages?: boolean }, self: Command) =>
      flags.pages === true ? pagesAlone(self) : serveAll(self),
    );
}

async function serveAll(self: Command): Promise<void> {
  const settings = offlineSettings(self);
  // Loading the server takes long, so no other command does that.
  const { serve } = await import('./serve.ts');
  const log = createLog(settings.logLevel, { answers: false });
  const metrics = await metricsOf(settings);
  const alerts = await alertsOf(settings);
  const watch = createLeftWatch();
  const opened = { isIt: false };
  await withServingHouse(settings, { log, metrics }, async (app, { signal, refusals }) => {
    opened.isIt = true;
    const serving = await serve(app, settings, signal, {
      onRefusal: refusals.onEvent,
      onProcessed: (report) => {
        log[report.left.length === 0 ? 'info' : 'error'](report, 'notifications processed');
      },
      onLeft: watch.onLeft,
      onFault: (error) =>
        log.error({ problem: error instanceof Error ? error.name : 'unknown' }, 'processing failed'),
    });
    announce(self, serving, app.pages?.link ?? null, settings);
    const { ended } = serving;
    return async () =>
      alerts === null
        ? ended
        : alerts.withAlerting({ ...app, settings }, log, () => ended, {
            purpose: 'serve',
            check: watch.check,
          });
  }).catch(async (error: unknown) => {
    if (!opened.isIt) await alerts?.reportNotStarted(settings, error, log, 'serve');
    throw error;
  });
}

const LEFT = 'inbox left';

/** Alerts of notifications that cannot be opened or processed, and of their end. */
export function createLeftWatch() {
  let left: ProcessReport['left'] = [];
  /** The list last ended in the database, so that each end is stored once. */
  let endedFor = left;
  return {
    onLeft: (now: ProcessReport['left']): void => {
      left = now;
    },
    /** Raises the alerts that are due. Throws what the database throws. */
    check: async (troubles: Troubles): Promise<void> => {
      const found = left;
      const count = found.length;
      if (count > 0)
        await troubles.raise(
          { name: LEFT, grade: 1, count },
          {
            ...ABOUT_NO_MERCHANT,
            kind: 'key-problem',
            title: `${counted(count, 'notification')} of the platform cannot be opened or processed`,
            sentences: firstSentences(
              found.map(({ number, problem }) => `Notification ${number}: ${problem}`),
              '`daybook notifications`',
            ),
            todo: 'put the named key back into DAYBOOK_SECRET_KEYS, after the one in use; `daybook notifications` shows what is left',
          },
        );
      else if (found !== endedFor) await troubles.end(LEFT);
      endedFor = found;
    },
  };
}

/** Pages alone. What they stand on is asked first: the login of the database need not be one that reads results. */
async function pagesAlone(self: Command): Promise<void> {
  const given = offlineSettings(self);
  const { assertPagesAlone, servePages } = await import('./serve.ts');
  assertPagesAlone(given);
  // Where they are given, for other processes, they derive the keys of cookies and nothing else. The embedded database has no other
  // process: what people ask on the pages is done here, with the tokens of their merchants.
  const settings = {
    ...given,
    secretKeys: given.databaseUrl === null ? given.secretKeys : [],
    cookieKeys: given.cookieKeys.length > 0 ? given.cookieKeys : given.secretKeys,
  };
  const log = createLog(settings.logLevel, { answers: false });
  const metrics = await metricsOf(settings);
  await withServingHouse(settings, { log, metrics }, async (app, { signal, refusals }) => {
    const serving = await servePages(app, settings, signal, refusals.onEvent);
    announce(self, serving, app.pages?.link ?? null, settings);
    return () => serving.ended;
  });
}

/** Says where the process listens, and prints the link that opens the pages, each time there is another one. */
function announce(
  self: Command,
  { url, healthUrl, pagesUrl }: Pick<Serving | PagesOnly, 'url' | 'healthUrl' | 'pagesUrl'>,
  givenLink: EntryLink | null,
  { publicUrl }: SettingsWithoutPlatform,
): void {
  const link = pagesUrl === null ? null : givenLink;
  const linkTo = (path: string): string => `${pagesUrl ?? ''}${path}`;
  const pagesLink = link === null ? null : linkTo(link.path());
  link?.onNext((path) => {
    const next = linkTo(path);
    print(self, { document: { pagesLink: next }, text: `pages, the next time: ${next}` });
  });
  print(self, {
    document: { url, healthUrl, pagesUrl, pagesLink, publicUrl },
    text: lines(
      url !== null &&
        `listening at ${url} for notifications, at ${healthUrl} for /healthz and /readyz. Ctrl-C ends it.`,
      url === null &&
        `showing pages alone${healthUrl === null ? '' : `, and at ${healthUrl} /healthz and /readyz`}. Ctrl-C ends it.`,
      pagesLink !== null && `pages: ${pagesLink}  (this link opens them once, for who sits here)`,
      pagesUrl !== null && pagesLink === null && `pages: ${pagesUrl}/`,
      url !== null &&
        publicUrl === null &&
        'DAYBOOK_PUBLIC_URL is not set: applications and registrations submitted now name no address of ours.',
    ),
  });
}

interface ServingHouse {
  /** Aborted when the process is asked to stop. */
  readonly signal: AbortSignal;
  readonly refusals: ReturnType<typeof createRefusalLog>;
}

/**
 * Has `listen` begin to serve, and then serves as that says, to the end. Where no other process can open the database, what is asked for on
 * the pages is done here meanwhile.
 */
async function withServingHouse(
  settings: SettingsWithoutPlatform,
  { log, metrics }: { readonly log: Logger; readonly metrics: ProcessMetrics | null },
  listen: (app: ServeApp & App, house: ServingHouse) => Promise<() => Promise<void>>,
): Promise<void> {
  const { platform, databaseUrl, pagesListen } = settings;
  const refusals = createRefusalLog(
    (event) => log[event.status < 500 ? 'info' : 'error'](event, 'refused'),
    () => performance.now(),
  );
  const withHouse = async (app: App, platformApp?: PlatformApp): Promise<void> => {
    const pages =
      pagesListen === null
        ? null
        : await (await pagesSlot.part()?.())?.shown({ ...settings, pagesListen }, app);
    const signal = stopSignal();
    const serve = await listen(
      {
        ...app,
        ...(metrics && { metricsOn: (db: Db) => metrics.page({ settings, db, now: app.now }) }),
        ...(pages && { pages }),
      },
      { signal, refusals },
    );
    await (platformApp === undefined ? serve() : withRequests(platformApp, log, signal, serve));
    refusals.flush();
    log.info('no longer listening');
  };
  await (platform === null || databaseUrl !== null || pagesListen === null
    ? withApp(settings, (app) => withHouse(app))
    : withPlatform({ ...settings, platform }, (app) => withHouse(app, app), { metrics, answers: false }));
}
