import { describe, expect, test } from 'vitest';
import { reasonOf, sameFigures, type Figures } from '../../src/statements/figures.ts';

const figures = (change: Partial<Figures> = {}): Figures => ({
  opening: '100.00',
  credit_total: '10.00',
  credit_count: 2,
  debit_total: '5.00',
  debit_count: 1,
  closing: '105.00',
  verdict: 'continuous',
  break_count: 0,
  breaks_after: 0,
  restarted: false,
  ...change,
});
const none = { amended: 0, vanished: 0 };

describe('the reason for a revision', () => {
  test.each<[string, Partial<Figures>, Partial<Figures>, typeof none, string]>([
    ['one entry more', {}, { credit_count: 3 }, none, '1 late entry'],
    ['more entries', {}, { credit_count: 4, debit_count: 2 }, none, '3 late entries'],
    ['a moved opening', {}, { opening: '110.00', closing: '115.00' }, none, 'opening moved by 10.00'],
    ['an opening moved down', { opening: '110.00' }, {}, none, 'opening moved by -10.00'],
    ['an amendment', {}, { credit_total: '11.00' }, { amended: 1, vanished: 0 }, '1 entry amended'],
    [
      'one gone',
      {},
      { credit_count: 1 },
      { amended: 0, vanished: 1 },
      '1 entry no longer held by the platform',
    ],
    [
      'one gone and one come',
      {},
      { credit_total: '9.00' },
      { amended: 0, vanished: 1 },
      '1 late entry, 1 entry no longer held by the platform',
    ],
    [
      'a healed break',
      { verdict: 'broken', break_count: 1 },
      { credit_count: 3 },
      none,
      '1 late entry, 1 break healed',
    ],
    ['new breaks', {}, { verdict: 'broken', break_count: 2 }, none, '2 breaks found'],
    [
      'a break that the next day shows',
      {},
      { verdict: 'broken', break_count: 1, breaks_after: 1 },
      none,
      '1 break found between it and the next entry',
    ],
    ['another verdict', {}, { verdict: 'reordered' }, none, 'continuous became reordered'],
    ['only a moved closing', {}, { closing: '104.00' }, none, 'closing moved by -1.00'],
    ['nothing in figures', {}, {}, none, 'entries changed'],
  ])('%s', (_, before, after, changes, reason) => {
    expect(reasonOf(figures(before), figures(after), changes)).toBe(reason);
  });
});

test('figures are the same whatever zeros amounts end on, and differ in each column', () => {
  expect(sameFigures(figures(), figures({ opening: '100.0', closing: '105' }))).toBe(true);
  const others: Partial<Figures>[] = [
    { opening: '100.01' },
    { credit_total: '10.01' },
    { credit_count: 3 },
    { debit_total: '5.01' },
    { debit_count: 2 },
    { closing: '105.01' },
    { verdict: 'reordered' },
    { break_count: 1 },
    { breaks_after: 1 },
  ];
  for (const change of others)
    expect(sameFigures(figures(), figures(change)), JSON.stringify(change)).toBe(false);
});
