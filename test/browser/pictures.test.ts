/** Pictures of the main pages for docs/pages: `DAYBOOK_TEST_PICTURES=write npx vitest run --project browser pictures`. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { showPages } from '../support/pages.ts';
import { BROKEN_DAY, openPagesStage, REVISED_DAY } from '../support/pages-stage.ts';
import { chromiumPath, openChromium, watchedPage } from './chromium.ts';

const FOLDER = fileURLToPath(new URL('../../docs/pages/', import.meta.url));
const isAsked = process.env['DAYBOOK_TEST_PICTURES'] === 'write' && chromiumPath !== null;

const PICTURES = [
  ['months', '/?month=2026-03', { width: 1080, height: 520 }],
  ['month', '/m/SBX-M-1/2026-03?currency=USD', { width: 1080, height: 620 }],
  ['day', `/m/SBX-M-1/USD/${BROKEN_DAY}`, { width: 1080, height: 1180 }],
  ['revisions', `/m/SBX-M-1/KWD/${REVISED_DAY}?revision=2&against=1#compared`, { width: 1200, height: 640 }],
  ['status', '/status', { width: 1080, height: 620 }],
] as const;

test.skipIf(!isAsked)('pictures of the main pages', async () => {
  const stage = await openPagesStage();
  const pages = await showPages(stage);
  const browser = await openChromium();
  for (const [name, path, viewport] of PICTURES) {
    const { page, complaints } = await watchedPage(browser, pages.url, { viewport, colorScheme: 'light' });
    await page.goto(path);
    await page.screenshot({ path: `${FOLDER}${name}.png` });
    expect(complaints).toEqual([]);
    await page.context().close();
  }
  await browser.close();
  await pages.close();
  await stage.close();
});
