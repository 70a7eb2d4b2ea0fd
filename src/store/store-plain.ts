/** Stores what most nights bring, new entries and certificates, in a single statement: without a transaction around it. */
import { sql, type Kysely } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { keptCertificates } from './certificates.ts';
import { heldLease, LeaseLost, type Lease } from './engine/lease.ts';
import { isLostOrRolledBack, retry } from './engine/retry.ts';
import type { DB } from './engine/schema.ts';
import type { Unstored } from './look-at-stored.ts';
import { ENTRIES_A_STATEMENT, freshEntries, sentRows } from './store-entries.ts';
import type { WindowToStore } from './window-reading.ts';

/** A reading of which something is to be written. */
export interface OpenPart {
  readonly part: WindowToStore;
  readonly unstored: Unstored;
}

/** Whether only entries and certificates are to be written, and one statement can hold them. */
export const isPlain = (open: readonly OpenPart[], entries: readonly LedgerEntry[]): boolean =>
  entries.length <= ENTRIES_A_STATEMENT &&
  open.every(
    ({ unstored }) => !unstored.isAbsenceOpen && !unstored.isQuarantineOpen && !unstored.isFailureOpen,
  );

export interface PlainStored {
  readonly inserted: number;
  /** False if some entries were stored before, with another content: they are to be amended, and nothing is certified yet. */
  readonly isAll: boolean;
}

/**
 * Inserts the entries that are not stored yet and, if they are all of them, stores the certificates. Both or none is
 * stored, and nothing without the lease. Throws `LeaseLost` or `StoreUnreachable`.
 */
export async function storePlain(
  db: Kysely<DB>,
  lease: Lease,
  open: readonly OpenPart[],
  entries: readonly LedgerEntry[],
): Promise<PlainStored> {
  const { merchantNo, now } = open[0]!.part;
  const uncertain = open.flatMap(({ part, unstored }) => (unstored.isCertificateOpen ? [part] : []));
  const batch = { merchantNo, entries, now };
  let isAgain = false;
  const attempt = async (): Promise<PlainStored> => {
    // If the answer was lost, the entries may be stored already.
    const before = isAgain ? await insertedBefore(db, batch) : 0;
    isAgain = true;
    const { rows } = await sql<{ is_held: boolean; inserted: number }>`
      WITH held AS MATERIALIZED ${heldLease(lease)},
      ${freshEntries(batch, sql`held`)},
      ${keptCertificates(open[0]!.part, uncertain, sql`(SELECT count(*) FROM fresh) = ${entries.length} AND EXISTS (SELECT FROM held)`)}
      SELECT EXISTS (SELECT FROM held) AS is_held, (SELECT count(*) FROM fresh) AS inserted`.execute(db);
    const { is_held: isHeld, inserted } = rows[0]!;
    if (!isHeld) throw new LeaseLost(lease);
    return { inserted: before + inserted, isAll: inserted === entries.length };
  };
  return retry(attempt, { isPassing: isLostOrRolledBack });
}

/** How many of the entries an attempt inserted whose answer was lost: it gave them the same time, and the same content. */
async function insertedBefore(
  db: Kysely<DB>,
  { merchantNo, entries, now }: { merchantNo: string; entries: readonly LedgerEntry[]; now: Date },
): Promise<number> {
  const { rows } = await sql<{ inserted: number }>`
    SELECT count(*) AS inserted FROM ${sentRows(entries)} CROSS JOIN LATERAL (
      SELECT * FROM ledger_entry e WHERE e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no OFFSET 0
    ) AS held
    WHERE held.first_seen_at = ${now} AND held.vanished_at IS NULL
      AND (held.currency, held.transaction_type, held.credit, held.debit, held.balance, held.booked_ms)
        IS NOT DISTINCT FROM (sent.currency, sent.transaction_type, sent.credit, sent.debit, sent.balance, sent.booked_ms)`.execute(
    db,
  );
  return rows[0]!.inserted;
}
