/**
 * The inbox: stores results that the platform pushed (sp3101, sp3401; docs/platform.md 6), each complete and encrypted.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { NotificationKind } from './notify-path.ts';
import type { Db } from '../engine/database.ts';
import { encryptSecret, type SecretKey, type SecretPlace } from '../secrets/secrets.ts';

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
export const UNKNOWN_REASON = 'this path was never issued';

export const bodyPlace = (id: string): SecretPlace => ({
  table: 'notification',
  row: id,
  column: 'body_ciphertext',
});

/** Encrypts the body of a post for its own row. Throws `UnknownSecretKey` where there is no key to encrypt with. */
export function sealNotification(
  secretKeys: readonly SecretKey[],
  post: {
    readonly kind: NotificationKind;
    readonly notifyHash: string;
    readonly body: string;
    readonly receivedAt: Date;
    readonly source: string | null;
    readonly isUnknown: boolean;
  },
): SealedNotification {
  const id = randomUUID();
  const { body, ...rest } = post;
  return { ...rest, id, bodyCiphertext: encryptSecret(secretKeys, bodyPlace(id), body) };
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
