/** What a statement says of its day in figures. Pure. */
import { compareAmounts } from '../ledger/money.ts';

/** Columns that account_day and statement share: the day's figures. */
export interface Figures {
  readonly opening: string;
  readonly credit_total: string;
  readonly credit_count: number;
  readonly debit_total: string;
  readonly debit_count: number;
  readonly closing: string;
  readonly verdict: string;
  readonly break_count: number;
  /** Of the breaks, those between an entry of the day and the entry of another day that comes next. */
  readonly breaks_after: number;
  /** The opening was derived from the first entry: it does not follow from the day before. */
  readonly restarted: boolean;
}

export const figuresOf = (row: Figures): Figures => ({
  opening: row.opening,
  credit_total: row.credit_total,
  credit_count: row.credit_count,
  debit_total: row.debit_total,
  debit_count: row.debit_count,
  closing: row.closing,
  verdict: row.verdict,
  break_count: row.break_count,
  breaks_after: row.breaks_after,
  restarted: row.restarted,
});

export const rowsIn = ({ credit_count, debit_count }: Figures): number => credit_count + debit_count;

export const sameFigures = (a: Figures, b: Figures): boolean =>
  compareAmounts(a.opening, b.opening) === 0 &&
  compareAmounts(a.credit_total, b.credit_total) === 0 &&
  a.credit_count === b.credit_count &&
  compareAmounts(a.debit_total, b.debit_total) === 0 &&
  a.debit_count === b.debit_count &&
  compareAmounts(a.closing, b.closing) === 0 &&
  a.verdict === b.verdict &&
  a.break_count === b.break_count &&
  a.breaks_after === b.breaks_after &&
  a.restarted === b.restarted;
