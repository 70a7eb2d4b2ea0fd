/** Puts together what the pages of `serve` and of the demo stand on. */
import { randomBytes } from 'node:crypto';
import { jobs } from '../../jobs/all.ts';
import { openAccess } from '../access/open.ts';
import type { App } from '../run/app.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { PagesDeps } from '../web/pages/context.ts';
import { timesOf } from './output/times.ts';

/**
 * Pages ask short questions. With twenty readers on two cores three were too few, and eight no faster than six (`npm run
 * bench -- --only pages`).
 */
export const PAGES_CONNECTIONS = 6;

/**
 * The pages, for `pagesListen`; null if that is not set. Throws `AccessMissing` where they could be reached from elsewhere
 * and no login is needed.
 */
export function pagesShown(
  settings: SettingsWithoutPlatform,
  { database, objects, now }: Pick<App, 'database' | 'objects' | 'now'>,
  db = database.db,
): PagesDeps | null {
  const { pagesListen } = settings;
  if (pagesListen === null) return null;
  return {
    ...openAccess({ settings, pagesListen, db, now, random: randomBytes }),
    ...{ db, objects, settings, now, jobs },
    zone: timesOf(settings).zone,
  };
}
