/** Stores what most nights bring, new entries and certificates, in a single statement: without a transaction around it. */
import { sql, type Kysely } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { keptCertificates } from './certificates.ts';
import type { Lease } from './engine/lease.ts';
import type { DB } from './engine/schema.ts';
import { writeStatement } from './engine/write-statement.ts';
import type { Compared } from './compare-with-stored.ts';
import { ENTRIES_A_STATEMENT, freshEntries, sentRows } from './store-entries.ts';

/** Whether only entries and certificates are to be written, and one statement can hold them. */
export const isPlain = (open: readonly Compared[], entries: readonly LedgerEntry[]): boolean =>
  entries.length <= ENTRIES_A_STATEMENT &&
  open.every(
    ({ unstored }) => !unstored.isAbsenceOpen && !unstored.isQuarantineOpen && !unstored.isFailureOpen,
  );

export interface PlainStored {
  /** Entries inserted now, or by an attempt whose answer was lost. */
  readonly inserted: number;
  /** False if some entries are known: nothing was written now, and the known ones may have to be amended. */
  readonly isAll: boolean;
}

/**
 * Inserts the entries and stores the certificates, if none of the entries is stored yet: all of it or nothing, and nothing
 * without the lease. Throws `LeaseLost` or `StoreUnreachable`.
 */
export async function storePlain(
  db: Kysely<DB>,
  lease: Lease,
  open: readonly Compared[],
  entries: readonly LedgerEntry[],
): Promise<PlainStored> {
  const { merchantNo, runId, now } = open[0]!.part;
  const uncertain = open.flatMap(({ part, unstored }) => (unstored.isCertificateOpen ? [part] : []));
  const batch = { merchantNo, entries, runId, now };
  return writeStatement(db, lease, async (held, isAgain) => {
    // If the answer was lost, the entries may be stored already.
    const before = isAgain ? await insertedBefore(db, batch) : 0;
    const { rows } = await sql<{ is_held: boolean; is_new: boolean; inserted: number }>`
      WITH held AS MATERIALIZED ${held},
      entry AS MATERIALIZED (SELECT * FROM ${sentRows(entries)}),
      unknown AS MATERIALIZED (SELECT 1 FROM held WHERE NOT EXISTS (
        SELECT FROM entry AS sent CROSS JOIN LATERAL (
          SELECT FROM ledger_entry e WHERE e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no OFFSET 0
        ) AS known
      )),
      ${freshEntries(batch, { held: sql`unknown`, sent: sql`entry AS sent` })},
      ${keptCertificates(open[0]!.part, uncertain, sql`EXISTS (SELECT FROM unknown)`)}
      SELECT EXISTS (SELECT FROM held) AS is_held, EXISTS (SELECT FROM unknown) AS is_new,
        (SELECT count(*) FROM fresh) AS inserted`.execute(db);
    const { is_held: isHeld, is_new: isNew, inserted } = rows[0]!;
    return isHeld ? { inserted: before + inserted, isAll: isNew } : null;
  });
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
