/**
 * Two persons close a month in a real browser, by keyboard, on a wide screen and on a phone.
 *
 * @module-tag long
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { namedAccess, showPages, type ShownPages } from '../support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../../support/stage.ts';
import { chromiumPath, useBrowser, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const { merchantNo } = MERCHANT;
const PAGE = `/m/${merchantNo}/2026-02`;
const skipped = chromiumPath === null;

describe.skipIf(skipped)(skipped ? 'approval (skipped: no Chromium)' : 'approval', () => {
  let stage: Stage;
  let pages: ShownPages;
  const browser = useBrowser();
  beforeAll(async () => {
    const days = { from: '2026-02-27', to: '2026-02-28' };
    const opened = await openStage({
      scenario: scenario({ ...days, entriesPerDay: 3, now: '2026-03-01T01:30:00+08:00' }),
    });
    const settings = { ...opened.app.settings, closeApproval: 'required' as const };
    stage = { ...opened, app: { ...opened.app, settings } };
    pages = await showPages(stage, { access: namedAccess() });
    await stage.run({ range: { from: '2026-02-01', to: days.to } });
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  /** Moves on by Tab until the focus is on it, and presses Enter. */
  const press = async (page: Page, role: 'link' | 'button', name: string): Promise<void> => {
    const wanted = page.getByRole(role, { name, exact: true });
    await wanted.waitFor();
    const isFocused = () => wanted.evaluate((one) => one === one.ownerDocument.activeElement);
    for (let tabs = 0; tabs < 200 && !(await isFocused()); tabs += 1) await page.keyboard.press('Tab');
    expect(await isFocused(), name).toBe(true);
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
  };

  test.each([
    ['on a wide screen', { width: 1440, height: 900 }, 1],
    ['on a phone', { width: 390, height: 844 }, 2],
  ] as const)('one prepares, another one approves, %s', async (_, viewport, number) => {
    const as = async (person: string) => {
      const watched = await watchedPage(browser(), pages.url, {
        viewport,
        extraHTTPHeaders: { 'x-person': person },
      });
      await watched.page.goto(PAGE);
      return watched;
    };
    const checked = async (page: Page): Promise<void> => {
      expect(await seriousProblems(page)).toEqual([]);
      expect(await widthOf(page)).toBeLessThanOrEqual(viewport.width);
    };
    const [ada, grace] = [await as('Ada'), await as('Grace')];
    await press(ada.page, 'link', 'Prepare this month');
    await checked(ada.page);
    await press(ada.page, 'button', 'Prepare the month');
    expect(await ada.page.getByRole('status').innerText()).toContain('The month is prepared.');
    await checked(ada.page);
    await press(ada.page, 'link', 'Approve or withdraw');
    expect(await ada.page.getByRole('button', { name: 'Approve and close the month' }).count()).toBe(0);
    await grace.page.reload();
    expect(
      await grace.page.getByText(/Prepared by Ada on .* waits for approval by another person/).count(),
    ).toBe(1);
    await press(grace.page, 'link', 'Approve or withdraw');
    await checked(grace.page);
    await press(grace.page, 'button', 'Approve and close the month');
    expect(await grace.page.getByRole('status').innerText()).toContain(
      `The month is closed: close ${number}`,
    );
    await ada.page.goto(PAGE);
    await press(ada.page, 'link', 'Reopen the month');
    await checked(ada.page);
    await ada.page.getByLabel('Reason for reopening').fill('invoice 7');
    await press(ada.page, 'button', 'Reopen the month');
    expect(await ada.page.getByRole('status').innerText()).toContain('The month is open again.');
    await checked(ada.page);
    expect([...ada.complaints, ...grace.complaints]).toEqual([]);
    await ada.page.context().close();
    await grace.page.context().close();
  });
});
