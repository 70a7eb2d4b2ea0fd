/** What stands in the database at one moment of a history, read with plain queries on the tables of docs/reference. */
import type { Kysely } from 'kysely';
import type { LedgerEntry, Window } from '../../src/ledger/entry.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import type { Booked, StatementRecord } from './published-laws.ts';
import { MERCHANT } from './rig.ts';

export interface StoredEntry extends LedgerEntry {
  readonly version: number;
  readonly vanished: boolean;
}

export interface State {
  readonly entries: ReadonlyMap<string, StoredEntry>;
  /** All entries that are or were stored, with their earlier contents. */
  readonly booked: readonly Booked[];
  readonly openBreaks: readonly { readonly currency: string; readonly day: string }[];
  readonly quarantined: number;
  readonly changed: readonly { readonly currency: string; readonly day: string }[];
  readonly statements: readonly StatementRecord[];
  /** Windows certified for every currency. */
  readonly certified: readonly Window[];
}

export async function stateOf(db: Kysely<DB>): Promise<State> {
  const of = MERCHANT.merchantNo;
  const entries = await db
    .selectFrom('ledger_entry')
    .selectAll()
    .where('merchant_no', '=', of)
    .orderBy('batch_no')
    .execute();
  const superseded = await db
    .selectFrom('ledger_entry_version')
    .select(['currency', 'booked_at'])
    .where('merchant_no', '=', of)
    .execute();
  const openBreaks = await db
    .selectFrom('continuity_break')
    .select(['currency', 'day'])
    .where('merchant_no', '=', of)
    .where('status', '=', 'open')
    .execute();
  const wrecks = await db
    .selectFrom('quarantined_entry')
    .select('id')
    .where('merchant_no', '=', of)
    .where('released_at', 'is', null)
    .execute();
  const changed = await db
    .selectFrom('changed_day')
    .select(['currency', 'day'])
    .$narrowType<{ currency: string; day: string }>()
    .execute();
  const statements = await db.selectFrom('statement').selectAll().where('merchant_no', '=', of).execute();
  const windows = await db
    .selectFrom('certificate')
    .select(['begin_ms', 'through_ms'])
    .where('merchant_no', '=', of)
    .where('read_at', 'is not', null)
    .where('problem', 'is', null)
    .execute();
  return {
    entries: new Map(
      entries.map((row) => [
        row.batch_no,
        {
          batchNo: row.batch_no,
          currency: row.currency,
          transactionType: row.transaction_type,
          credit: row.credit,
          debit: row.debit,
          balance: row.balance,
          bookedAt: row.booked_at,
          bookedMs: row.booked_ms,
          version: row.version,
          vanished: row.vanished_at !== null,
        },
      ]),
    ),
    booked: [...entries, ...superseded].map((row) => ({ currency: row.currency, bookedAt: row.booked_at })),
    openBreaks,
    quarantined: wrecks.length,
    changed,
    statements,
    certified: windows.map((row) => ({ beginMs: row.begin_ms!, endMs: row.through_ms! })),
  };
}

/** Whether the windows together hold every instant of another. */
export function covers(windows: readonly Window[], wanted: Window): boolean {
  let reachedMs = wanted.beginMs;
  for (const { beginMs, endMs } of [...windows].sort((a, b) => a.beginMs - b.beginMs)) {
    if (beginMs > reachedMs) break;
    reachedMs = Math.max(reachedMs, endMs + 1);
  }
  return reachedMs > wanted.endMs;
}

export const entryText = (entry: LedgerEntry): string =>
  [
    entry.batchNo,
    entry.bookedAt,
    entry.currency,
    entry.transactionType,
    entry.credit ?? '',
    entry.debit ?? '',
    entry.balance,
  ].join();
