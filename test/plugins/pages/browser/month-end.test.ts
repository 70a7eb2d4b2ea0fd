/**
 * The end of a month in a browser alone, from the first page: a red day is found and its break assigned and resolved, the day is
 * published again, an unreadable entry acknowledged, the month prepared by one and approved by another. Each task takes no more
 * clicks than docs/pages.md says.
 *
 * @module-tag long
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { doNextRequest } from '../../../../src/run/requests.ts';
import { namedAccess, showPages, type ShownPages } from '../support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../../support/stage.ts';
import { chromiumPath, useBrowser, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const { merchantNo } = MERCHANT;
const skipped = chromiumPath === null;

/** The clicks of each task, as the table of the documentation has them. */
const documented = (): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [
      ...readFileSync(new URL('../../../../docs/pages.md', import.meta.url), 'utf8')
        .split('\n## ')[0]!
        .matchAll(/^\| ([^|]+) \| (\d+) \|/gm),
    ].map(([, task, clicks]) => [task!, Number(clicks)]),
  );

describe.skipIf(skipped)(skipped ? 'month end (skipped: no Chromium)' : 'month end', () => {
  const browser = useBrowser();

  async function openMonth(): Promise<{ stage: Stage; pages: ShownPages }> {
    const days = { from: '2026-02-27', to: '2026-02-28' };
    const of = { merchant: merchantNo, currency: 'USD' };
    const opened = await openStage({
      scenario: scenario({
        ...days,
        ...{ entriesPerDay: 12, now: '2026-03-01T01:30:00+08:00' },
        planted: [
          { what: 'missing', ...of, day: '2026-02-27', nth: 5 },
          { what: 'malformed', ...of, day: '2026-02-28', nth: 11 },
        ],
      }),
    });
    const settings = { ...opened.app.settings, closeApproval: 'required' as const };
    const stage = { ...opened, app: { ...opened.app, settings } };
    const pages = await showPages(stage, { access: namedAccess() });
    await stage.run({ range: { from: '2026-02-01', to: days.to } });
    return { stage, pages };
  }

  test.each([
    ['on a wide screen', { width: 1440, height: 900 }],
    ['on a phone', { width: 390, height: 844 }],
  ] as const)('is done without a shell, %s', async (_, viewport) => {
    const { stage, pages } = await openMonth();
    const clicks: Record<string, number> = {};
    const as = async (person: string) => {
      const watched = await watchedPage(browser(), pages.url, {
        viewport,
        extraHTTPHeaders: { 'x-person': person },
      });
      await watched.page.goto('/?month=2026-02');
      return watched;
    };
    const click = async (
      page: Page,
      task: string,
      role: 'link' | 'button',
      name: string | RegExp,
    ): Promise<void> => {
      await page.getByRole(role, { name }).first().click();
      clicks[task] = (clicks[task] ?? 0) + 1;
      // A page that waits for work loads itself anew, and has a link that stops it.
      const problems = await seriousProblems(page);
      expect(problems.filter((one) => !one.startsWith('meta-refresh'))).toEqual([]);
      expect(await widthOf(page)).toBeLessThanOrEqual(viewport.width);
    };
    const [ada, grace] = [await as('Ada'), await as('Grace')];

    const why = 'Find why a day is red';
    await click(ada.page, why, 'link', 'broken');
    await click(ada.page, why, 'link', /^Break \d+$/);
    expect(await ada.page.getByRole('heading', { level: 1 }).innerText()).toMatch(/^Break \d+ open$/);
    await click(ada.page, 'Assign the break to oneself', 'button', 'Assign to me');
    await ada.page.getByLabel('Explanation').fill('fee of the bank, case 4711');
    await click(ada.page, 'Resolve the break', 'button', 'Resolve');
    await click(ada.page, 'Publish the day again', 'button', 'Publish again');
    expect(await doNextRequest(stage.app, new AbortController().signal)).toMatchObject({ outcome: 'done' });
    await ada.page.reload();
    expect(await ada.page.locator('main').innerText()).toContain('done');

    await ada.page.goto('/?month=2026-02');
    const unreadable = 'Acknowledge an unreadable entry';
    await click(ada.page, unreadable, 'link', /unreadable entr/);
    await click(ada.page, unreadable, 'link', /Unreadable entry|^\d+$/);
    await ada.page.getByLabel(/Why it needs no more attention/).fill('a test entry of the platform');
    await click(ada.page, unreadable, 'button', 'Acknowledge');
    // Its day waited for that: the next night publishes it.
    await stage.run({ range: { from: '2026-02-01', to: '2026-02-28' } });

    await ada.page.goto('/?month=2026-02');
    const prepare = 'Prepare the month';
    await click(ada.page, prepare, 'link', `${merchantNo} USD`);
    await click(ada.page, prepare, 'link', 'Prepare this month');
    await click(ada.page, prepare, 'button', 'Prepare the month');
    expect(await ada.page.getByRole('status').innerText()).toContain('The month is prepared.');
    const approve = 'Approve and close it';
    await click(grace.page, approve, 'link', `${merchantNo} USD`);
    await click(grace.page, approve, 'link', 'Approve or withdraw');
    await click(grace.page, approve, 'button', 'Approve and close the month');
    expect(await grace.page.getByRole('status').innerText()).toContain('The month is closed: close 1');

    await grace.page.locator('details.menu summary').first().click();
    const [workbook] = await Promise.all([
      grace.page.waitForEvent('download'),
      grace.page.getByRole('link', { name: /workbook/i }).click(),
    ]);
    clicks['Download the month’s workbook'] = 2;
    expect(workbook.suggestedFilename()).toMatch(/\.xlsx$/);
    expect(clicks).toEqual(documented());
    expect([...ada.complaints, ...grace.complaints].filter((one) => !one.includes('/download/'))).toEqual([]);
    await ada.page.context().close();
    await grace.page.context().close();
    await pages.close();
    await stage.close();
  });
});
