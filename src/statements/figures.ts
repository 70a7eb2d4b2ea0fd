/** The figures that an account day and its statement have in common, and how they are compared. Pure. */
import { compareAmounts } from '../ledger/money.ts';

/** The columns of figures that account_day and statement share. */
export interface Figures {
  readonly opening: string;
  readonly credit_total: string;
  readonly credit_count: number;
  readonly debit_total: string;
  readonly debit_count: number;
  readonly closing: string;
  readonly verdict: string;
  readonly break_count: number;
  /** How many of the breaks lie between an entry of this day and the next entry, on another day. */
  readonly breaks_after: number;
  /** The opening was taken from the day's first entry and not from the day before. */
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
