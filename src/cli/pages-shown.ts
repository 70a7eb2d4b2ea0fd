/** Puts together what the pages of `serve` and of the demo stand on. */
import { randomBytes } from 'node:crypto';
import { jobs } from '../../jobs/all.ts';
import { createLoopbackAccess } from '../access/loopback.ts';
import { isLoopback } from '../host/loopback.ts';
import type { App } from '../run/app.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { PagesDeps } from '../web/pages/context.ts';
import { timesOf } from './output/times.ts';

const TOKEN_BYTES = 32;

/**
 * The pages, for `pagesListen`; null if that is not set. Throws `UsageError` where they could be reached from elsewhere
 * and nobody has to log in.
 */
export function pagesShown(
  settings: SettingsWithoutPlatform,
  { database, objects, now }: Pick<App, 'database' | 'objects' | 'now'>,
  db = database.db,
): PagesDeps | null {
  const { pagesListen } = settings;
  if (pagesListen === null) return null;
  if (!isLoopback(pagesListen.host))
    throw new UsageError(
      `DAYBOOK_PAGES_LISTEN is ${pagesListen.host}, which others can reach, and there is no way to log in: set it to an ` +
        'address of this machine alone, like 127.0.0.1:8082.',
    );
  return {
    access: createLoopbackAccess(randomBytes(TOKEN_BYTES).toString('base64url')),
    canLogOut: false,
    ...{ db, objects, settings, now, jobs },
    zone: timesOf(settings).zone,
  };
}
