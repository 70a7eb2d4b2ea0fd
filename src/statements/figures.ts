/** What a statement says of its day in figures, and how two revisions compare. Pure. */
import { counted } from '../ledger/text.ts';
import { compareAmounts, subtractAmounts } from '../ledger/money.ts';

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

function breaksSaid(more: number, where: string): string[] {
  if (more > 0) return [counted(more, `break found${where}`, `breaks found${where}`)];
  return more < 0 ? [counted(-more, `break healed${where}`, `breaks healed${where}`)] : [];
}

/** Why a revision replaces another, for finance to read: `2 late entries, opening moved by 10.00`. */
export function reasonOf(
  before: Figures,
  after: Figures,
  changes: { readonly amended: number; readonly vanished: number },
): string {
  const late = rowsIn(after) - rowsIn(before) + changes.vanished;
  const said: string[] = [];
  if (late > 0) said.push(counted(late, 'late entry', 'late entries'));
  if (changes.vanished > 0)
    said.push(`${counted(changes.vanished, 'entry', 'entries')} no longer held by the platform`);
  else if (late < 0) said.push(`${counted(-late, 'entry', 'entries')} fewer`);
  if (changes.amended > 0) said.push(`${counted(changes.amended, 'entry', 'entries')} amended`);
  const openingMoved = subtractAmounts(after.opening, before.opening);
  const closingMoved = subtractAmounts(after.closing, before.closing);
  if (compareAmounts(openingMoved, '0') !== 0) said.push(`opening moved by ${openingMoved}`);
  else if (said.length === 0 && compareAmounts(closingMoved, '0') !== 0) {
    said.push(`closing moved by ${closingMoved}`);
  }
  const own = ({ break_count, breaks_after }: Figures): number => break_count - breaks_after;
  said.push(
    ...breaksSaid(own(after) - own(before), ''),
    ...breaksSaid(after.breaks_after - before.breaks_after, ' between it and the next entry'),
  );
  if (before.break_count === after.break_count && before.verdict !== after.verdict)
    said.push(`${before.verdict} became ${after.verdict}`);
  if (after.restarted && !before.restarted) said.push('opening derived from the first entry');
  if (before.restarted && !after.restarted) said.push('opening taken up from the day before');
  return said.length === 0 ? 'entries changed' : said.join(', ');
}
