/** Handles posts by unknown paths: they are never processed, and only a limited number is kept. */
import { sql } from 'kysely';
import { applicationPathLives, beneficiaryPathLives, PATH_LIVES_DAYS } from './known-paths.ts';
import { UNKNOWN_REASON } from './notifications.ts';
import type { Db } from '../engine/database.ts';

/**
 * Marks posts as `unknown`, in one statement, if their path belongs to nothing, or no longer does. Applications and
 * registrations are stored before they are sent, so an unknown path was never issued. Returns how
 * many posts were marked.
 */
export async function settleUnknownPaths(db: Db, now: Date): Promise<number> {
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

const UNKNOWN_OR_ENDED = `${UNKNOWN_REASON}, or its result arrived more than ${PATH_LIVES_DAYS} days before`;

/** How much is kept of posts by unknown paths. */
export interface UnknownKept {
  readonly posts: number;
  /** Size of their encrypted bodies. */
  readonly bytes: number;
  readonly days: number;
}

/**
 * Deletes the oldest posts by unknown paths beyond what is kept. Otherwise an unknown sender could fill the disk,
 * and results could not be stored. Returns how many were deleted.
 */
export async function dropOldUnknown(
  db: Db,
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
