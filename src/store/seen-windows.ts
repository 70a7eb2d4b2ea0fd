/** What the last readings of a merchant's windows brought, to estimate how much the next one will bring. */
import { sql, type Kysely } from 'kysely';
import type { Window } from '../ledger/entry.ts';
import { currencyFrom } from './account-filter.ts';
import type { DB } from './engine/schema.ts';

/** A window as it was read last. */
export interface SeenWindow extends Window {
  /** Null: every currency. */
  readonly currency: string | null;
  readonly total: number;
  /** It was not certified, or held entries that could not be read. */
  readonly isDoubtful: boolean;
}

/** The windows that end inside `within`, in order. Goes along sync_window_end, so older ones cost nothing. */
export async function seenWindows(
  db: Kysely<DB>,
  merchantNo: string,
  { beginMs, endMs }: Window,
): Promise<SeenWindow[]> {
  const { rows } = await sql<{
    currency: string;
    begin_ms: number;
    end_ms: number;
    total: number;
    is_doubtful: boolean;
  }>`
    SELECT currency, begin_ms, end_ms, total, certified_at IS NULL OR quarantined_count > 0 AS is_doubtful
    FROM sync_window WHERE merchant_no = ${merchantNo} AND end_ms BETWEEN ${beginMs} AND ${endMs}
    ORDER BY end_ms`.execute(db);
  return rows.map((row) => ({
    beginMs: row.begin_ms,
    endMs: row.end_ms,
    currency: currencyFrom(row.currency),
    total: row.total,
    isDoubtful: row.is_doubtful,
  }));
}
