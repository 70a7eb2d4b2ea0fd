/** `serve`: the HTTP server to which the platform pushes results, which it also processes, and its pages; `access` for logins there. */
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { ProcessMetrics } from '../observe/metrics.ts';
import { createRefusalLog } from '../web/refusals.ts';
import type { App } from '../run/app.ts';
import type { PagesDeps } from '../web/pages/context.ts';
import type { ServeApp } from '../web/serve.ts';
import { targetsOf } from '../alerts/targets.ts';
import { SERVE } from '../run/alerts/run-alerts.ts';
import { jobs } from '../../jobs/all.ts';
import { hashPassword, SALT_BYTES } from '../access/identity.ts';
import { endConditions } from '../alerts/outbox.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { reportNotStarted, runWatchdog, withAlerting } from './alerts.ts';
import { createLog, offlineSettings, print, stopSignal, withApp } from './context.ts';
import { metricsOf, metricsPage, withOwnConnection } from './observed.ts';
import { lines, timesOf } from './output/text.ts';

const HELP = `
Listens on DAYBOOK_LISTEN; the platform reaches it by https under DAYBOOK_PUBLIC_URL, through a proxy that ends TLS.
DAYBOOK_HEALTH_LISTEN gives /healthz and /readyz an address of their own, with /metrics.
DAYBOOK_PAGES_LISTEN is where people see months, days, breaks and status in a browser; off this machine they log in:
DAYBOOK_ACCESS_USERS, DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER, each with DAYBOOK_ACCESS_ROLES.
DAYBOOK_TRUSTED_PROXIES names proxies on other machines. Needs DAYBOOK_SECRET_KEYS.`;

export function serveCommand(command: Command): void {
  command.addHelpText('after', HELP).action(async (_flags: object, self: Command) => {
    const settings = offlineSettings(self);
    // Loading the server takes long, so no other command does that.
    const { serve } = await import('../web/serve.ts');
    const { createInboxWatch } = await import('../web/refusals.ts');
    const log = createLog(settings.logLevel);
    const refusals = createRefusalLog(
      (event) => log[event.status < 500 ? 'info' : 'error'](event, 'refused'),
      () => performance.now(),
    );
    const metrics = await metricsOf(settings);
    const watch = createInboxWatch(() => performance.now());
    const opened = { isIt: false };
    await withServingHouse(settings, metrics, async (app) => {
      opened.isIt = true;
      const signal = stopSignal();
      const { url, healthUrl, pagesUrl, ended } = await serve(app, settings, signal, {
        onRefusal: (event) => {
          refusals.onEvent(event);
          watch.onRefusal(event);
        },
        // Who crowds the pages does not post to the inbox.
        onPagesRefusal: refusals.onEvent,
        onProcessed: (report) => {
          log[report.left.length === 0 ? 'info' : 'error'](report, 'notifications processed');
        },
        onLeft: watch.onLeft,
        onFault: (error) =>
          log.error({ problem: error instanceof Error ? error.name : 'unknown' }, 'processing failed'),
      });
      print(self, {
        document: { url, healthUrl, pagesUrl, publicUrl: settings.publicUrl },
        text: lines(
          `listening at ${url} for notifications, at ${healthUrl} for /healthz and /readyz. Ctrl-C ends it.`,
          pagesUrl !== null && `pages: ${pagesUrl}/`,
          settings.publicUrl === null &&
            'DAYBOOK_PUBLIC_URL is not set: applications and registrations submitted now name no address of ours.',
        ),
      });
      const alerting = { ...app, settings };
      const trouble = { isOver: false };
      await withAlerting(
        alerting,
        log,
        () => ended,
        async () => {
          const targets = targetsOf(settings).map(({ key }) => key);
          if (!trouble.isOver) await endConditions(app.database.db, [SERVE]);
          trouble.isOver = true;
          await watch.check(app.database.db, { targets, now: app.now() });
          await runWatchdog(alerting, { seesRuns: false });
        },
      );
      refusals.flush();
      log.info('no longer listening');
    }).catch(async (error: unknown) => {
      if (!opened.isIt) await reportNotStarted(settings, error, log, 'serve');
      throw error;
    });
  });
}

/** The app. With a database server it has two more connections, which only health checks and metrics use. */
async function withServingHouse(
  settings: SettingsWithoutPlatform,
  metrics: ProcessMetrics | null,
  work: (app: ServeApp) => Promise<void>,
): Promise<void> {
  await withApp(settings, (app) =>
    withOwnConnection(settings, app.database, async (db) => {
      const page = metrics && (await metricsPage(metrics, { settings, db, now: app.now }));
      await withPages(settings, app, (pages) =>
        work({ ...app, readinessDb: db, ...(page && { metrics: page }), ...(pages && { pages }) }),
      );
    }),
  );
}

/** The pages. With a database server they have connections of their own, so that readers take none from the posts. */
async function withPages(
  settings: SettingsWithoutPlatform,
  app: App,
  work: (pages: PagesDeps | null) => Promise<void>,
): Promise<void> {
  if (settings.pagesListen === null) return work(null);
  const show = async (db: App['database']['db']): Promise<void> => work(await pagesShown(settings, app, db));
  await withOwnConnection(settings, app.database, show, PAGES_CONNECTIONS);
}

/**
 * Pages ask short questions. With twenty readers on two cores three were too few, and eight no faster than six (`npm run
 * bench -- --only pages`).
 */
export const PAGES_CONNECTIONS = 6;

/**
 * The pages, for `pagesListen`; null if that is not set. Throws `AccessMissing` where they could be reached from elsewhere
 * and no login is needed.
 */
export async function pagesShown(
  settings: SettingsWithoutPlatform,
  { database, objects, now }: Pick<App, 'database' | 'objects' | 'now'>,
  db = database.db,
): Promise<PagesDeps | null> {
  const { pagesListen } = settings;
  if (pagesListen === null) return null;
  // Loading what logs people in takes long.
  const { openAccess } = await import('../access/open.ts');
  return {
    ...openAccess({ settings, pagesListen, db, now, random: randomBytes }),
    ...{ db, objects, settings, now, jobs },
    zone: timesOf(settings).zone,
  };
}

const PASSWORD_CHARACTERS_MIN = 12;
const PASSWORD_CHARACTERS_MAX = 1_000;

const HASH_HELP = `
Reads the password from stdin; on a terminal it asks, and shows nothing of what is typed.

Example:
  daybook access hash < password.txt
  export DAYBOOK_ACCESS_USERS='{"ada":"scrypt:15:8:3:..."}' DAYBOOK_ACCESS_ROLES='{"ada":"operator"}'`;

export function accessCommand(access: Command): void {
  access
    .command('hash')
    .description('hash a password for DAYBOOK_ACCESS_USERS')
    .addHelpText('after', HASH_HELP)
    .action(async (_flags: object, self: Command) => {
      const given = process.stdin.isTTY ? await hiddenLine('password: ') : await text(process.stdin);
      const password = given.replace(/\r?\n$/, '');
      if (password.length < PASSWORD_CHARACTERS_MIN || password.length > PASSWORD_CHARACTERS_MAX)
        throw new UsageError(
          `the password has to have ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters; this one has ${password.length}.`,
        );
      if (/\p{C}/u.test(password)) throw new UsageError('the password has to be one line of text.');
      const hash = await hashPassword(password, randomBytes(SALT_BYTES));
      print(self, { document: { hash }, text: hash });
    });
}

async function hiddenLine(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question);
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
