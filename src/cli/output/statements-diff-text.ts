/** Words how two revisions of a statement differ: figures side by side, then the rows with their causes. */
import { compareAmounts, subtractAmounts } from '../../ledger/money.ts';
import { showableText } from '../../ledger/text.ts';
import { wallSecond, wallTime } from '../../ledger/wall-time.ts';
import type { Cells } from '../../statements/differing-rows.ts';
import { causeText, type CausedRow } from '../../statements/row-causes.ts';
import { changeOf, tallyRows as tallyOf, type ChangeCounts } from '../../statements/row-tally.ts';
import type { StatementRow } from '../../store/statements/statements.ts';
import { counted, lines, table } from './text.ts';

/** Most rows shown of an account; the rest is counted. */
const ROWS_SHOWN_MAX = 20;

/** Keeps the rows to be shown and counts all. */
export const tallyRows = () => tallyOf(ROWS_SHOWN_MAX);

/** The `--json` form of a row. */
export const rowDocument = (row: CausedRow) => ({ change: changeOf(row), ...row });

export interface ToldDiff {
  readonly before: StatementRow;
  readonly after: StatementRow;
  /** The first rows. */
  readonly shown: readonly CausedRow[];
  readonly counts: ChangeCounts;
  /** A sentence if the files could not be compared; null otherwise. */
  readonly problem: string | null;
}

export function diffText({ before, after, shown, counts, problem }: ToldDiff, zone: string): string {
  const account = { merchantNo: before.merchant_no, currency: before.currency };
  const all = counts.came + counts.went + counts.changed;
  const name = `${before.merchant_no} ${before.currency} ${before.day}`;
  return lines(
    `${showableText(name)}: revision ${before.revision} to ${after.revision}`,
    after.supersedes === before.revision && after.reason !== null && `why: ${showableText(after.reason)}`,
    figuresTable(before, after, zone),
    '',
    problem !== null && `its rows cannot be compared: ${problem}`,
    problem === null && all === 0 && sameRowsText(before, after),
    all > 0 &&
      `${counted(counts.came, 'entry', 'entries')} added, ${counts.went} removed, ${counts.changed} changed`,
    ...shown.flatMap((row) => [
      ...rowTexts(row),
      `    ${causeText(row, account, (at) => wallSecond(at.getTime(), zone))}`,
    ]),
    all > shown.length && `  and ${counted(all - shown.length, 'row')} more (--json gives all)`,
  );
}

const sameRowsText = (before: StatementRow, after: StatementRow): string =>
  before.sha256 === after.sha256 ? 'rows: the same' : 'rows: the same, in another order';

function figuresTable(before: StatementRow, after: StatementRow, zone: string): string {
  const published = ({ published_at }: StatementRow): string => wallTime(published_at.getTime(), zone);
  const amount = (what: string, column: 'opening' | 'credit_total' | 'debit_total' | 'closing') => {
    const moved = subtractAmounts(after[column], before[column]);
    return [what, before[column], after[column], signed(moved, compareAmounts(moved, '0'))];
  };
  const count = (what: string, column: 'credit_count' | 'debit_count' | 'break_count') => {
    const moved = after[column] - before[column];
    return [what, before[column], after[column], signed(String(moved), moved)];
  };
  return table(
    ['', `>r${before.revision}`, `>r${after.revision}`, '>moved by'],
    [
      ['published', published(before), published(after), ''],
      amount('opening', 'opening'),
      amount('credits', 'credit_total'),
      count('  entries', 'credit_count'),
      amount('debits', 'debit_total'),
      count('  entries', 'debit_count'),
      amount('closing', 'closing'),
      ['verdict', before.verdict, after.verdict, ''],
      count('breaks', 'break_count'),
    ],
  );
}

const signed = (moved: string, sign: number): string => (sign === 0 ? '' : sign > 0 ? `+${moved}` : moved);

function rowTexts(row: CausedRow): string[] {
  const { batchNo, before, after, changed } = row;
  const cells = (after ?? before)!;
  const differences = changed.map(
    (column) => `${nameOf(column)} ${before![column]! || 'none'} → ${after![column]! || 'none'}`,
  );
  return [
    `  ${changeOf(row)} ${showableText(`${batchNo}: ${cells['booked_at'] ?? ''}, ${cells['transaction_type'] ?? ''}`)}`,
    `    ${showableText((changed.length > 0 ? differences : otherCells(cells)).join(', '))}`,
  ];
}

const nameOf = (column: string): string => column.replaceAll('_', ' ');

/** Columns that are shown before the others, or that all rows of the account share. */
const TOLD_ALREADY: ReadonlySet<string> = new Set(['batch_no', 'booked_at', 'currency', 'transaction_type']);

const otherCells = (cells: Cells): string[] =>
  Object.entries(cells)
    .filter(([column, cell]) => cell !== '' && !TOLD_ALREADY.has(column))
    .map(([column, cell]) => `${nameOf(column)} ${cell}`);
