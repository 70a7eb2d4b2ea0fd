/** The table of account days that `plan` prints, on a narrow terminal and on a wide one. */
import { expect, test } from 'vitest';
import { plannedDaysText } from '../../src/cli/run.ts';
import type { SeenFigures } from '../../src/reconcile/reconcile.ts';
import type { PlannedDay } from '../../src/run/plan.ts';

const figures = (change: Partial<SeenFigures> = {}): SeenFigures => ({
  opening: '1234567.00',
  creditTotal: '200.00',
  creditCount: 2,
  debitTotal: '50.00',
  debitCount: 1,
  closing: '1234717.00',
  verdict: 'continuous',
  breakCount: 0,
  ...change,
});
function planned(
  before: SeenFigures | null,
  after: SeenFigures,
  change: Partial<PlannedDay> = {},
): PlannedDay {
  return {
    account: { merchantNo: 'M-100001', currency: 'USD' },
    day: '2026-03-03',
    oldClosing: before === null ? null : before.closing,
    newClosing: after.closing,
    entries: after.creditCount + after.debitCount,
    before,
    after,
    revision: before === null ? { before: null, after: 1 } : { before: 1, after: 2 },
    withheld: null,
    ...change,
  };
}

test('for a day that changes: each changed figure before and after, and the revision, nothing else', () => {
  const broken = figures({ creditTotal: '190.00', creditCount: 1, verdict: 'broken', breakCount: 1 });
  const text = plannedDaysText([planned(figures(), broken)]);
  expect(text.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['1 account day would change:'],
    ['merchant', 'day', 'account', 'figure', 'now', 'then'],
    ['M-100001', '2026-03-03', 'USD', 'credits', '200.00 (2)', '190.00 (1)'],
    ['verdict', 'continuous', 'broken'],
    ['breaks', '0', '1'],
    ['revision', 'r1', 'r2'],
  ]);
});

test('an unchanged closing is not shown twice', () => {
  const text = plannedDaysText([planned(figures(), figures({ verdict: 'broken', breakCount: 1 }))]);
  expect(text).not.toContain('closing');
  expect(text).not.toContain('1234717.00');
});

test('for a day with unchanged figures: that its rows change, or that it is published now', () => {
  const rows = (day: PlannedDay) => /rows +(.*)/.exec(plannedDaysText([day]))![1]!.replace(/ {2,}/, ' | ');
  expect(rows(planned(figures(), figures()))).toBe('as published | other content');
  const unpublished = planned(figures(), figures(), { revision: { before: null, after: 1 } });
  expect(rows(unpublished)).toBe('not published | published');
});

test('a day that would be withheld says why', () => {
  const withheld = 'not all of the day is certified';
  const day = planned(figures(), figures({ breakCount: 1 }), { revision: { before: 1, after: 1 }, withheld });
  expect(plannedDaysText([day])).toContain(
    'M-100001 USD 2026-03-03 would not be published: not all of the day is certified',
  );
});

test.each([80, 120])('fits %i columns, and says what is left out', (width) => {
  const days = [
    planned(null, figures()),
    planned(figures(), figures({ opening: '1234500.00', closing: '1234650.00', debitTotal: '49.00' })),
  ];
  const text = plannedDaysText(days, width);
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(width);
  expect(text.includes('more in a wider terminal, or with --json')).toBe(width === 80);
  expect(text.includes('200.00 (2)  50.00 (1)')).toBe(width === 120);
  expect(text).toContain('1 account day would be new:');
  expect(text).toContain('1 account day would change:');
});
