/**
 * The inbox: results that the platform pushed (sp3101, sp3401; docs/platform.md 6), each complete and encrypted, and what
 * became of each. Posts by unknown paths are never processed, and only a limited number is kept.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { arrayLiteral, type Db, type Trx, rowsOf } from '../../store/engine/database.ts';
import { NEEDS_PERSON } from '../../store/fleet-counts.ts';
import { isPathClosed, type NotificationKind, PATH_LIVES_DAYS } from '../../store/notify-path.ts';
import {
  encryptSecret,
  type SecretKey,
  type SecretPlace,
  decryptSecret,
} from '../../store/secrets/secrets.ts';

/** A post, encrypted and ready to be stored. */
export interface SealedNotification {
  readonly id: string;
  readonly kind: NotificationKind;
  readonly notifyHash: string;
  readonly bodyCiphertext: string;
  readonly receivedAt: Date;
  /** The sender's address; null if unknown. */
  readonly source: string | null;
  /** Its path was never issued, so there is nothing to process. */
  readonly isUnknown: boolean;
}

/** The reason stored with posts by unknown paths. */
const UNKNOWN_REASON = 'this path was never issued';

export const bodyPlace = (id: string): SecretPlace => ({
  table: 'notification',
  row: id,
  column: 'body_ciphertext',
});

/** Encrypts the body of a post for its own row. Throws `UnknownSecretKey` where there is no key to encrypt with. */
export function sealNotification(
  secretKeys: readonly SecretKey[],
  { body, ...post }: Omit<SealedNotification, 'id' | 'bodyCiphertext'> & { readonly body: string },
): SealedNotification {
  const id = randomUUID();
  return { ...post, id, bodyCiphertext: encryptSecret(secretKeys, bodyPlace(id), body) };
}

/**
 * Stores posts. When it resolves, they are committed and on disk. Storing the same posts again changes nothing.
 *
 * It waits for the disk even if the server or role is set to commit without waiting, as a lost token is never sent
 * again (docs/platform.md 5).
 */
export async function keepNotifications(db: Db, sealed: readonly SealedNotification[]): Promise<void> {
  const column = (value: (one: SealedNotification) => string) => arrayLiteral(sealed.map(value));
  await sql`
    INSERT INTO notification (id, kind, notify_hash, body_ciphertext, body_bytes, received_at, source, outcome, reason,
      processed_at)
    SELECT id, kind, notify_hash, body_ciphertext, octet_length(body_ciphertext), received_at, nullif(source, ''),
      CASE WHEN is_unknown THEN 'unknown' END, CASE WHEN is_unknown THEN ${UNKNOWN_REASON} END,
      CASE WHEN is_unknown THEN received_at END
    FROM unnest(
      ${column((one) => one.id)}::uuid[], ${column((one) => one.kind)}::text[],
      ${column((one) => one.notifyHash)}::text[], ${column((one) => one.bodyCiphertext)}::text[],
      ${column((one) => one.receivedAt.toISOString())}::timestamptz[], ${column((one) => one.source ?? '')}::text[],
      ${column((one) => String(one.isUnknown))}::boolean[]
    ) AS sealed (id, kind, notify_hash, body_ciphertext, received_at, source, is_unknown),
    (SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
      THEN set_config('synchronous_commit', 'local', true) END AS waits) AS disk
    ON CONFLICT (id) DO NOTHING`.execute(db);
}

/**
 * Marks posts as `unknown`, in one statement, if their path belongs to nothing, or no longer does. Applications and
 * registrations are stored before they are sent, so an unknown path was never issued. Returns how
 * many posts were marked.
 */
export async function settleUnknownPaths(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`
    UPDATE notification AS old
    SET outcome = 'unknown', reason = ${UNKNOWN_OR_ENDED}, processed_at = ${now}
    WHERE old.outcome IS NULL AND ${isPathClosed(now)}`.execute(db);
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

/**
 * What became of a notification:
 *
 * - `applied`: it changed the application or the registration that its path belongs to.
 * - `waiting`: the reply to our own request is not stored yet.
 * - `duplicate`: it arrived again. Changed nothing, like all that follow.
 * - `unknown`: its path was never issued.
 * - `contradiction`: it says something else than is known.
 * - `second-token`: it brings another token than the one delivered before.
 * - `malformed`: it is not what the document describes.
 */
export type NotificationOutcome =
  'applied' | 'duplicate' | 'unknown' | 'contradiction' | 'second-token' | 'malformed' | 'waiting';

const AWAITS_PERSON = sql<boolean>`(outcome IN (${sql.join(NEEDS_PERSON)}) AND resolved_at IS NULL)`;

export interface OpenNotification {
  readonly id: string;
  readonly number: number;
  readonly kind: NotificationKind;
  readonly notifyHash: string;
  readonly bodyCiphertext: string;
}

const OPEN_COLUMNS = sql`id, number, kind, notify_hash AS "notifyHash", body_ciphertext AS "bodyCiphertext"`;

/** It is to be processed. */
const IS_OPEN = sql`(outcome IS NULL OR outcome = 'waiting') AND body_ciphertext IS NOT NULL`;

/** The decrypted body. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const bodyOf = (
  secretKeys: readonly SecretKey[],
  { id, bodyCiphertext }: Pick<OpenNotification, 'id' | 'bodyCiphertext'>,
): string => decryptSecret(secretKeys, bodyPlace(id), bodyCiphertext);

/**
 * Numbers of notifications still to be processed, without those in `passed`. The first one of every path comes before
 * the second one of any path, so that a path with thousands does not hold up the others.
 */
export async function openInFairOrder(
  db: Db,
  { passed, limit }: { readonly passed: readonly number[]; readonly limit: number },
): Promise<number[]> {
  const rows = await rowsOf(db)<{ number: number }>`
    SELECT number FROM (
      SELECT number, row_number() OVER (PARTITION BY notify_hash ORDER BY number) AS turn FROM notification
      WHERE ${IS_OPEN} AND NOT number = ANY(${arrayLiteral(passed)}::bigint[])
    ) AS open ORDER BY turn, number LIMIT ${limit}`;
  return rows.map(({ number }) => number);
}

/** Locks a notification to process it. Undefined if another process is at work on it, or has processed it. */
export async function claimNotification(trx: Trx, number: number): Promise<OpenNotification | undefined> {
  const [open] = await rowsOf(trx)<OpenNotification>`
    SELECT ${OPEN_COLUMNS} FROM notification WHERE number = ${number} AND ${IS_OPEN} FOR UPDATE SKIP LOCKED`;
  return open;
}

/** Results that a person applied have no digest. At most so many are read again to find an earlier one. */
const WITHOUT_DIGEST_MAX = 20;

/**
 * Results that were applied by the same path before, as far as they matter to a new one with this digest: the last
 * one with the same digest, the last one of all, and those without a digest. An approval, if there was one, is the
 * last of all. Oldest first. The list is short, however many results were applied.
 */
export const appliedBefore = (trx: Trx, notifyHash: string, resultDigest: string) => rowsOf(
  trx,
)<OpenNotification>`
    WITH applied AS (
      SELECT ${OPEN_COLUMNS}, result_digest
      FROM notification WHERE notify_hash = ${notifyHash} AND outcome = 'applied' AND body_ciphertext IS NOT NULL
    )
    (SELECT * FROM applied WHERE result_digest = ${resultDigest} ORDER BY number DESC LIMIT 1)
    UNION (SELECT * FROM applied ORDER BY number DESC LIMIT 1)
    UNION (SELECT * FROM applied WHERE result_digest IS NULL ORDER BY number DESC LIMIT ${WITHOUT_DIGEST_MAX})
    ORDER BY number`;

/** Stores the outcome. Writes nothing if the notification was waiting and still is. */
export async function settleNotification(
  trx: Trx,
  settled: {
    readonly id: string;
    readonly outcome: NotificationOutcome;
    readonly reason: string | null;
    readonly merOrderNo: string | null;
    /** Set if the outcome is `applied`. */
    readonly resultDigest: string | null;
    readonly now: Date;
  },
): Promise<void> {
  const { id, outcome, reason, merOrderNo, resultDigest, now } = settled;
  await trx
    .updateTable('notification')
    .set({
      outcome,
      reason,
      mer_order_no: merOrderNo,
      result_digest: resultDigest,
      processed_at: outcome === 'waiting' ? null : now,
    })
    .where('id', '=', id)
    .where('outcome', 'is distinct from', outcome)
    .execute();
}

/** The body is null once it was deleted. */
type StoredNotification = Omit<OpenNotification, 'bodyCiphertext'> &
  Pick<NotificationRow, 'outcome'> & { readonly bodyCiphertext: string | null };

/** A notification with its outcome, locked until the transaction ends. */
export async function notificationByNumber(
  trx: Trx,
  number: number,
): Promise<StoredNotification | undefined> {
  const [found] = await rowsOf(trx)<StoredNotification>`
    SELECT ${OPEN_COLUMNS}, outcome FROM notification WHERE number = ${number} FOR UPDATE`;
  return found;
}

const APPLIED_BY_PERSON = 'applied by a person';

/** Counts the notification as applied from now on, because a person said that it is the result. */
export async function markAppliedByPerson(
  trx: Trx,
  { id, note, now }: { readonly id: string; readonly note: string | null; readonly now: Date },
): Promise<void> {
  await trx
    .updateTable('notification')
    .set({
      outcome: 'applied',
      reason: APPLIED_BY_PERSON,
      processed_at: now,
      resolved_at: now,
      note: note ?? APPLIED_BY_PERSON,
    })
    .where('id', '=', id)
    .execute();
}

export interface NotificationRow {
  readonly number: number;
  readonly kind: NotificationKind;
  /** Null as long as it is not processed. */
  readonly outcome: NotificationOutcome | null;
  readonly reason: string | null;
  readonly merOrderNo: string | null;
  readonly receivedAt: Date;
  /** The address that it was posted from; null if that cannot be known. */
  readonly source: string | null;
  readonly processedAt: Date | null;
  readonly resolvedAt: Date | null;
  readonly note: string | null;
}

/**
 * Notifications without their bodies, newest first. Without `all`: those that are waiting, and those that a person
 * still has to check.
 */
export const listNotifications = (
  db: Db,
  { all, limit }: { readonly all: boolean; readonly limit: number },
) => rowsOf(db)<NotificationRow>`
  SELECT number, kind, outcome, reason, mer_order_no AS "merOrderNo", received_at AS "receivedAt", source,
    processed_at AS "processedAt", resolved_at AS "resolvedAt", note
  FROM notification
  ${all ? sql`` : sql`WHERE outcome IS NULL OR outcome = 'waiting' OR ${AWAITS_PERSON}`}
  ORDER BY number DESC LIMIT ${limit}`;

/**
 * A notification's kind, and its body as it was posted: null where that was deleted. Undefined where there is no
 * notification of that number. Throws `UnknownSecretKey` or `SecretUnreadable`.
 */
export async function notificationBody(
  db: Db,
  secretKeys: readonly SecretKey[],
  number: number,
): Promise<{ readonly kind: NotificationKind; readonly body: string | null } | undefined> {
  const [row] = await rowsOf(db)<StoredNotification>`
    SELECT ${OPEN_COLUMNS}, outcome FROM notification WHERE number = ${number}`;
  if (row === undefined) return undefined;
  const { id, kind, bodyCiphertext } = row;
  return { kind, body: bodyCiphertext === null ? null : bodyOf(secretKeys, { id, bodyCiphertext }) };
}

/** Number of notifications by outcome; `open` counts those not processed yet. */
export async function countNotifications(db: Db): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('notification')
    .select((select) => [
      select.fn.coalesce('outcome', sql.lit('open')).as('outcome'),
      select.fn.countAll<number>().as('count'),
    ])
    .groupBy('outcome')
    .orderBy('outcome')
    .execute();
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
}

/** Records that a person has dealt with a notification. False if none such needs a person. */
export async function resolveNotification(
  db: Db,
  { number, note, now }: { readonly number: number; readonly note: string; readonly now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('notification')
    .set({ resolved_at: now, note })
    .where('number', '=', number)
    .where(AWAITS_PERSON)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
