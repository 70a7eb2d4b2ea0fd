/** Keys for fingerprints of personal data, by which equal data is found without being readable. */
import { randomBytes } from 'node:crypto';
import { adoptSecretKey } from './key-check.ts';
import type { Db } from '../engine/database.ts';
import { decryptSecret, encryptSecret, type SecretKey, type SecretPlace } from './secrets.ts';

const KEY_BYTES = 32;

/** The kind of data that is fingerprinted. */
export type FingerprintName = 'payee' | 'result';

const placeOf = (name: string): SecretPlace => ({
  table: 'fingerprint_key',
  row: name,
  column: 'key_ciphertext',
});

/**
 * This database's key for fingerprints of that kind. It is made on first use; two callers at the same time get the
 * same key. Throws `UnknownSecretKey`, `SecretKeyWrong` or `SecretUnreadable`.
 */
export async function fingerprintKey(
  db: Db,
  name: FingerprintName,
  secretKeys: readonly SecretKey[],
): Promise<Buffer> {
  const place = placeOf(name);
  const stored = async (): Promise<string | undefined> => {
    const row = await db
      .selectFrom('fingerprint_key')
      .select('key_ciphertext')
      .where('name', '=', name)
      .executeTakeFirst();
    return row?.key_ciphertext;
  };
  let ciphertext = await stored();
  if (ciphertext === undefined) {
    await adoptSecretKey(db, secretKeys);
    const made = encryptSecret(secretKeys, place, randomBytes(KEY_BYTES).toString('base64'));
    await db
      .insertInto('fingerprint_key')
      .values({ name, key_ciphertext: made })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    ciphertext = (await stored())!;
  }
  return Buffer.from(decryptSecret(secretKeys, place, ciphertext), 'base64');
}
