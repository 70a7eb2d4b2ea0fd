/** Figures of a day, as a test varies them. */
import type { StatedFigures } from '../../src/ledger/entry.ts';

export const figures = (change: Partial<StatedFigures> = {}): StatedFigures => ({
  opening: '100.00',
  creditTotal: '10.00',
  creditCount: 2,
  debitTotal: '5.00',
  debitCount: 1,
  closing: '105.00',
  verdict: 'continuous',
  breakCount: 0,
  breaksAfter: 0,
  restarted: false,
  ...change,
});
