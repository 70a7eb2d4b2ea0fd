/** What came by paths that nobody was told, or that ended: settled without a look, and kept only so far. */
import { sql, type Kysely } from 'kysely';
import { applicationPathLives, beneficiaryPathLives, PATH_LIVES_DAYS } from './known-paths.ts';
import { UNKNOWN_REASON } from './notifications.ts';
import type { DB } from '../engine/schema.ts';

/**
 * Settles, in one statement, what came by a path that belongs to nothing, or no longer. Applications and registrations
 * are recorded before they are sent, so a path not known now was never told to anyone. Returns how many there were.
 */
export async function settleUnknownPaths(db: Kysely<DB>, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`
    UPDATE notification AS n
    SET outcome = 'unknown', reason = ${UNKNOWN_OR_ENDED}, processed_at = ${now}
    WHERE n.outcome IS NULL
      AND NOT EXISTS (SELECT FROM application
        WHERE n.kind = 'onboarding' AND notify_hash = n.notify_hash AND ${applicationPathLives(now)})
      AND NOT EXISTS (SELECT FROM beneficiary
        WHERE n.kind = 'beneficiary' AND notify_hash = n.notify_hash AND ${beneficiaryPathLives(now)})
  `.execute(db);
  return Number(numAffectedRows ?? 0n);
}

const UNKNOWN_OR_ENDED = `${UNKNOWN_REASON}, or its result came more than ${PATH_LIVES_DAYS} days before`;

/** How much of what came by unknown paths is kept. */
export interface UnknownKept {
  readonly posts: number;
  /** Of ciphertext. */
  readonly bytes: number;
  readonly days: number;
}

/**
 * Drops the oldest posts of paths nobody was told, beyond what is kept of them: a stranger who posts on and on must not
 * fill the disk that results need. Returns how many.
 */
export async function dropOldUnknown(
  db: Kysely<DB>,
  { posts, bytes, days }: UnknownKept,
  now: Date,
): Promise<number> {
  const { numAffectedRows } = await sql`
    DELETE FROM notification WHERE outcome = 'unknown' AND number <= (
      SELECT max(number) FROM (
        SELECT number, received_at, row_number() OVER newest AS posts, sum(body_bytes) OVER newest AS bytes
        FROM notification WHERE outcome = 'unknown' WINDOW newest AS (ORDER BY number DESC)
      ) AS kept
      WHERE posts > ${posts} OR bytes > ${bytes} OR received_at < ${new Date(now.getTime() - days * DAY_MS)}
    )`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

const DAY_MS = 86_400_000;
