/** The inbox: results the platform pushed (sp3101, sp3401; section 6), each kept whole and encrypted. */
import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { arrayLiteral } from './array-literal.ts';
import type { NotificationKind } from './notify-path.ts';
import type { DB } from './schema.ts';
import { encryptSecret, type SecretKey, type SecretPlace } from './secrets.ts';

/** A post, ready to be kept. */
export interface SealedNotification {
  readonly id: string;
  readonly kind: NotificationKind;
  readonly notifyHash: string;
  readonly bodyCiphertext: string;
  readonly receivedAt: Date;
}

export const bodyPlace = (id: string): SecretPlace => ({
  table: 'notification',
  row: id,
  column: 'body_ciphertext',
});

/** Encrypts a post's body for a row of its own. Throws `UnknownSecretKey` where there is no key to encrypt with. */
export function sealNotification(
  secretKeys: readonly SecretKey[],
  post: {
    readonly kind: NotificationKind;
    readonly notifyHash: string;
    readonly body: string;
    readonly receivedAt: Date;
  },
): SealedNotification {
  const id = randomUUID();
  const { kind, notifyHash, receivedAt } = post;
  const bodyCiphertext = encryptSecret(secretKeys, bodyPlace(id), post.body);
  return { id, kind, notifyHash, bodyCiphertext, receivedAt };
}

/**
 * Keeps posts; committed, and on disk, when it resolves. Keeping the same ones again changes nothing.
 *
 * A server or role set to commit without waiting for the disk is overruled: a token is never sent again (5).
 */
export async function keepNotifications(
  db: Kysely<DB>,
  sealed: readonly SealedNotification[],
): Promise<void> {
  const column = (value: (one: SealedNotification) => string) => arrayLiteral(sealed.map(value));
  await sql`
    INSERT INTO notification (id, kind, notify_hash, body_ciphertext, received_at)
    SELECT id, kind, notify_hash, body_ciphertext, received_at FROM unnest(
      ${column((one) => one.id)}::uuid[], ${column((one) => one.kind)}::text[],
      ${column((one) => one.notifyHash)}::text[], ${column((one) => one.bodyCiphertext)}::text[],
      ${column((one) => one.receivedAt.toISOString())}::timestamptz[]
    ) AS sealed (id, kind, notify_hash, body_ciphertext, received_at),
    (SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
      THEN set_config('synchronous_commit', 'local', true) END AS waits) AS disk
    ON CONFLICT (id) DO NOTHING`.execute(db);
}
