/**
 * People at the pages in a real browser: logging in and out, what an operator does, and what a viewer cannot do.
 *
 * @module-tag long
 */
import { randomBytes } from 'node:crypto';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccess } from '../../../../src/plugins/pages/access/open.ts';
import { hashPassword } from '../../../../src/plugins/pages/access/identity.ts';
import { accessSettings, PASSWORDS, SECRET_KEYS } from '../access/support.ts';
import { showPages, type ShownPages } from '../support.ts';
import { BROKEN_DAY, closeMarch, openPagesStage, REVISED_DAY } from '../stage.ts';
import type { Stage } from '../../../support/stage.ts';
import { chromiumPath, useBrowser, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const MARCH = '/m/SBX-M-1/2026-03';
/** The part of a sheet that browsers print on, in pixels. */
const A4 = { width: 718, height: 1047 };
/** Operator of all, viewer of one merchant, and viewer of another one. */
const PEOPLE = { ...PASSWORDS, otto: 'a third long password' } as const;
const skipped = chromiumPath === null;

describe.skipIf(skipped)(skipped ? 'people (skipped: no Chromium)' : 'people', () => {
  let stage: Stage;
  let pages: ShownPages;
  const browser = useBrowser();
  let broken: string;
  const states = new Map<string, Awaited<ReturnType<BrowserContext['storageState']>>>();
  beforeAll(async () => {
    stage = await openPagesStage(closeMarch);
    const { db } = stage.app.database;
    const hashes = Object.entries(PEOPLE).map(async ([name, password]) => [
      name,
      await hashPassword(password, randomBytes(16)),
    ]);
    const settings = accessSettings({
      accessUsers: Object.fromEntries(await Promise.all(hashes)) as object,
      accessRoles: {
        ada: 'operator',
        vera: { role: 'viewer', merchants: ['SBX-M-1'] },
        otto: { role: 'viewer', merchants: ['SBX-M-2'] },
      },
    });
    const access = createAccess({
      ...{ settings, db, random: randomBytes, secretKeys: SECRET_KEYS, isSecure: false, now: stage.app.now },
    });
    pages = await showPages(stage, { access, canLogOut: true });
    const { id } = await db
      .selectFrom('continuity_break')
      .select('id')
      .where('currency', '=', 'USD')
      .executeTakeFirstOrThrow();
    broken = `/breaks/${id}`;
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  async function logIn(page: Page, name: keyof typeof PEOPLE, password: string = PEOPLE[name]) {
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Password').fill(password);
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Log in' }).click()]);
  }
  /** A page of somebody who has logged in; once each, as logins are few from one address. */
  async function pageOf(name: keyof typeof PEOPLE, path: string, options: BrowserContextOptions = {}) {
    if (!states.has(name)) {
      const { page } = await watchedPage(browser(), pages.url);
      await page.goto('/login');
      await logIn(page, name);
      states.set(name, await page.context().storageState());
      await page.context().close();
    }
    const watched = await watchedPage(browser(), pages.url, { ...options, storageState: states.get(name)! });
    await watched.page.goto(path);
    return watched;
  }
  const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();

  test('a login leads where somebody wanted to go, a wrong password nowhere, and a logout ends it', async () => {
    const { page, complaints } = await watchedPage(browser(), pages.url);
    await page.goto(MARCH);
    expect(await heading(page)).toBe('Log in');
    await logIn(page, 'ada', 'wrong horse battery');
    expect(await page.getByRole('alert').innerText()).toContain('Incorrect name or password');
    expect(await heading(page)).toBe('Log in');
    await logIn(page, 'ada');
    expect(new URL(page.url()).pathname).toBe(MARCH);
    expect(await page.locator('.who').innerText()).toBe('ada, operator');
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    expect(await heading(page)).toBe('Log in');
    await page.goto(MARCH);
    expect(await heading(page)).toBe('Log in');
    // The browser tells of the wrong password's answer, and of nothing else.
    expect(complaints.filter((one) => !one.includes('status of 401'))).toEqual([]);
    await page.context().close();
  });

  test.each([
    ['on a wide screen, dark', { viewport: { width: 1440, height: 900 }, colorScheme: 'dark' }],
    ['on a phone, light', { viewport: { width: 390, height: 844 }, colorScheme: 'light' }],
  ] as const)('nothing serious is in anybody’s way to log in and to close a month %s', async (_, options) => {
    const { page, complaints } = await watchedPage(browser(), pages.url, options);
    const checked = async (what: string): Promise<void> => {
      expect(await seriousProblems(page), what).toEqual([]);
      expect(await widthOf(page), what).toBeLessThanOrEqual(options.viewport.width);
    };
    await page.goto('/login');
    await checked('login');
    await logIn(page, 'vera', 'wrong');
    await checked('wrong password');
    await logIn(page, 'ada');
    for (const path of [
      '/?month=2026-03',
      `${MARCH}?close=yes`,
      `/m/SBX-M-1/KWD/${REVISED_DAY}`,
      '/nothing',
    ]) {
      await page.goto(path);
      await checked(path);
    }
    expect(complaints.filter((one) => !/status of 40[14]/.test(one))).toEqual([]);
    await page.context().close();
  });

  test('an operator sees what adjusts a closed month, and closes it again with the reason why', async () => {
    const { page, complaints } = await pageOf('ada', '/?month=2026-03');
    expect(await page.locator('main td .closed').allInnerTexts()).toEqual([
      'closed, changed since',
      'closed',
    ]);
    await page.getByRole('link', { name: 'SBX-M-1' }).first().click();
    expect(await heading(page)).toBe('SBX-M-1, March 2026 closed, changed since');
    await page.getByRole('link', { name: 'r1 → r2' }).click();
    expect(await heading(page)).toContain('SBX-M-1 KWD, 4 Mar 2026');
    expect(await page.locator('tr.came').count()).toBe(1);
    await page.goBack();
    await page.getByRole('link', { name: 'Make the next close' }).click();
    expect(await page.getByText('are open. Finish each one first').count()).toBe(1);
    expect(await page.getByRole('cell', { name: 'broken: its balance chain is broken' }).count()).toBe(1);
    await page.getByLabel('Reason for closing despite open days').fill('the auditor asks again');
    await page.getByRole('button', { name: 'Close despite open days' }).click();
    expect(await page.getByRole('status').innerText()).toContain('The month is closed: close 2 freezes');
    expect(await heading(page)).toBe('SBX-M-1, March 2026 closed');
    const rows = page.locator('h2#close + .scroll tbody tr');
    expect((await rows.allInnerTexts()).map((row) => row.split('\t').slice(0, 3))).toEqual([
      ['1', '6 Mar 2026, 01:30:00', 'ada'],
      ['2', '7 Mar 2026, 01:30:00', 'ada'],
    ]);
    expect(await page.getByText('Nothing has changed since.').count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('an operator takes a case, comments, resolves and reopens it', async () => {
    const { page, complaints } = await pageOf('ada', broken);
    await page.getByRole('button', { name: 'Assign to me' }).click();
    await page.getByLabel('Note', { exact: true }).fill('asked the bank');
    await page.getByRole('button', { name: 'Add a comment' }).click();
    await page.getByLabel('Explanation').fill('fee of the bank');
    await page.getByRole('button', { name: 'Resolve' }).click();
    expect(await heading(page)).toContain('resolved');
    await page.getByRole('button', { name: 'Reopen' }).click();
    expect(await page.getByRole('status').innerText()).toContain('The break is open again');
    expect((await page.locator('ol li').allInnerTexts()).map((item) => item.replace(/^.*\d: /, ''))).toEqual([
      'found',
      'assigned by ada',
      'commented by ada: asked the bank',
      'resolved by ada: fee of the bank',
      'reopened by ada',
    ]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('the message to the platform is copied by a button, and without scripts it stays a text', async () => {
    const plain = await pageOf('ada', broken, { javaScriptEnabled: false });
    const message = await plain.page.locator('pre').innerText();
    expect(message).toMatch(/^Subject: Merchant SBX-M-1, USD:[^]*Our reference: break \d+$/);
    expect(await plain.page.getByRole('button', { name: 'Copy message' }).count()).toBe(0);
    await plain.page.context().close();

    const { page, complaints } = await pageOf('ada', broken, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const copy = page.getByRole('button', { name: 'Copy message' });
    await copy.click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(message);
    expect(await seriousProblems(page)).toEqual([]);
    // Where the browser forbids it, the text is selected.
    await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("forbidden"))');
    await copy.click();
    await page.getByText('The browser does not allow copying.').waitFor();
    expect(await page.evaluate<string>('String(getSelection())')).toBe(message);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('an operator gives a case to another one by a date, and finds it in the list', async () => {
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const { page, complaints } = await pageOf('ada', '/breaks', { viewport });
      const checked = async (): Promise<void> => {
        expect(await seriousProblems(page)).toEqual([]);
        expect(await widthOf(page)).toBeLessThanOrEqual(viewport.width);
      };
      await checked();
      await page.goto(broken);
      await page.getByLabel('Assign to', { exact: true }).fill('grace');
      await page.getByLabel('Due (optional)').last().fill('2026-03-09');
      await page.getByRole('button', { name: 'Assign', exact: true }).click();
      expect(await page.getByRole('status').innerText()).toContain('This break is assigned to grace.');
      await checked();
      await page.goto('/breaks');
      await page.getByLabel('Merchant number').fill('SBX-M-1');
      await page.getByLabel('State').selectOption('assigned');
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      expect(await page.locator('tbody tr').allInnerTexts()).toEqual([
        expect.stringMatching(/USD\s3 Mar 2026\s-306\.15\sassigned\s\d days?\sgrace\s9 Mar 2026/),
      ]);
      await page.getByLabel('Assigned to me').check();
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      expect(await page.getByText('No break matches.').count()).toBe(1);
      await checked();
      expect(complaints).toEqual([]);
      await page.context().close();
    }
  });

  test('a viewer sees their merchants alone, and can change nothing', async () => {
    const { page, complaints } = await pageOf('vera', `${MARCH}?close=yes`);
    expect(await page.locator('h2#close + .scroll tbody tr').count()).toBeGreaterThan(0);
    expect(await page.locator('main form').count()).toBe(0);
    const token = await page.locator('header .logout input[name=form_token]').getAttribute('value');
    const statusOf = async (path: string, form: Record<string, string>): Promise<number> =>
      (await page.request.post(path, { form: { form_token: token!, ...form }, maxRedirects: 0 })).status();
    expect(await statusOf(MARCH, { despite: 'mine' })).toBe(403);
    await page.goto(broken);
    expect(await page.locator('main form').count()).toBe(0);
    expect(await statusOf(broken, { step: 'resolved', note: 'mine' })).toBe(403);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('the merchants of others are not there, wherever somebody looks', async () => {
    const { page, complaints } = await pageOf('otto', '/?month=2026-03');
    for (const path of ['/?month=2026-03', '/breaks?all=yes', '/changes?since=2026-03-01', '/status']) {
      await page.goto(path);
      expect(await page.locator('main').innerText(), path).not.toContain('SBX-M-1');
    }
    for (const path of [MARCH, `/m/SBX-M-1/USD/${BROKEN_DAY}`, broken, '/download/SBX-M-1/2026-03.zip'])
      expect((await page.request.get(path)).status(), path).toBe(404);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test.each([
    ['a closed month', MARCH],
    ['a broken day', `/m/SBX-M-1/USD/${BROKEN_DAY}`],
    ['two revisions', `/m/SBX-M-1/KWD/${REVISED_DAY}?revision=2&against=1`],
    ['the months', '/?month=2026-03'],
  ])('on paper %s: without what only a screen needs, and nothing is cut off', async (_, path) => {
    const { page } = await pageOf('ada', path, { viewport: A4, colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('nav:visible, form:visible, button:visible, .button:visible').count()).toBe(0);
    expect(await page.locator('main').innerText()).toContain('2026');
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
    const beyond = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > ${A4.width} + 1)` +
        `.map((one) => one.outerHTML.slice(0, 80))`,
    );
    expect(beyond).toEqual([]);
    await page.context().close();
  });
});
