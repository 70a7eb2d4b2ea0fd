/** Pictures of the main pages for docs/pages: `DAYBOOK_TEST_PICTURES=write npx vitest run test/options/pages/browser/pictures`. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createAccess } from '../../../../src/options/pages/access/open.ts';
import { SECRET_KEYS, withPasswords } from '../access/support.ts';
import { showPages } from '../support.ts';
import { BROKEN_DAY, closeMarch, openPagesStage, REVISED_DAY } from '../stage.ts';
import { chromiumPath, openChromium, watchedPage } from './chromium.ts';

const FOLDER =
  process.env['DAYBOOK_TEST_PICTURES_FOLDER'] ??
  fileURLToPath(new URL('../../../../docs/pages/', import.meta.url));
const isAsked = process.env['DAYBOOK_TEST_PICTURES'] === 'write' && chromiumPath !== null;

const PICTURES = [
  ['login', '/login', { width: 1080, height: 460 }],
  ['months', '/?month=2026-03', { width: 1080, height: 560 }],
  ['month', '/m/SBX-M-1/2026-03?currency=KWD', { width: 1080, height: 780 }],
  ['day', `/m/SBX-M-1/USD/${BROKEN_DAY}`, { width: 1080, height: 1120 }],
  ['revisions', `/m/SBX-M-1/KWD/${REVISED_DAY}?revision=2&against=1#compared`, { width: 1200, height: 640 }],
  ['break', '/breaks/BREAK', { width: 1080, height: 630 }],
  ['status', '/status', { width: 1080, height: 620 }],
] as const;

test.skipIf(!isAsked)('pictures of the main pages', async () => {
  const stage = await openPagesStage(closeMarch);
  const { db } = stage.app.database;
  const { id } = await db
    .selectFrom('continuity_break')
    .select('id')
    .where('currency', '=', 'USD')
    .executeTakeFirstOrThrow();
  const access = createAccess({
    ...{ settings: withPasswords(), db, random: randomBytes, secretKeys: SECRET_KEYS },
    ...{ isSecure: false, now: stage.app.now },
  });
  const [pages, guarded] = [await showPages(stage), await showPages(stage, { access, canLogOut: true })];
  const browser = await openChromium();
  for (const [name, path, viewport] of PICTURES) {
    const { url } = name === 'login' ? guarded : pages;
    const { page, complaints } = await watchedPage(browser, url, { viewport, colorScheme: 'light' });
    await page.goto(path.replace('BREAK', String(id)));
    await page.screenshot({ path: `${FOLDER}${name}.png` });
    expect(complaints).toEqual([]);
    await page.context().close();
  }
  await browser.close();
  await pages.close();
  await guarded.close();
  await stage.close();
});
