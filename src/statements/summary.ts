/** The day's summary: one line a currency, for finance to see at a glance. */
import type { StatementRow } from '../store/statements.ts';
import { csvText } from './csv.ts';
import { fileOf } from './keys.ts';

export const SUMMARY_COLUMNS = [
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

/** The summary of a day's current statements, by currency. */
export function summaryCsv(current: readonly StatementRow[]): string {
  return csvText([
    SUMMARY_COLUMNS,
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
    ]),
  ]);
}

/** The highest revision of each currency, by currency, of rows sorted by currency and revision. */
export function currentOf(rows: readonly StatementRow[]): StatementRow[] {
  const byCurrency = new Map(rows.map((row) => [row.currency, row]));
  return [...byCurrency.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}
