/** The pages in a real browser, as people use them. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readXlsx } from 'hucre/xlsx';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { STATEMENT_FORMATS } from '../../../../src/statements/formats/all.ts';
import { STATEMENT_COLUMNS } from '../../../../src/statements/formats/format.ts';
import { verifyPaths } from '../../../../src/verify/verify.ts';
import { withRequests } from '../../../../src/run/requests.ts';
import { fileRequest } from '../../../../src/run/page-requests.ts';
import { BROKEN_DAY, usePagesStage, REVISED_DAY } from '../stage.ts';
import type { Stage } from '../../../support/stage.ts';
import { chromiumPath, useBrowser, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const HEAD = STATEMENT_COLUMNS.map(({ name }) => name);
const skipped = chromiumPath === null;
const name = skipped
  ? 'pages in a browser (skipped: no Chromium; apt-get install chromium)'
  : 'pages in a browser';

/** A cell of a workbook as the CSV has it. */
function cellText(value: unknown): string {
  if (value instanceof Date) return value.toISOString().slice(0, 19).replace('T', ' ');
  return typeof value === 'number' ? value.toFixed(2) : ((value as string | null) ?? '');
}

/** The page of a request that waits. */
const aRequest = async ({ app }: Stage): Promise<string> => {
  const days = { from: BROKEN_DAY, to: BROKEN_DAY };
  const asked = { what: 'publish' as const, merchantNo: 'SBX-M-1', ...days };
  return `/work/${await fileRequest(app.database.db, asked, { by: 'local', note: null, now: app.now() })}`;
};

describe.skipIf(skipped)(name, () => {
  const { stage, pages } = usePagesStage();
  const browser = useBrowser();

  const openBreak = async (): Promise<number> =>
    (
      await stage()
        .app.database.db.selectFrom('continuity_break')
        .select('id')
        .where('currency', '=', 'USD')
        .executeTakeFirstOrThrow()
    ).id;

  const anEntry = async (): Promise<string> =>
    (await stage().app.database.db.selectFrom('ledger_entry').select('batch_no').executeTakeFirstOrThrow())
      .batch_no;

  for (const [where, options] of [
    ['on a wide screen, light', { viewport: { width: 1440, height: 900 }, colorScheme: 'light' }],
    ['on a phone, dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ] as const)
    test(`nothing serious is in anybody’s way ${where}`, { tags: ['long'] }, async () => {
      const { page, complaints } = await watchedPage(browser(), pages().url, options);
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
        '/work',
        '/unreadable',
        `${await aRequest(stage())}?refresh=no`,
      ];
      for (const path of paths) {
        await page.goto(path);
        expect(await seriousProblems(page), path).toEqual([]);
        expect(await widthOf(page), path).toBeLessThanOrEqual(options.viewport.width);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    });

  test('on a phone every row shows all it holds without moving sideways, each value with its head', async () => {
    const { page, complaints } = await watchedPage(browser(), pages().url, {
      viewport: { width: 390, height: 844 },
    });
    await aRequest(stage());
    const shown: Record<string, number> = {};
    for (const path of [
      '/?month=2026-03',
      '/m/SBX-M-1/2026-03?currency=USD',
      `/m/SBX-M-1/USD/${BROKEN_DAY}`,
      `/breaks/${await openBreak()}`,
      '/entry?merchant=SBX-M-1&from=2026-03-03&to=2026-03-03',
      '/breaks?state=all',
      '/changes?since=2026-03-01',
      '/status',
      '/work',
    ]) {
      await page.goto(path);
      const tables = page.locator('.scroll:has(> .stacked), .scroll:has(> .entries)');
      expect(await tables.count(), path).toBeGreaterThan(0);
      const hidden = await page.evaluate<string[]>(`[...document.querySelectorAll('.scroll')]
        .filter((one) => one.querySelector('.stacked, .entries') && one.scrollWidth > one.clientWidth)
        .map((one) => one.textContent)`);
      expect(hidden, path).toEqual([]);
      const cells = page.locator('.stacked tbody tr > :not(:empty)');
      const unnamed = await page.evaluate<
        string[]
      >(`[...document.querySelectorAll('.stacked tbody tr > :not(:empty)')]
        .filter((cell) => cell.dataset.head === '' || getComputedStyle(cell, '::before').content === 'none')
        .map((cell) => cell.outerHTML)`);
      expect(unnamed, path).toEqual([]);
      shown[path] = await cells.count();
    }
    expect(shown['/?month=2026-03']).toBe(14);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test.each([1440, 390])(
    'by keyboard a day is read again, and its page says when it is done, %i wide',
    async (width) => {
      const { page, complaints } = await watchedPage(browser(), pages().url, {
        viewport: { width, height: 844 },
      });
      const working = new AbortController();
      const log = { info: () => undefined, warn: () => undefined, error: () => undefined } as never;
      const { promise, resolve: stop } = Promise.withResolvers<undefined>();
      await page.goto(`/m/SBX-M-1/USD/${BROKEN_DAY}`);
      await page.getByLabel('Reason (optional)').focus();
      await page.keyboard.type('the auditor asks');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await expect.poll(() => page.getByText('queued').count()).toBe(1);
      const repeating = withRequests(stage().app, log, working.signal, () => promise);
      await expect
        .poll(() => page.getByRole('heading', { name: 'What changed' }).count(), { timeout: 20_000 })
        .toBe(1);
      expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(0);
      stop(undefined);
      await repeating;
      expect(await page.getByText('the auditor asks').count()).toBe(1);
      expect(await seriousProblems(page)).toEqual([]);
      expect(await widthOf(page)).toBeLessThanOrEqual(width);
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  test('from the months to the broken day, its break on the chart, and the case taken and resolved', async () => {
    const { page, complaints } = await watchedPage(browser(), pages().url);
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
    await page.getByLabel('Note (optional)').first().fill('<b>mine</b>');
    await page.getByRole('button', { name: 'Assign to me' }).click();
    expect(await page.getByRole('status').textContent()).toContain('This break is assigned to you.');
    await page.getByLabel('Explanation').fill('fee of the bank, case 4711');
    await page.getByRole('button', { name: 'Resolve' }).click();
    expect(await page.getByRole('status').textContent()).toContain('Your explanation is recorded.');
    expect(await page.locator('ol li').allInnerTexts()).toEqual([
      '6 Mar 2026, 01:30:00: found',
      '7 Mar 2026, 01:30:00: assigned by local: <b>mine</b>',
      '7 Mar 2026, 01:30:00: resolved by local: fee of the bank, case 4711',
    ]);
    await page.goto('/?month=2026-03');
    expect(await page.getByRole('link', { name: 'explained' }).count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('revisions are compared side by side, with the changed row and its cause', async () => {
    const { page, complaints } = await watchedPage(browser(), pages().url);
    await page.goto(`/m/SBX-M-1/KWD/${REVISED_DAY}`);
    await page.getByRole('link', { name: 'r1 with r2' }).click();
    expect(await page.locator('tr.came').innerText()).toMatch(
      /^added\tSBX\d+\t03:30:25\t[A-Z]+\t4,080\.080\t\t10,679,613\.870\tlate entry, first seen 7 Mar 2026, 01:30:00; heals break \d+$/,
    );
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  /** Clicks a link, and reads the file that comes. */
  async function fetched(page: Page, link: string): Promise<{ name: string; path: string; bytes: Buffer }> {
    const menu = page.locator('details.menu');
    if ((await menu.getAttribute('open')) === null) await menu.locator('summary').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: link, exact: true }).click(),
    ]);
    const path = await download.path();
    return { name: download.suggestedFilename(), path, bytes: await readFile(path) };
  }

  test(
    'a day is downloaded as CSV and as XLSX, with the same cells as the page’s entries',
    { tags: ['long'] },
    async () => {
      const { page, complaints } = await watchedPage(browser(), pages().url);
      await page.goto(`/m/SBX-M-1/USD/${BROKEN_DAY}?digits=exact`);
      const csv = await fetched(page, 'Download statement r1 (CSV)');
      expect(csv.name).toBe(`SBX-M-1_USD_${BROKEN_DAY}.r1.csv`);
      const [head, ...lines] = csv.bytes
        .toString('utf8')
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(','));
      expect(head).toEqual(HEAD);
      const shown = await page
        .locator('table:has(th:text("Entry number")) tbody tr:not(.break)')
        .allInnerTexts();
      expect(shown.map((row) => row.split('\t'))).toEqual(
        lines.map(([batchNo, bookedAt, , type, credit, debit, balance]) => [
          ...[batchNo, bookedAt!.slice(11), type, credit, debit, balance],
        ]),
      );
      const xlsx = await fetched(page, 'as XLSX');
      expect(xlsx.name).toBe(`SBX-M-1_USD_${BROKEN_DAY}.r1.xlsx`);
      const { sheets } = await readXlsx(xlsx.bytes);
      expect(sheets.map(({ name }) => name)).toEqual(['Summary', 'USD', 'Changes']);
      expect(sheets[1]!.rows.map((row) => row.map(cellText))).toEqual([HEAD, ...lines]);
      // A link that becomes a file ends as a request without a page.
      expect(complaints.filter((one) => !one.includes('/download/'))).toEqual([]);
      await page.context().close();
    },
  );

  test('a month is downloaded as a ZIP that holds each statement, and verify finds nothing wrong', async () => {
    const { page } = await watchedPage(browser(), pages().url);
    await page.goto('/m/SBX-M-1/2026-03');
    const zip = await fetched(page, 'Daily statements (CSV, ZIP)');
    expect(zip.name).toBe('statements-2026-03-SBX-M-1.zip');
    const into = await mkdtemp(join(tmpdir(), 'daybook-zip-'));
    await promisify(execFile)('python3', ['-m', 'zipfile', '-e', zip.path, into]);
    const { problems, files } = await verifyPaths([join(into, 'merchant=SBX-M-1')], STATEMENT_FORMATS, []);
    await rm(into, { recursive: true });
    expect(problems).toEqual([]);
    expect(
      files.flatMap(({ day, currency, revision }) => (currency === 'KWD' ? `${day} r${revision}` : [])),
    ).toEqual(['2026-03-02 r1', '2026-03-03 r1', `${REVISED_DAY} r2`, '2026-03-05 r1']);
    await page.context().close();
  });

  test('everything can be reached with the keyboard, and the content first', async () => {
    const { page } = await watchedPage(browser(), pages().url);
    await page.goto('/?month=2026-03');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.labels[0].textContent')).toBe(
      'Number, name or reference contains',
    );
    await page.context().close();
  });
});
