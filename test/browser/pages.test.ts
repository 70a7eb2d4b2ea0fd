/** The pages in a real browser, as people use them. */
import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { showPages, type ShownPages } from '../support/pages.ts';
import { BROKEN_DAY, openPagesStage, REVISED_DAY } from '../support/pages-stage.ts';
import type { Stage } from '../support/stage.ts';
import { chromiumPath, openChromium, seriousProblems, watchedPage } from './chromium.ts';

const skipped = chromiumPath === null;
const name = skipped
  ? 'pages in a browser (skipped: no Chromium; apt-get install chromium)'
  : 'pages in a browser';

describe.skipIf(skipped)(name, () => {
  let stage: Stage;
  let pages: ShownPages;
  let browser: Browser;
  beforeAll(async () => {
    stage = await openPagesStage();
    pages = await showPages(stage);
    browser = await openChromium();
  });
  afterAll(async () => {
    await browser.close();
    await pages.close();
    await stage.close();
  });

  const openBreak = async (): Promise<number> =>
    (
      await stage.app.database.db
        .selectFrom('continuity_break')
        .select('id')
        .where('currency', '=', 'USD')
        .executeTakeFirstOrThrow()
    ).id;

  const anEntry = async (): Promise<string> =>
    (await stage.app.database.db.selectFrom('ledger_entry').select('batch_no').executeTakeFirstOrThrow())
      .batch_no;

  test.each([
    ['on a wide screen, light', { viewport: { width: 1440, height: 900 }, colorScheme: 'light' }],
    ['on a phone, dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ] as const)('nothing serious is in anybody’s way %s', async (_, options) => {
    const { page, complaints } = await watchedPage(browser, pages.url, options);
    const paths = [
      '/?month=2026-03',
      '/m/SBX-M-1/2026-03',
      `/m/SBX-M-1/USD/${BROKEN_DAY}`,
      `/m/SBX-M-1/KWD/${REVISED_DAY}?revision=2&against=1`,
      '/breaks',
      `/breaks/${await openBreak()}`,
      `/entry/SBX-M-1/${await anEntry()}?lines=yes`,
      '/entry',
      '/changes?since=2026-03-01',
      '/status',
    ];
    for (const path of paths) {
      await page.goto(path);
      expect(await seriousProblems(page), path).toEqual([]);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(
        options.viewport.width,
      );
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('from the months to the broken day, its break on the chart, and the case taken and resolved', async () => {
    const { page, complaints } = await watchedPage(browser, pages.url);
    await page.goto('/?month=2026-03');
    await page.getByRole('link', { name: 'broken' }).click();
    await expect
      .poll(() => page.getByRole('heading', { level: 1 }).textContent())
      .toBe('SBX-M-1 USD, 3 Mar 2026');
    const chart = page.getByRole('img', { name: 'Running balance in USD on 3 Mar 2026' });
    expect(await chart.locator('line.mark').count()).toBe(1);
    const id = await openBreak();
    await page
      .getByRole('link', { name: `Break ${id}`, exact: true })
      .first()
      .click();
    await page.getByLabel('Note, if you like').fill('<b>mine</b>');
    await page.getByRole('button', { name: 'Take it: I look after it' }).click();
    expect(await page.getByRole('status').textContent()).toContain('You have taken this break.');
    await page.getByLabel('Why it is no longer open').fill('fee of the bank, case 4711');
    await page.getByRole('button', { name: 'Resolve it' }).click();
    expect(await page.getByRole('status').textContent()).toContain('The break is resolved.');
    expect(await page.locator('ol li').allInnerTexts()).toEqual([
      '6 Mar 2026, 01:30:00: found',
      '7 Mar 2026, 01:30:00: taken by local: <b>mine</b>',
      '7 Mar 2026, 01:30:00: resolved by local: fee of the bank, case 4711',
    ]);
    await page.goto('/?month=2026-03');
    expect(await page.getByRole('link', { name: 'explained' }).count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('revisions are compared side by side, with the changed row and its cause', async () => {
    const { page, complaints } = await watchedPage(browser, pages.url);
    await page.goto(`/m/SBX-M-1/KWD/${REVISED_DAY}`);
    await page.getByRole('link', { name: 'r1 with r2' }).click();
    expect(await page.locator('tr.came').innerText()).toMatch(
      /^came\tSBX\d+\t03:30:25\t[A-Z]+\t4,080\.080\t\t10,679,613\.870\tlate entry, first seen 7 Mar 2026, 01:30:00; heals break \d+$/,
    );
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('a download holds the bytes that were published', async () => {
    const { page, complaints } = await watchedPage(browser, pages.url);
    await page.goto(`/m/SBX-M-1/USD/${BROKEN_DAY}`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download statement r1 (CSV)' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`SBX-M-1_USD_${BROKEN_DAY}.r1.csv`);
    const text = await readFile(await download.path(), 'utf8');
    expect(text.split('\n').length).toBe(61);
    // A link that becomes a file ends as a request without a page.
    expect(complaints.filter((one) => !one.includes('/download/'))).toEqual([]);
    await page.context().close();
  });

  test('everything can be reached with the keyboard, and the content first', async () => {
    const { page } = await watchedPage(browser, pages.url);
    await page.goto('/?month=2026-03');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Month before');
    await page.context().close();
  });
});
