/** What processing makes of the inbox, row by row, and what a person sees of it. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { DB } from '../engine/schema.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import { bodyPlace } from './notifications.ts';
import type { NotificationKind } from './notify-path.ts';
import { decryptSecret, type SecretKey } from '../secrets/secrets.ts';

/**
 * What became of a notification. `applied`: it moved what its path belongs to. `waiting`: our own request has no reply
 * stored yet. The others changed nothing: a replay, a path nobody was told, something else than is known, another token
 * than the one delivered, nothing the document describes.
 */
export type NotificationOutcome =
  'applied' | 'duplicate' | 'unknown' | 'contradiction' | 'second-token' | 'malformed' | 'waiting';

/** Outcomes a person has to look at. A path nobody was told is noise, and a replay is the platform's good right. */
export const NEEDS_PERSON: readonly NotificationOutcome[] = ['contradiction', 'second-token', 'malformed'];

export interface OpenNotification {
  readonly id: string;
  readonly number: number;
  readonly kind: NotificationKind;
  readonly notifyHash: string;
  readonly bodyCiphertext: string;
}

/** Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const bodyOf = (
  secretKeys: readonly SecretKey[],
  { id, bodyCiphertext }: Pick<OpenNotification, 'id' | 'bodyCiphertext'>,
): string => decryptSecret(secretKeys, bodyPlace(id), bodyCiphertext);

/**
 * Numbers of what is left to look at, without `passed`: the first of every path before the second of any, so that one
 * path with thousands holds nobody up.
 */
export async function openInTurns(
  db: Kysely<DB>,
  { passed, limit }: { readonly passed: readonly number[]; readonly limit: number },
): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    SELECT number FROM (
      SELECT number, row_number() OVER (PARTITION BY notify_hash ORDER BY number) AS turn FROM notification
      WHERE (outcome IS NULL OR outcome = 'waiting') AND body_ciphertext IS NOT NULL AND NOT number = ANY(${arrayLiteral(passed)}::bigint[])
    ) AS open ORDER BY turn, number LIMIT ${limit}`.execute(db);
  return rows.map(({ number }) => number);
}

/** One to look at, locked; undefined where another process looks at it, or has. */
export async function claimNotification(
  trx: Transaction<DB>,
  number: number,
): Promise<OpenNotification | undefined> {
  const row = await trx
    .selectFrom('notification')
    .select(['id', 'number', 'kind', 'notify_hash as notifyHash', 'body_ciphertext as bodyCiphertext'])
    .where('number', '=', number)
    .where('body_ciphertext', 'is not', null)
    .where((where) => where.or([where('outcome', 'is', null), where('outcome', '=', 'waiting')]))
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  return row as OpenNotification | undefined;
}

/** Results without a digest that are read again to tell a replay: they are from an earlier version. */
const WITHOUT_DIGEST_MAX = 20;

/**
 * Results that changed something by the same path before, as far as they can matter to one with this digest: its equals,
 * and the last one, which is an approval where there was any. Oldest first; few, however many there were.
 */
export async function appliedBefore(
  trx: Transaction<DB>,
  notifyHash: string,
  resultDigest: string,
): Promise<OpenNotification[]> {
  const { rows } = await sql<OpenNotification>`
    WITH applied AS (
      SELECT id, number, kind, notify_hash AS "notifyHash", body_ciphertext AS "bodyCiphertext", result_digest
      FROM notification WHERE notify_hash = ${notifyHash} AND outcome = 'applied' AND body_ciphertext IS NOT NULL
    )
    (SELECT * FROM applied WHERE result_digest = ${resultDigest} ORDER BY number DESC LIMIT 1)
    UNION (SELECT * FROM applied ORDER BY number DESC LIMIT 1)
    UNION (SELECT * FROM applied WHERE result_digest IS NULL ORDER BY number DESC LIMIT ${WITHOUT_DIGEST_MAX})
    ORDER BY number`.execute(trx);
  return rows;
}

/** Records what became of it. One that goes on waiting is not written again. */
export async function settleNotification(
  trx: Transaction<DB>,
  settled: {
    readonly id: string;
    readonly outcome: NotificationOutcome;
    readonly reason: string | null;
    readonly merOrderNo: string | null;
    /** Of what was applied. */
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

/** One by its number, locked until the transaction ends, with what became of it. */
export async function notificationByNumber(
  trx: Transaction<DB>,
  number: number,
): Promise<(OpenNotification & { readonly outcome: NotificationOutcome | null }) | undefined> {
  const row = await trx
    .selectFrom('notification')
    .select([
      'id',
      'number',
      'kind',
      'notify_hash as notifyHash',
      'body_ciphertext as bodyCiphertext',
      'outcome',
    ])
    .where('number', '=', number)
    .forUpdate()
    .executeTakeFirst();
  return row as (OpenNotification & { readonly outcome: NotificationOutcome | null }) | undefined;
}

const APPLIED_BY_PERSON = 'applied by a person';

/** A person said that it is the result: from now on it counts as applied. */
export async function markAppliedByPerson(
  trx: Transaction<DB>,
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
  /** Null while nobody looked at it. */
  readonly outcome: NotificationOutcome | null;
  readonly reason: string | null;
  readonly merOrderNo: string | null;
  readonly receivedAt: Date;
  /** The address it was posted from; null where nobody can tell. */
  readonly source: string | null;
  readonly processedAt: Date | null;
  readonly resolvedAt: Date | null;
  readonly note: string | null;
}

/** Newest first, without what they carried. Unless all are asked for: those that still need a person, or wait. */
export async function listNotifications(
  db: Kysely<DB>,
  { all, limit }: { readonly all: boolean; readonly limit: number },
): Promise<NotificationRow[]> {
  const rows = await db
    .selectFrom('notification')
    .select([
      'number',
      'kind',
      'outcome',
      'reason',
      'mer_order_no as merOrderNo',
      'received_at as receivedAt',
      'source',
      'processed_at as processedAt',
      'resolved_at as resolvedAt',
      'note',
    ])
    .$if(!all, (query) =>
      query.where((where) =>
        where.or([
          where('outcome', 'is', null),
          where('outcome', '=', 'waiting'),
          where.and([where('outcome', 'in', NEEDS_PERSON), where('resolved_at', 'is', null)]),
        ]),
      ),
    )
    .orderBy('number', 'desc')
    .limit(limit)
    .execute();
  return rows as NotificationRow[];
}

/** What was pushed, as it came; undefined where there is none of that number, null where it was forgotten. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export async function notificationBody(
  db: Kysely<DB>,
  secretKeys: readonly SecretKey[],
  number: number,
): Promise<string | null | undefined> {
  const row = await db
    .selectFrom('notification')
    .select(['id', 'body_ciphertext as bodyCiphertext'])
    .where('number', '=', number)
    .executeTakeFirst();
  if (row?.bodyCiphertext == null) return row === undefined ? undefined : null;
  return bodyOf(secretKeys, { id: row.id, bodyCiphertext: row.bodyCiphertext });
}

/** How many of each outcome; `open` for those nobody looked at. */
export async function countNotifications(db: Kysely<DB>): Promise<Record<string, number>> {
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

/** A person has dealt with it. False where there is none of that number that needs a person. */
export async function resolveNotification(
  db: Kysely<DB>,
  { number, note, now }: { readonly number: number; readonly note: string; readonly now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('notification')
    .set({ resolved_at: now, note })
    .where('number', '=', number)
    .where('outcome', 'in', NEEDS_PERSON)
    .where('resolved_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
