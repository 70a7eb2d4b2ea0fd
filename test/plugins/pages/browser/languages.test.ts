/**
 * The pages for readers of other languages, on the smallest phone: what is not English says so, and nothing is cut off.
 *
 * @module-tag long
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { showPages, type ShownPages } from '../support.ts';
import { BROKEN_DAY, closeMarch, openPagesStage, REVISED_DAY } from '../stage.ts';
import type { Stage } from '../../../support/stage.ts';
import { chromiumPath, useBrowser, seriousProblems, watchedPage, widthOf } from './chromium.ts';

const WIDTH = 320;
const skipped = chromiumPath === null;
const name = skipped
  ? 'other languages in a browser (skipped: no Chromium; apt-get install chromium)'
  : 'other languages in a browser';

/** An element, as far as it is checked. */
interface Shown {
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>;
  readonly childNodes: Iterable<{ readonly nodeType: number; readonly nodeValue: string }>;
  readonly matches: (selector: string) => boolean;
  readonly closest: (selector: string) => { readonly getAttribute: (name: string) => string | null } | null;
}

/** Texts in which the pattern stands without an element around it that names the language, and all attributes that have it. */
const unmarked = (page: Page, pattern: string, language: string): Promise<string[]> =>
  page.evaluate(
    ([wanted, tag]) => {
      const words = new RegExp(wanted!, 'u');
      const { document } = globalThis as unknown as {
        document: { querySelectorAll: (all: string) => Shown[] };
      };
      return [...document.querySelectorAll('*')].flatMap((element) => {
        const attributes = [...element.attributes].filter(({ value }) => words.test(value));
        const texts = [...element.childNodes].filter(
          (node) => node.nodeType === 3 && words.test(node.nodeValue),
        );
        const isMarked = element.closest('[lang]')!.getAttribute('lang') === tag;
        const isRight = tag === 'ar' && !element.matches('svg *') ? element.closest('[dir]') !== null : true;
        return [
          ...attributes.map(({ name: attribute, value }) => `${attribute}=${value}`),
          ...texts.filter(() => !isMarked || !isRight).map((node) => node.nodeValue.trim()),
        ];
      });
    },
    [pattern, language],
  );

describe.skipIf(skipped)(name, () => {
  let stage: Stage;
  let pages: ShownPages;
  const browser = useBrowser();
  let paths: string[];
  beforeAll(async () => {
    stage = await openPagesStage(closeMarch);
    pages = await showPages(stage);
    const { db } = stage.app.database;
    const { id } = await db.selectFrom('continuity_break').select('id').executeTakeFirstOrThrow();
    const { batch_no } = await db.selectFrom('ledger_entry').select('batch_no').executeTakeFirstOrThrow();
    paths = [
      '/?month=2026-03',
      '/m/SBX-M-1/2026-03?close=yes',
      `/m/SBX-M-1/USD/${BROKEN_DAY}`,
      `/m/SBX-M-1/KWD/${REVISED_DAY}?revision=2&against=1`,
      '/breaks',
      `/breaks/${id}`,
      `/entry/SBX-M-1/${batch_no}?lines=yes`,
      '/entry',
      '/changes?since=2026-03-01',
      '/status',
      '/nothing-here',
    ];
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  test.each([
    ['ar', '\\p{Script=Arabic}'],
    ['hi', '\\p{Script=Devanagari}'],
    ['ja', '\\p{Script=Han}|20\\d\\d/\\d'],
    ['de', 'März|\\d\\d\\.\\d\\d\\.20'],
  ])('%s: each date names its language and direction, on every page', async (locale, pattern) => {
    const viewport = { width: WIDTH, height: 568 };
    const { page } = await watchedPage(browser(), pages.url, { locale, viewport });
    for (const path of paths) {
      await page.goto(path);
      expect(await unmarked(page, pattern, locale), path).toEqual([]);
      expect(await seriousProblems(page), path).toEqual([]);
      expect(await widthOf(page), path).toBeLessThanOrEqual(WIDTH);
    }
    await page.goto('/m/SBX-M-1/2026-03');
    expect(await page.locator(`[lang="${locale}"]`).count()).toBeGreaterThan(5);
  });
});
