/** Chromium as the system has it, driven without a window. Tests that need it are skipped where there is none. */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { afterAll, beforeAll } from 'vitest';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const PLACES = [process.env['DAYBOOK_TEST_CHROMIUM_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser'];
const found = PLACES.find((path) => path !== undefined && existsSync(path));

if (found === undefined && process.env['DAYBOOK_TEST_CHROMIUM'] === 'required')
  throw new Error(
    'Chromium is not installed, and DAYBOOK_TEST_CHROMIUM requires it: apt-get install chromium',
  );

/** Where it is; null where it is not installed. */
export const chromiumPath: string | null = found ?? null;

export const openChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** The browser for the tests of a file: opened before all of them, closed after. */
export function useBrowser(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openChromium();
  });
  afterAll(() => browser.close());
  return () => browser;
}

/** A page of its own window, and what went wrong or away from our server in it. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings of the console, failed requests, and requests to anybody else. */
  readonly complaints: readonly string[];
}

export async function watchedPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ locale: 'en-GB', baseURL: url, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('requestfailed', (request) => {
    // The browser lets a request go where the page is left before it is answered.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== url) complaints.push(`elsewhere: ${request.url()}`);
  });
  return { page, complaints };
}

/** How wide the page is; wider than its window means that one has to scroll sideways. */
export const widthOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth');

/** What is hard or impossible for people with a handicap, each with the first places; nothing of it may be serious. */
export async function seriousProblems(page: Page): Promise<string[]> {
  // Not as a script of the page's, which its headers forbid.
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe: run } = globalThis as unknown as { axe: typeof axe };
    const { violations } = await run.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .slice(0, 3)
            .map(({ html }) => html)
            .join(' | ')}`,
      );
  });
}
