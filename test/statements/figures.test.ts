import { expect, test } from 'vitest';
import { sameFigures, type Figures } from '../../src/statements/figures.ts';

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

test('zeros at the end of amounts make no difference, and a change in any column does', () => {
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
