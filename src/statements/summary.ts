/** The day's summary: one line per currency, with the breaks that a person resolved. They remain breaks, and the verdict stays `broken`. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import { overlaps } from '../ledger/window.ts';
import { explainedBreaks, type ExplainedBreak } from '../store/breaks/break-cases.ts';
import type { DB } from '../store/engine/schema.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { csvText } from './formats/csv.ts';
import { fileOf } from '../verify/names.ts';

export type Explained = ReadonlyMap<string, readonly ExplainedBreak[]>;

const NOTHING_EXPLAINED: Explained = new Map();

/** The resolved breaks of each of a merchant's broken statements, in one query; only of those that have one. */
export async function explainedOfEach(
  db: Kysely<DB>,
  merchantNo: string,
  zone: string,
  current: readonly StatementRow[],
): Promise<ReadonlyMap<StatementRow, readonly ExplainedBreak[]>> {
  const broken = current
    .filter((row) => row.break_count > 0)
    .map((row) => ({ row, window: dayWindow(row.day, zone) }));
  if (broken.length === 0) return new Map();
  const found = await explainedBreaks(db, merchantNo, {
    beginMs: Math.min(...broken.map(({ window }) => window.beginMs)),
    endMs: Math.max(...broken.map(({ window }) => window.endMs)),
  });
  const each = broken.map(({ row, window }) => {
    const own = found.filter(({ currency, span }) => currency === row.currency && overlaps(span, window));
    return [row, own] as const;
  });
  return new Map(each.filter(([, own]) => own.length > 0));
}

/** The same of one day's `current` statements, by currency. Makes no query if none of them is broken. */
export async function explainedOf(
  db: Kysely<DB>,
  merchantNo: string,
  zone: string,
  current: readonly StatementRow[],
): Promise<Explained> {
  const each = await explainedOfEach(db, merchantNo, zone, current);
  return new Map([...each].map(([{ currency }, breaks]) => [currency, breaks]));
}

/** Columns that the row of a statement has under the same name. */
const ROW_COLUMNS = [
  ...(['merchant_no', 'day', 'currency', 'opening', 'credit_total', 'credit_count'] as const),
  ...(['debit_total', 'debit_count', 'closing', 'verdict'] as const),
];

/** Added after the others on days with a break that a person resolved. */
const EXPLAINED_COLUMNS = ['explained', 'explanations'] as const;

/** Added at the end on days of which entries could not be read when their statements were published. */
export const UNREADABLE_COLUMN = 'unreadable';

/** Added at the end on days with rows that do not lead from opening to closing, as entries of a neighbouring day lie among them. */
export const OVER_MIDNIGHT_COLUMNS = ['over_midnight', 'last_balance'] as const;

/** Most notes in one line; the manifest has more of them. */
const EXPLANATIONS_MAX = 20;

export function summaryCsv(
  current: readonly StatementRow[],
  explained: Explained = NOTHING_EXPLAINED,
): string {
  const tells = explained.size > 0;
  const lacks = current.some((row) => (row.unreadable_count ?? 0) > 0);
  const crosses = current.some((row) => row.over_midnight > 0);
  return csvText([
    [
      ...[...ROW_COLUMNS, 'breaks', 'revision', 'file', 'sha256'],
      ...(tells ? EXPLAINED_COLUMNS : []),
      ...(lacks ? [UNREADABLE_COLUMN] : []),
      ...(crosses ? OVER_MIDNIGHT_COLUMNS : []),
    ],
    ...current.map((row) => [
      ...ROW_COLUMNS.map((name) => String(row[name])),
      ...[String(row.break_count), String(row.revision), fileOf(row.object_key), row.sha256],
      ...(tells ? explainedCells(explained.get(row.currency) ?? []) : []),
      ...(lacks ? [String(row.unreadable_count ?? 0)] : []),
      ...(crosses ? [String(row.over_midnight), row.last_balance ?? row.closing] : []),
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

export const earlierOf = (statement: StatementRow, rows: readonly StatementRow[]): StatementRow[] =>
  rows
    .filter(({ currency, revision }) => currency === statement.currency && revision < statement.revision)
    .sort((a, b) => a.revision - b.revision);

/** The highest revision of each currency, by currency, of rows sorted by currency and revision. */
export function currentOf(rows: readonly StatementRow[]): StatementRow[] {
  const byCurrency = new Map(rows.map((row) => [row.currency, row]));
  return [...byCurrency.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}
