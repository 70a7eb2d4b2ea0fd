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
    credit_total: '0.00',
    credit_count: 0,
    debit_total: '0.00',
    debit_count: 0,
    closing: '0.00',
    verdict: 'continuous',
    break_count: 0,
    breaks_after: 0,
    restarted: false,
  },
  columns,
  rows: (async function* () {
    for (const batch of batches) yield await Promise.resolve(batch);
  })(),
});
