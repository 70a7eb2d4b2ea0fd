/** The pages for commands that serve them. */
import { randomBytes } from 'node:crypto';
import { jobs } from '../../../jobs/all.ts';
import type { App } from '../../run/app.ts';
import type { PagesPart, PagesSettings, ShownPages } from '../option.ts';
import type { PagesDeps } from './routes/context.ts';
import { addPages, createPagesServer } from './server.ts';
import { withOwnConnection } from '../../cli/observed.ts';
import { timesOf } from '../../cli/output/text.ts';

export const shownPages = (pages: PagesDeps): ShownPages => ({
  createServer: (serving) => createPagesServer({ ...pages, ...serving }),
  addTo: (server, serving) => addPages(server, { ...pages, ...serving }),
  link: pages.link,
});

/** Readers take no connection from the posts. */
async function withPages(
  settings: PagesSettings,
  app: App,
  work: (pages: ShownPages) => Promise<void>,
): Promise<void> {
  const show = async (db: App['database']['db']): Promise<void> =>
    work(shownPages(await pagesShown(settings, app, db)));
  await withOwnConnection(settings, app.database, show, PAGES_CONNECTIONS);
}

export const pagesPart: PagesPart = {
  withPages,
  shown: async (settings, app) => shownPages(await pagesShown(settings, app)),
};

/**
 * Pages ask short questions. With twenty readers on two cores three were too few, and eight no faster than six (`npm run
 * bench -- --only pages`).
 */
export const PAGES_CONNECTIONS = 6;

/** What the pages stand on. Throws `AccessMissing` where they could be reached from elsewhere and no login is needed. */
export async function pagesShown(
  settings: PagesSettings,
  { database, objects, now }: Pick<App, 'database' | 'objects' | 'now'>,
  db = database.db,
): Promise<PagesDeps> {
  const { pagesListen } = settings;
  // Loading what logs people in takes long.
  const { openAccess } = await import('./access/open.ts');
  return {
    ...openAccess({ settings, pagesListen, db, now, random: randomBytes }),
    ...{ db, objects, settings, now, jobs },
    zone: timesOf(settings).zone,
  };
}
