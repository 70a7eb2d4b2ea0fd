/** Whose ledgers to sync, and the tokens that open them, encrypted. */
import { sql, type Kysely } from 'kysely';
import type { DB } from './schema.ts';
import { decryptSecret, encryptSecret, type SecretKey, type SecretPlace } from './secrets.ts';

export interface MerchantRow {
  readonly merchantNo: string;
  readonly status: 'active' | 'disabled';
  readonly hasToken: boolean;
  readonly addedAt: Date;
}

export interface MerchantToken {
  readonly merchantNo: string;
  readonly token: string;
}

const placeOf = (merchantNo: string): SecretPlace => ({
  table: 'merchant',
  row: merchantNo,
  column: 'token_ciphertext',
});

/**
 * Adds a merchant, or gives a known one a new token and activates it. `token` is null where the settings hold it; the
 * stored one is then kept. Throws `UnknownSecretKey` where there is no key to encrypt with.
 */
export async function addMerchant(
  db: Kysely<DB>,
  merchant: {
    readonly merchantNo: string;
    readonly token: string | null;
    readonly secretKeys: readonly SecretKey[];
    readonly now: Date;
  },
): Promise<{ added: boolean }> {
  const { merchantNo, token, secretKeys, now } = merchant;
  const ciphertext = token === null ? null : encryptSecret(secretKeys, placeOf(merchantNo), token);
  const { rows } = await sql<{ added: boolean }>`
    INSERT INTO merchant AS held (merchant_no, token_ciphertext, added_at)
    VALUES (${merchantNo}, ${ciphertext}, ${now})
    ON CONFLICT (merchant_no) DO UPDATE
      SET token_ciphertext = coalesce(excluded.token_ciphertext, held.token_ciphertext), status = 'active'
    RETURNING xmax = 0 AS added`.execute(db);
  return { added: rows[0]!.added };
}

/** Every merchant, in order, tokens left out. */
export async function listMerchants(db: Kysely<DB>): Promise<MerchantRow[]> {
  const rows = await db.selectFrom('merchant').selectAll().orderBy('merchant_no').execute();
  return rows.map((row) => ({
    merchantNo: row.merchant_no,
    status: row.status as MerchantRow['status'],
    hasToken: row.token_ciphertext !== null,
    addedAt: row.added_at,
  }));
}

/** Stops syncing a merchant; what is stored stays. False where it is not known. */
export async function disableMerchant(db: Kysely<DB>, merchantNo: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('merchant')
    .set({ status: 'disabled' })
    .where('merchant_no', '=', merchantNo)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Active merchants with their stored tokens, in order. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export async function merchantTokens(
  db: Kysely<DB>,
  secretKeys: readonly SecretKey[],
): Promise<MerchantToken[]> {
  const rows = await db
    .selectFrom('merchant')
    .select(['merchant_no', 'token_ciphertext'])
    .where('status', '=', 'active')
    .where('token_ciphertext', 'is not', null)
    .orderBy('merchant_no')
    .execute();
  return rows.map((row) => ({
    merchantNo: row.merchant_no,
    token: decryptSecret(secretKeys, placeOf(row.merchant_no), row.token_ciphertext!),
  }));
}
