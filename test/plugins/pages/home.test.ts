/** The first page: what each account holds, how far it is proven and what is open, for the stage that has a break and a late entry. */
import { expect, test } from 'vitest';
import { provenBalances } from '../../../src/run/proven.ts';
import { textOf } from './support.ts';
import { usePagesStage } from './stage.ts';

const { stage, pages, words } = usePagesStage();

test('each account has its balance, the day through which it is verified, its breaks with their sum and the state of its month', async () => {
  const text = await words('/?month=2026-03');
  expect(text).toContain(
    'SBX-M-1 KWD 21,649,601.570 on 5 Mar 2026 5 Mar 2026 none 1 day open less than an hour ago',
  );
  expect(text).toContain(
    'SBX-M-1 USD 1,494,023.77 on 5 Mar 2026 2 Mar 2026 1: -306.15 USD 2 days open less than an hour ago',
  );
});

test('one currency’s break does not hold back what another is verified through', async () => {
  const { app } = stage();
  const accounts = ['KWD', 'USD', 'EUR'].map((currency) => ({ merchantNo: 'SBX-M-1', currency }));
  const zone = app.settings.platform.timeZone;
  const found = await provenBalances(app.database.db, accounts, { zone, now: app.now() });
  expect(
    found.map(({ account, last, openBreaks, unexplained, provenThrough }) => [
      ...[account.currency, last?.closing, openBreaks, unexplained, provenThrough],
    ]),
  ).toEqual([
    ['KWD', '21649601.570', 0, '0', '2026-03-05'],
    ['USD', '1494023.77', 1, '-306.15', '2026-03-02'],
    ['EUR', undefined, 0, '0', '2026-03-05'],
  ]);
});

test('the legend has the marks in use alone', async () => {
  const text = await words('/?month=2026-03');
  expect(text).toContain('✗ broken a break that is not yet explained');
  for (const unused of ['explained by a person', 'in an order other than by time', 'nothing was booked'])
    expect(text).not.toContain(unused);
});

test('an empty month says so and leads to the nearest one with statements, before it or after', async () => {
  for (const month of ['2026-05', '2026-01']) {
    const html = await pages().html(`/?month=${month}`);
    expect(textOf(html)).toMatch(
      /There is no statement of (May|January) 2026\. The nearest month with statements is March 2026 ?\./,
    );
    expect(html).toContain('href="/?month=2026-03"');
    expect(html).not.toContain('class="grid"');
  }
});

test('a chart’s area reaches to the line of a balance of zero, for wide and for narrow screens', async () => {
  const html = await pages().html('/m/SBX-M-1/USD/2026-03-04');
  const charts = [...html.matchAll(/<svg[^>]*class="chart (wide|narrow)".*?<\/svg>/gs)];
  expect(charts.map(([, form]) => form)).toEqual(['wide', 'narrow']);
  for (const [drawn] of charts) {
    const zero = /class="axis zero"[^>]* y1="([\d.]+)"/.exec(drawn)![1]!;
    expect(/class="area" d="([^"]+)"/.exec(drawn)![1]!).toContain(`,${Number(zero)}`);
  }
});
