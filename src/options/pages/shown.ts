/** The pages for commands that serve them. */
import { randomBytes } from 'node:crypto';
import { jobs } from '../../../jobs/all.ts';
import type { App } from '../../run/app.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import type { PagesPart, ShownPages } from '../option.ts';
import type { PagesDeps } from './routes/context.ts';
import { addPages, createPagesServer } from './server.ts';
import { withOwnConnection } from '../../cli/observed.ts';
import { timesOf } from '../../cli/output/text.ts';

export const shownPages = (pages: PagesDeps): ShownPages => ({
  createServer: (serving) => createPagesServer({ ...pages, ...serving }),
  addTo: (server, serving) => addPages(server, { ...pages, ...serving }),
});

/** Readers take no connection from the posts. */
async function withPages(
  settings: SettingsWithoutPlatform,
  app: App,
  work: (pages: ShownPages | null) => Promise<void>,
): Promise<void> {
  if (settings.pagesListen === null) return work(null);
  const show = async (db: App['database']['db']): Promise<void> => {
    const pages = await pagesShown(settings, app, db);
    return work(pages && shownPages(pages));
  };
  await withOwnConnection(settings, app.database, show, PAGES_CONNECTIONS);
}

export const pagesPart: PagesPart = {
  withPages,
  shown: async (settings, app) => {
    const pages = await pagesShown(settings, app);
    return pages && shownPages(pages);
  },
};

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
  const { openAccess } = await import('./access/open.ts');
  return {
    ...openAccess({ settings, pagesListen, db, now, random: randomBytes }),
    ...{ db, objects, settings, now, jobs },
    zone: timesOf(settings).zone,
  };
}
