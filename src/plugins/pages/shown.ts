/** The pages for commands that serve them. */
import { randomBytes } from 'node:crypto';
import { jobs } from '../../../jobs/all.ts';
import type { App } from '../../run/app.ts';
import type { PagesPart, PagesSettings, ShownPages } from '../../web/pages.ts';
import type { PagesDeps } from './routes/context.ts';
import { addPages, createPagesServer } from './server.ts';
import { timesOf } from '../../cli/output/text.ts';
import { pagesSettings } from './settings.ts';

export const shownPages = (pages: PagesDeps): ShownPages => ({
  createServer: (serving) => createPagesServer({ ...pages, ...serving }),
  addTo: (server, serving) => addPages(server, { ...pages, ...serving }),
  link: pages.link,
});

export const pagesPart: PagesPart = {
  shown: async (settings, app) => shownPages(await pagesShown(settings, app)),
};

/** What the pages stand on. Throws `AccessMissing` where they could be reached from elsewhere and no login is needed. */
export async function pagesShown(
  settings: PagesSettings,
  { database: { db }, objects, now }: Pick<App, 'database' | 'objects' | 'now'>,
): Promise<PagesDeps> {
  const { pagesListen } = settings;
  // Loading what logs people in takes long.
  const { openAccess } = await import('./access/open.ts');
  return {
    ...openAccess({ settings: pagesSettings.of(settings), pagesListen, db, now, random: randomBytes }),
    ...{ db, objects, settings, now, jobs },
    zone: timesOf(settings).zone,
  };
}
