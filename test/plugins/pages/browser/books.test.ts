/**
 * Own books in a real browser: a file is imported, its proposals are decided on, and the day agrees. By mouse on a wide screen, by
 * keyboard on a phone. Each task takes the clicks that docs/pages.md says.
 *
 * @module-tag long
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addAmounts, compareAmounts } from '../../../../src/ledger/money.ts';
import { namedAccess, showPages, type ShownPages } from '../support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../../support/stage.ts';
import { chromiumPath, seriousProblems, useBrowser, watchedPage, widthOf } from './chromium.ts';

const { merchantNo } = MERCHANT;
const skipped = chromiumPath === null;

const DOC = readFileSync(new URL('../../../../docs/pages.md', import.meta.url), 'utf8').split('\n## ')[1]!;
/** The clicks of each task, as the documentation has them. */
const CLICKS = new Map(
  [...DOC.matchAll(/^\| ([^|]+) \| (\d+) \|/gm)].map(([, task, clicks]) => [task!, Number(clicks)]),
);

describe.skipIf(skipped)(skipped ? 'own books (skipped: no Chromium)' : 'own books', () => {
  let stage: Stage;
  const approvalAbove = new Map<string, string>();
  let pages: ShownPages;
  const browser = useBrowser();
  const amountsOf = (currency: string) =>
    stage.sandbox
      .entriesOf(merchantNo)
      .filter((one) => one.currency === currency)
      .map(({ batchNo, busiDate, inAmount, outAmount }) => ({
        ...{ batchNo, day: busiDate.slice(0, 10) },
        amount: inAmount ?? `-${outAmount}`,
      }))
      .toSorted((a, b) => compareAmounts(b.amount.replace('-', ''), a.amount.replace('-', '')));
  beforeAll(async () => {
    const opened = await openStage({
      scenario: scenario({ from: '2026-03-02', to: '2026-03-03', entriesPerDay: 5 }),
    });
    stage = opened;
    await stage.run();
    const books = { ...opened.app.settings.books, approvalAbove };
    stage = { ...opened, app: { ...opened.app, settings: { ...opened.app.settings, books } } };
    pages = await showPages(stage, { access: namedAccess() });
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  /** Moves on by Tab until the focus is on it. */
  async function reach(page: Page, wanted: ReturnType<Page['getByRole']>): Promise<void> {
    const isFocused = () => wanted.evaluate((one) => one === one.ownerDocument.activeElement);
    for (let tabs = 0; tabs < 200 && !(await isFocused()); tabs += 1) await page.keyboard.press('Tab');
    expect(await isFocused()).toBe(true);
  }

  test.each([
    ['by mouse on a wide screen', { viewport: { width: 1440, height: 900 } }, 'USD', false],
    [
      'by keyboard on a phone',
      { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
      'KWD',
      true,
    ],
  ] as const)(
    'a file is imported, what is left is decided on, and the day agrees, %s',
    async (_, options, currency, isByKeyboard) => {
      const as = (person: string) =>
        watchedPage(browser(), pages.url, { ...options, extraHTTPHeaders: { 'x-person': person } });
      const [ada, grace] = [await as('Ada'), await as('Grace')];
      let clicks = 0;
      /** Clicks it, or presses a key on it. */
      const press = async (
        page: Page,
        role: 'link' | 'button' | 'radio' | 'checkbox',
        name: string | RegExp,
        nth = 0,
      ): Promise<void> => {
        const wanted = page.getByRole(role, { name }).nth(nth);
        await wanted.waitFor();
        clicks += 1;
        const isChoice = role === 'radio' || role === 'checkbox';
        if (isByKeyboard) await reach(page, wanted);
        const act = (): Promise<void> =>
          isByKeyboard ? page.keyboard.press(isChoice ? 'Space' : 'Enter') : wanted.click();
        if (isChoice) await act();
        else await Promise.all([page.waitForEvent('load'), act()]);
      };
      const done = async (page: Page, text: string, task: string | null): Promise<void> => {
        expect(await page.locator('.said').innerText()).toContain(text);
        expect(await seriousProblems(page)).toEqual([]);
        expect(await widthOf(page)).toBeLessThanOrEqual(options.viewport.width);
        expect(await page.locator('button.main').count()).toBeLessThanOrEqual(1);
        if (task === null) return;
        expect(clicks, task).toBe(CLICKS.get(task));
        clicks = 0;
      };
      const unfold = async (name: string): Promise<void> => {
        const summary = ada.page.locator('summary', { hasText: name }).first();
        clicks += 1;
        if (isByKeyboard) await reach(ada.page, summary);
        await (isByKeyboard ? ada.page.keyboard.press('Enter') : summary.click());
      };
      const sum = async (): Promise<string[]> =>
        (await ada.page.locator('table.sum td.n').allInnerTexts()).map((text) => text.replaceAll(',', ''));

      const [largest, doubled, missing, ...others] = amountsOf(currency);
      const row = (number: string, { day, amount }: typeof largest & object, reference = '') =>
        [number, day, currency, amount, reference].join(',');
      const content = [
        'No,Day,Currency,Amount,Reference',
        row('BIG', {
          ...largest!,
          amount: addAmounts(largest!.amount, largest!.amount.startsWith('-') ? '-1' : '1'),
        }),
        ...[row('ONE', doubled!), row('TWO', doubled!)],
        ...others.map((one, nth) => row(`N${nth}`, one, one.batchNo)),
      ].join('\n');
      await ada.page.goto('/status');
      await press(ada.page, 'link', 'Own books');
      await ada.page
        .getByLabel('Mapping (YAML)')
        .fill(
          `merchant: '${merchantNo}'\nbook: ${currency}\nformat: csv\n` +
            'columns: {number: No, booked: Day, currency: Currency, amount: Amount, reference: Reference}',
        );
      await ada.page
        .getByLabel(/^File/)
        .setInputFiles({ name: 'own.csv', mimeType: 'text/csv', buffer: Buffer.from(content) });
      await press(ada.page, 'button', 'Import and match');
      await done(ada.page, `${others.length + 3} added`, 'Import a file and match it');
      // From now on another person approves what is above the second largest amount.
      approvalAbove.set(currency, doubled!.amount.replace('-', ''));

      // Two entries of its own book may belong to the ledger's one.
      await press(ada.page, 'link', `${merchantNo} ${currency}`);
      expect(await seriousProblems(ada.page)).toEqual([]);
      await press(ada.page, 'radio', /ONE/);
      await press(ada.page, 'button', 'Match the chosen answers');
      await done(ada.page, 'The chosen entries are matched.', 'Accept an answer of a proposal');
      const left = await sum();
      expect(left[2]).toBe(left[6]);

      await press(ada.page, 'checkbox', 'Choose BIG');
      await press(ada.page, 'checkbox', `Choose ${largest!.batchNo}`);
      await press(ada.page, 'button', 'Add up');
      await done(ada.page, 'difference', null);
      await ada.page.getByLabel('Type of the difference').fill('rounding');
      await press(ada.page, 'button', /^Match$/);
      await done(ada.page, 'waits for approval by another person', 'Match two entries by hand');
      expect(await ada.page.getByRole('button', { name: /^Approve/ }).count()).toBe(0);

      await grace.page.goto(`/books/${merchantNo}/${currency}`);
      await press(grace.page, 'button', /^Approve match/);
      await done(grace.page, 'The match is approved.', 'Approve what another person decided');

      const writeOff = async (number: string): Promise<void> => {
        await ada.page.goto(`/books/${merchantNo}/${currency}`);
        await press(ada.page, 'checkbox', `Choose ${number}`);
        await ada.page.getByLabel('Type of the difference').fill('error');
        await ada.page.getByLabel('Note').fill('recorded twice');
        await press(ada.page, 'button', 'Write off');
        await done(ada.page, 'The entries are written off.', 'Write an entry off');
      };
      await writeOff('TWO');
      await unfold('Take back');
      await ada.page.getByLabel('Reason', { exact: true }).first().fill('it was two payments');
      await press(ada.page, 'button', 'Take back');
      await done(ada.page, 'The match is taken back.', 'Take a match back');
      expect(await ada.page.getByRole('checkbox', { name: 'Choose TWO' }).count()).toBe(1);
      await press(ada.page, 'checkbox', `Choose ${missing!.batchNo}`);
      await unfold('Assign the chosen entries');
      await ada.page.getByLabel('Responsible').fill('Grace');
      await press(ada.page, 'button', 'Assign');
      await done(ada.page, 'The entries are assigned.', 'Assign an entry');
      expect(await ada.page.getByRole('row', { name: missing!.batchNo }).innerText()).toContain('Grace');
      await writeOff('TWO');
      await writeOff(missing!.batchNo);

      expect(await ada.page.getByText('All entries are matched.').count()).toBe(1);
      const [ledger, book, difference, onlyThere, onlyHere, , explained] = await sum();
      expect([ledger === book, explained]).toEqual([false, difference]);
      expect([Number(onlyThere), Number(onlyHere)]).toEqual([0, 0]);
      const days = await ada.page.getByRole('region', { name: 'Figures by day' }).getByText('agrees').count();
      expect(days).toBe(2);
      for (const { page, complaints } of [ada, grace]) {
        expect(complaints).toEqual([]);
        await page.context().close();
      }
    },
  );
});
