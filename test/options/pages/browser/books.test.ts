/** Own books in a real browser: import a file, see the proposals, decide, see the day agree; on a wide screen and on a phone. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { showPages, type ShownPages } from '../support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../../support/stage.ts';
import { chromiumPath, openChromium, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const { merchantNo } = MERCHANT;
const skipped = chromiumPath === null;

describe.skipIf(skipped)(skipped ? 'own books (skipped: no Chromium)' : 'own books', () => {
  let stage: Stage;
  let pages: ShownPages;
  let browser: Browser;
  beforeAll(async () => {
    stage = await openStage({
      scenario: scenario({ from: '2026-03-02', to: '2026-03-03', entriesPerDay: 5 }),
    });
    await stage.run();
    pages = await showPages(stage);
    browser = await openChromium();
  });
  afterAll(async () => {
    await browser.close();
    await pages.close();
    await stage.close();
  });

  test.each([
    ['on a wide screen', { width: 1440, height: 900 }, 'USD'],
    ['on a phone', { width: 390, height: 844 }, 'KWD'],
  ] as const)(
    'a file is imported, a proposal decided, and the day agrees, %s',
    async (_, viewport, currency) => {
      const { page, complaints } = await watchedPage(browser, pages.url, { viewport });
      const checked = async (): Promise<void> => {
        expect(await seriousProblems(page)).toEqual([]);
        expect(await widthOf(page)).toBeLessThanOrEqual(viewport.width);
      };
      const entries = stage.sandbox.entriesOf(merchantNo).filter((one) => one.currency === currency);
      const amountOf = ({ inAmount, outAmount }: (typeof entries)[number]) =>
        inAmount === null ? `-${outAmount}` : inAmount;
      // Recorded twice on the day, and one that names it: two answers.
      const rows = entries.map((one, nth) => [
        `N${nth}`,
        one.busiDate.slice(0, 10),
        currency,
        amountOf(one),
        nth === 0 ? '' : one.batchNo,
      ]);
      const doubled = ['D0', ...rows[0]!.slice(1)];
      const content = [['No', 'Day', 'Currency', 'Amount', 'Reference'], ...rows, doubled]
        .map((row) => row.join(','))
        .join('\n');
      const mapping =
        `merchant: '${merchantNo}'\nbook: ${currency}\nformat: csv\n` +
        'columns: {number: No, booked: Day, currency: Currency, amount: Amount, reference: Reference}';

      await page.goto('/books');
      await checked();
      await page.getByLabel('Mapping (YAML)').fill(mapping);
      await page
        .getByLabel(/^File/)
        .setInputFiles({ name: 'own.csv', mimeType: 'text/csv', buffer: Buffer.from(content) });
      await page.getByRole('button', { name: 'Import and match' }).click();
      await page.getByText(`${rows.length + 1} added`).waitFor();
      await page.getByRole('link', { name: `${merchantNo} ${currency}` }).click();
      await page.getByRole('heading', { name: 'Proposals' }).waitFor();
      await checked();
      const answers = page.getByRole('radio');
      expect(await answers.count()).toBe(2);
      await answers.first().check();
      await page.getByRole('button', { name: 'Match the chosen answers' }).click();
      await page.getByText('The chosen entries are matched.').waitFor();
      await page.getByRole('checkbox').first().check();
      await page.getByLabel('Type of the difference, for example fee').fill('error');
      await page.getByLabel('Note (the reason of a write-off)').fill('recorded twice');
      await page.getByRole('button', { name: 'Add up' }).click();
      await page.getByText('Chosen: ledger 0').waitFor();
      expect(await page.getByRole('checkbox').first().isChecked()).toBe(true);
      await page.getByRole('button', { name: 'Write off' }).click();
      await page.getByText('All entries are matched.').waitFor();
      await checked();
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );
});
