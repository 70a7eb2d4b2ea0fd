/** An entry that could not be read, from the accounts to its acknowledgement, in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MERCHANT, openStage, scenario, type Stage } from '../../../support/stage.ts';
import { showPages, type ShownPages } from '../support.ts';
import { chromiumPath, useBrowser, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const skipped = chromiumPath === null;
const name = skipped
  ? 'unreadable entries in a browser (skipped: no Chromium; apt-get install chromium)'
  : 'unreadable entries in a browser';

describe.skipIf(skipped)(name, () => {
  let stage: Stage;
  let pages: ShownPages;
  const browser = useBrowser();
  beforeAll(async () => {
    const one = { what: 'malformed' as const, merchant: MERCHANT.merchantNo, currency: 'USD' };
    const planted = [1, 2].map((nth) => ({ ...one, day: '2026-03-05', nth }));
    stage = await openStage({ scenario: scenario({ entriesPerDay: 6, planted }) });
    await stage.run();
    pages = await showPages(stage);
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  test.each([
    [1440, 'light'],
    [390, 'dark'],
  ] as const)('it is found and acknowledged by keyboard, %i wide, %s', async (width, colorScheme) => {
    const options = { viewport: { width, height: 844 }, colorScheme };
    const { page, complaints } = await watchedPage(browser(), pages.url, options);
    const isFine = async (): Promise<void> => {
      expect(await seriousProblems(page), page.url()).toEqual([]);
      expect(await widthOf(page), page.url()).toBeLessThanOrEqual(width);
    };
    await page.goto('/?month=2026-03');
    await isFine();
    await page
      .getByRole('link', { name: /unreadable entr/ })
      .first()
      .click();
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe('Unreadable entries');
    await isFine();
    await page.locator('tbody th a').first().click();
    await expect
      .poll(() => page.getByRole('heading', { level: 1 }).textContent())
      .toMatch(/^Unreadable entry \d+$/);
    await isFine();
    await page.getByLabel('Why it needs no more attention').focus();
    await page.keyboard.type('booked by hand');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.getByRole('status').allTextContents())
      .toEqual([expect.stringContaining('The entry is acknowledged.')]);
    await isFine();
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
