/** Names the entry that moved the balances of later entries, in what a run found. */
import { sql, type Kysely } from 'kysely';
import type { ContentChange } from '../ledger/common-change.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { balanceSteps, type BalanceStep } from '../ledger/moved-balances.ts';
import { entryOf, type EntryColumns } from './entry-columns.ts';
import type { DB } from './engine/schema.ts';

/** Only entries this close before the first balance that moved are checked. */
const BEFORE_MAX = 10;

export interface MovedBalances {
  readonly merchantNo: string;
  readonly kind: 'late' | 'vanished' | 'amended';
  readonly entry: LedgerEntry;
  /** How many later balances moved by its amount, or by what its amount changed. */
  readonly moved: number;
}

/** Balances that moved without an entry found to have moved them are left out. */
export async function movedBalancesOf(
  db: Kysely<DB>,
  merchantNo: string,
  runId: number,
  changes: readonly ContentChange[],
): Promise<MovedBalances[]> {
  const found: MovedBalances[] = [];
  for (const step of balanceSteps(changes)) {
    const mover = step.isOwn
      ? { kind: 'amended' as const, entry: step.first }
      : await moverOf(db, merchantNo, runId, step);
    if (mover !== null) found.push({ merchantNo, ...mover, moved: step.moved });
  }
  return found;
}

/**
 * The nearest entry before the step that came or went in this run, and has its amount. Goes along ledger_entry_in_time
 * and ledger_entry_vanished_in_time.
 */
async function moverOf(
  db: Kysely<DB>,
  merchantNo: string,
  runId: number,
  { currency, first, by }: BalanceStep,
): Promise<Pick<MovedBalances, 'kind' | 'entry'> | null> {
  const before = sql`e.merchant_no = ${merchantNo} AND e.currency = ${currency} AND e.booked_ms <= ${first.bookedMs}
    AND e.batch_no <> ${first.batchNo}`;
  const { rows } = await sql<EntryColumns & { readonly kind: 'late' | 'vanished' }>`
    WITH began AS (SELECT started_at AS at FROM run WHERE id = ${runId}),
    near AS (
      (SELECT e.*, 'late' AS kind FROM ledger_entry AS e WHERE ${before} AND e.vanished_at IS NULL
        ORDER BY e.booked_ms DESC LIMIT ${BEFORE_MAX})
      UNION ALL
      (SELECT e.*, 'vanished' FROM ledger_entry AS e WHERE ${before} AND e.vanished_at IS NOT NULL
        ORDER BY e.booked_ms DESC LIMIT ${BEFORE_MAX})
    )
    SELECT batch_no, kind, currency, transaction_type, credit::text, debit::text, balance::text,
      to_char(booked_at, 'YYYY-MM-DD HH24:MI:SS') AS booked_at, booked_ms
    FROM near, began
    WHERE CASE kind WHEN 'late' THEN first_seen_at >= began.at ELSE vanished_at >= began.at END
      AND coalesce(credit, -debit) = CASE kind WHEN 'late' THEN 1 ELSE -1 END * ${by}::numeric
    ORDER BY near.booked_ms DESC LIMIT 1`.execute(db);
  const [row] = rows;
  return row === undefined ? null : { kind: row.kind, entry: entryOf(row) };
}
