/** Removes personal data and tokens of a closed application. Its row stays. */
import { sql } from 'kysely';
import type { Trx } from '../engine/database.ts';

/**
 * Removes the payload, what the platform said about it, and all posts to its path. From then on the path is unknown.
 * The merchant's token is removed only if its ledger is no longer read.
 */
export async function forgetApplication(trx: Trx, id: number, now: Date): Promise<void> {
  await sql`
    UPDATE notification AS n
    SET body_ciphertext = NULL, forgotten_at = ${now}, processed_at = coalesce(n.processed_at, ${now}),
      outcome = CASE WHEN n.outcome IS NULL OR n.outcome = 'waiting' THEN 'unknown' ELSE n.outcome END
    FROM application a
    WHERE a.id = ${id} AND n.kind = 'onboarding' AND n.notify_hash = a.notify_hash AND n.forgotten_at IS NULL
  `.execute(trx);
  await sql`
    UPDATE merchant AS m SET token_ciphertext = NULL
    FROM application a
    WHERE a.id = ${id} AND m.merchant_no = a.merchant_no AND m.status = 'disabled'`.execute(trx);
  await trx
    .updateTable('application')
    .set({
      payload_ciphertext: null,
      detail_ciphertext: null,
      recorded_name_ciphertext: null,
      notify_hash: null,
      forgotten_at: now,
    })
    .where('id', '=', id)
    .execute();
}
