import { expect, test } from 'vitest';
import { sameFigures, sameStated } from '../../src/ledger/chain/figures.ts';
import type { StatedFigures } from '../../src/ledger/entry.ts';
import { figureColumns, figuresOf } from '../../src/store/account-days.ts';
import { figures } from '../support/stated-figures.ts';

test('figures are the same whatever zeros amounts end on, and differ in each column', () => {
  expect(sameFigures(figures(), figures({ opening: '100.0', closing: '105' }))).toBe(true);
  const others: Partial<StatedFigures>[] = [
    { opening: '100.01' },
    { creditTotal: '10.01' },
    { creditCount: 3 },
    { debitTotal: '5.01' },
    { debitCount: 2 },
    { closing: '105.01' },
    { verdict: 'reordered' },
    { breakCount: 1 },
    { breaksAfter: 1 },
  ];
  for (const change of others)
    expect(sameFigures(figures(), figures(change)), JSON.stringify(change)).toBe(false);
});

test('what a statement states is the same where the opening also comes from the same place', () => {
  expect(sameStated(figures(), figures({ closing: '105.0' }))).toBe(true);
  expect(sameStated(figures(), figures({ restarted: true }))).toBe(false);
  expect(sameFigures(figures(), figures({ restarted: true }))).toBe(true);
});

test('what is stored in columns is read back as it was, with the other closings that fit as well', () => {
  const restarted = figures({ verdict: 'broken', breakCount: 3, breaksAfter: 1, restarted: true });
  for (const stated of [figures(), restarted, figures({ otherClosings: ['107.00', '-3.50'] })])
    expect(figuresOf(figureColumns(stated))).toEqual(stated);
});
