/** Names in a browser: given with the form, the longest ones and those of right-to-left writing, wide and on a phone. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { storeNames } from '../../../../src/store/names.ts';
import { BROKEN_DAY, usePagesStage } from '../stage.ts';
import { chromiumPath, useBrowser, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const skipped = chromiumPath === null;
const name = skipped ? 'names in a browser (skipped: no Chromium)' : 'names in a browser';
/** Where to put pictures to look at. */
const PICTURES = process.env['DAYBOOK_TEST_PICTURES_FOLDER'];

const NAMES = {
  long: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
    .repeat(2)
    .slice(0, 140),
  words:
    'The Very Long Established and Well Known International Trading Company of Hong Kong, Shenzhen and Guangzhou, Limited',
  Hebrew: 'חברת התשלומים הגדולה בע״מ (2020)',
  Chinese: '支付宝（中国）网络技术有限公司',
};

describe.skipIf(skipped)(name, () => {
  const { stage, pages } = usePagesStage();
  const browser = useBrowser();

  test.each([1440, 390])('an operator gives names by keyboard and sees them, %i wide', async (width) => {
    const { page, complaints } = await watchedPage(browser(), pages().url, {
      viewport: { width, height: 844 },
    });
    await page.goto('/m/SBX-M-1/2026-03?currency=USD');
    await page.getByRole('link', { name: 'Names and references' }).click();
    await page.getByLabel('Display name').first().fill(`Acme ${width}`);
    const usd = page.getByRole('group', { name: 'SBX-M-1 USD' });
    await usd.getByLabel('IBAN or another identifier').fill('DE89 3704 0044 0532 0130 01');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('status').textContent()).toMatch(/Saved\./);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(`Acme ${width}`);
    expect(await usd.textContent()).toContain('The check digits are wrong');
    expect(await seriousProblems(page)).toEqual([]);
    expect(await widthOf(page)).toBeLessThanOrEqual(width);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  for (const [kind, given] of Object.entries(NAMES))
    test.each([1440, 390])(
      `a name (${kind}) wraps and takes no page apart, %i wide`,
      { tags: kind === 'long' ? [] : ['long'] },
      async (width) => {
        const { db } = stage().app.database;
        const names = [null, 'USD', 'KWD'].map((currency) => ({
          ...{ merchantNo: 'SBX-M-1', currency },
          fields: {
            name: currency === 'KWD' ? '' : given,
            ...(currency === 'USD' && { iban: 'X'.repeat(34) }),
          },
        }));
        const record = { event: { by: 'ada', command: 'merchants name' }, now: stage().app.now() };
        await db.transaction().execute((trx) => storeNames(trx, names, record));
        const { page } = await watchedPage(browser(), pages().url, { viewport: { width, height: 844 } });
        for (const path of [
          '/?month=2026-03',
          '/m/SBX-M-1/2026-03',
          `/m/SBX-M-1/USD/${BROKEN_DAY}`,
          '/breaks',
          '/status',
          '/names/SBX-M-1',
        ]) {
          await page.goto(path);
          if (PICTURES !== undefined)
            await page.screenshot({
              path: join(PICTURES, `names-${kind}-${width}-${path.replace(/\W+/g, '-')}.png`),
              fullPage: true,
            });
          expect(await widthOf(page), path).toBeLessThanOrEqual(width);
          const shown = await page
            .locator('.named, h1 bdi')
            .evaluateAll((all) =>
              all.map(
                (one) =>
                  (
                    one as unknown as { getBoundingClientRect: () => { width: number } }
                  ).getBoundingClientRect().width,
              ),
            );
          expect(Math.max(0, ...shown), path).toBeLessThanOrEqual(width);
        }
        await page.context().close();
      },
    );
});
