/** The day's summary: one line per currency, for finance to see at a glance. */
import type { ExplainedBreak } from '../store/breaks/break-cases.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { NOTHING_EXPLAINED, type Explained } from './explained.ts';
import { csvText } from './formats/csv.ts';
import { fileOf } from './keys.ts';

const SUMMARY_COLUMNS = [
  'merchant_no',
  'day',
  'currency',
  'opening',
  'credit_total',
  'credit_count',
  'debit_total',
  'debit_count',
  'closing',
  'verdict',
  'breaks',
  'revision',
  'file',
  'sha256',
] as const;

/** Added after the others on days with a break that a person resolved. */
const EXPLAINED_COLUMNS = ['explained', 'explanations'] as const;

/** Added at the end on days of which entries could not be read when their statements were published. */
export const UNREADABLE_COLUMN = 'unreadable';

/** Most notes in one line; the manifest has more of them. */
const EXPLANATIONS_MAX = 20;

/** The summary of a day's current statements, by currency. */
export function summaryCsv(
  current: readonly StatementRow[],
  explained: Explained = NOTHING_EXPLAINED,
): string {
  const tells = explained.size > 0;
  const lacks = current.some((row) => (row.unreadable_count ?? 0) > 0);
  return csvText([
    [...SUMMARY_COLUMNS, ...(tells ? EXPLAINED_COLUMNS : []), ...(lacks ? [UNREADABLE_COLUMN] : [])],
    ...current.map((row) => [
      row.merchant_no,
      row.day,
      row.currency,
      row.opening,
      row.credit_total,
      String(row.credit_count),
      row.debit_total,
      String(row.debit_count),
      row.closing,
      row.verdict,
      String(row.break_count),
      String(row.revision),
      fileOf(row.object_key),
      row.sha256,
      ...(tells ? explainedCells(explained.get(row.currency) ?? []) : []),
      ...(lacks ? [String(row.unreadable_count ?? 0)] : []),
    ]),
  ]);
}

/** How many breaks are explained, and how: `break 7: fee, case 4711 (Ada, 2026-03-06T01:30:00.000Z)`. */
function explainedCells(explained: readonly ExplainedBreak[]): string[] {
  const reported = explained
    .slice(0, EXPLANATIONS_MAX)
    .map(
      ({ id, note, by, at }) => `break ${id}: ${note} (${by === null ? '' : `${by}, `}${at.toISOString()})`,
    );
  const more = explained.length - reported.length;
  if (more > 0) reported.push(`and ${more} more, see the manifest`);
  return [String(explained.length), reported.join('; ')];
}

/** Of all revisions of a day, those of one statement before it, oldest first. */
export const earlierOf = (statement: StatementRow, rows: readonly StatementRow[]): StatementRow[] =>
  rows
    .filter(({ currency, revision }) => currency === statement.currency && revision < statement.revision)
    .sort((a, b) => a.revision - b.revision);

/** The highest revision of each currency, by currency, of rows sorted by currency and revision. */
export function currentOf(rows: readonly StatementRow[]): StatementRow[] {
  const byCurrency = new Map(rows.map((row) => [row.currency, row]));
  return [...byCurrency.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}
