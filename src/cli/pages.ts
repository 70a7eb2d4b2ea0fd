/** The pages for commands that show them. */
import { randomBytes } from 'node:crypto';
import { jobs } from '../../jobs/all.ts';
import type { App } from '../run/app.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { PagesDeps } from '../web/pages/context.ts';
import { withOwnConnection } from './observed.ts';
import { timesOf } from './output/text.ts';

/** The pages. With a database server they have connections of their own, so that readers take none from the posts. */
export async function withPages(
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
