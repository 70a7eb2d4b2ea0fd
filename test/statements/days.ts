/** A made-up account's day, as formats get it. */
import type { StatementColumn } from '../../src/statements/formats/columns.ts';
import type { RowCells, StatementDay } from '../../src/statements/formats/format.ts';

export const dayOf = (
  columns: readonly StatementColumn[],
  batches: readonly (readonly RowCells[])[],
): StatementDay => ({
  account: { merchantNo: 'M-1', currency: 'USD' },
  day: '2026-03-31',
  figures: {
    opening: '0.00',
    creditTotal: '0.00',
    creditCount: 0,
    debitTotal: '0.00',
    debitCount: 0,
    closing: '0.00',
    verdict: 'continuous',
    breakCount: 0,
    breaksAfter: 0,
  },
  columns,
  rows: (async function* () {
    for (const batch of batches) yield await Promise.resolve(batch);
  })(),
});
