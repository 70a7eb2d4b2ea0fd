/** A day's figures as account_day and statement spell them. */
import { otherClosingsText } from '../ledger/chain/figures.ts';
import type { StatedFigures, Verdict } from '../ledger/entry.ts';

/** The columns that both tables have. */
export interface FigureColumns {
  readonly opening: string;
  readonly credit_total: string;
  readonly credit_count: number;
  readonly debit_total: string;
  readonly debit_count: number;
  readonly closing: string;
  readonly verdict: string;
  readonly break_count: number;
  readonly breaks_after: number;
  readonly restarted: boolean;
  readonly other_closings: string;
}

/** Those of them that a reader of a statement sees. */
export const SEEN_COLUMNS = [
  'opening',
  'credit_total',
  'credit_count',
  'debit_total',
  'debit_count',
  'closing',
  'verdict',
  'break_count',
  'breaks_after',
] as const satisfies readonly (keyof FigureColumns)[];

export const figuresOf = (row: FigureColumns): StatedFigures => ({
  opening: row.opening,
  creditTotal: row.credit_total,
  creditCount: row.credit_count,
  debitTotal: row.debit_total,
  debitCount: row.debit_count,
  closing: row.closing,
  verdict: row.verdict as Verdict,
  breakCount: row.break_count,
  breaksAfter: row.breaks_after,
  restarted: row.restarted,
  ...(row.other_closings === '' ? {} : { otherClosings: row.other_closings.split(',') }),
});

export const figureColumns = (figures: StatedFigures): FigureColumns => ({
  opening: figures.opening,
  credit_total: figures.creditTotal,
  credit_count: figures.creditCount,
  debit_total: figures.debitTotal,
  debit_count: figures.debitCount,
  closing: figures.closing,
  verdict: figures.verdict,
  break_count: figures.breakCount,
  breaks_after: figures.breaksAfter,
  restarted: figures.restarted,
  other_closings: otherClosingsText(figures.otherClosings),
});
