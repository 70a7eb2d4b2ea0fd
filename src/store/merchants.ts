/** Stores the merchants whose ledgers are synced, and their encrypted tokens. */
import { shellWord } from '../ledger/text.ts';
import { sql, type RawBuilder } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral, type Db, rowOf, rowsOf, type Trx } from './engine/database.ts';
import {
  decryptSecret,
  encryptSecret,
  SecretUnreadable,
  UnknownSecretKey,
  type SecretKey,
  type SecretPlace,
} from './secrets/secrets.ts';

export interface MerchantRow {
  readonly merchantNo: string;
  readonly status: 'active' | 'disabled';
  readonly hasToken: boolean;
  readonly addedAt: Date;
  /** When its ledger joined the nightly job; null for a merchant that an approval brought and that was not read yet. */
  readonly joinedAt: Date | null;
}

export interface MerchantToken {
  readonly merchantNo: string;
  readonly token: string;
}

/** A merchant whose stored token cannot be decrypted. The message says what to do. */
export interface LockedMerchant {
  readonly merchantNo: string;
  readonly token: null;
  readonly problem: UnknownSecretKey | SecretUnreadable;
}

const placeOf = (merchantNo: string): SecretPlace => ({
  table: 'merchant',
  row: merchantNo,
  column: 'token_ciphertext',
});

/**
 * Adds a merchant, or gives a known one a new token; a disabled one stays disabled. Its ledger joins the nightly job at
 * once. `token` is null if the settings hold the token; a stored one is then kept. Throws `UnknownSecretKey` where there
 * is no key to encrypt with.
 */
export async function addMerchant(
  db: Db,
  merchant: {
    readonly merchantNo: string;
    readonly token: string | null;
    readonly secretKeys: readonly SecretKey[];
    readonly now: Date;
  },
): Promise<{ readonly added: boolean; readonly isDisabled: boolean }> {
  const { merchantNo, token, secretKeys, now } = merchant;
  const ciphertext = token === null ? null : encryptSecret(secretKeys, placeOf(merchantNo), token);
  return rowOf(db)<{ added: boolean; isDisabled: boolean }>`
    INSERT INTO merchant AS held (merchant_no, token_ciphertext, added_at, joined_at, enabled_at)
    VALUES (${merchantNo}, ${ciphertext}, ${now}, ${now}, ${now})
    ON CONFLICT (merchant_no) DO UPDATE
      SET token_ciphertext = coalesce(excluded.token_ciphertext, held.token_ciphertext),
        joined_at = coalesce(held.joined_at, excluded.joined_at), enabled_at = excluded.enabled_at
    RETURNING xmax = 0 AS added, status = 'disabled' AS "isDisabled"`;
}

/** What a list of merchants changes, by numbers. */
export interface ImportPlan {
  readonly added: readonly string[];
  /** Known, and with another token from now on. */
  readonly changed: readonly string[];
  /** Known with this token. */
  readonly unchanged: readonly string[];
  /** Of the known ones, those that are disabled, and stay so. */
  readonly disabled: readonly string[];
}

/** What storing these would change. Throws `UnknownSecretKey` where there is no key. */
export async function planImport(
  db: Db,
  merchants: readonly MerchantToken[],
  secretKeys: readonly SecretKey[],
): Promise<ImportPlan> {
  const rows = await rowsOf(db)<{ merchantNo: string; status: string; ciphertext: string | null }>`
    SELECT merchant_no AS "merchantNo", status, token_ciphertext AS ciphertext FROM merchant
    WHERE ${ofMerchants(merchants.map(({ merchantNo }) => merchantNo))}`;
  const known = new Map(rows.map((row) => [row.merchantNo, row]));
  const plan = {
    added: [] as string[],
    changed: [] as string[],
    unchanged: [] as string[],
    disabled: [] as string[],
  };
  for (const { merchantNo, token } of merchants) {
    const held = known.get(merchantNo);
    if (held?.status === 'disabled') plan.disabled.push(merchantNo);
    if (held === undefined) plan.added.push(merchantNo);
    else if (held.ciphertext !== null && tokenOf(merchantNo, held.ciphertext, secretKeys).token === token)
      plan.unchanged.push(merchantNo);
    else plan.changed.push(merchantNo);
  }
  return plan;
}

/**
 * Adds merchants and gives known ones new tokens, all of them or none. A disabled one stays disabled. What it changed
 * joins the nightly job at once, as with `addMerchant`. Throws `UnknownSecretKey` where there is no key to encrypt with.
 */
export async function storeImport(
  trx: Trx,
  {
    merchants,
    secretKeys,
    now,
  }: {
    readonly merchants: readonly MerchantToken[];
    readonly secretKeys: readonly SecretKey[];
    readonly now: Date;
  },
): Promise<ImportPlan> {
  const plan = await planImport(trx, merchants, secretKeys);
  const unchanged = new Set(plan.unchanged);
  const written = merchants.filter(({ merchantNo }) => !unchanged.has(merchantNo));
  const numbers = arrayLiteral(written.map(({ merchantNo }) => merchantNo));
  const tokens = written.map(({ merchantNo, token }) =>
    encryptSecret(secretKeys, placeOf(merchantNo), token),
  );
  await sql`
    INSERT INTO merchant AS held (merchant_no, token_ciphertext, added_at, joined_at, enabled_at)
    SELECT merchant_no, ciphertext, ${now}, ${now}, ${now}
    FROM unnest(${numbers}::text[], ${arrayLiteral(tokens)}::text[]) AS given (merchant_no, ciphertext)
    ON CONFLICT (merchant_no) DO UPDATE
      SET token_ciphertext = excluded.token_ciphertext, joined_at = coalesce(held.joined_at, excluded.joined_at),
        enabled_at = excluded.enabled_at`.execute(trx);
  return plan;
}

/**
 * Stores the token that an approval delivered (docs/platform.md 5). A new merchant becomes known by this; one that
 * was added without a token gets it. False where the merchant already has another token, which is kept. Throws
 * `UnknownSecretKey` or `SecretUnreadable`.
 */
export async function keepDeliveredToken(
  trx: Db,
  delivered: MerchantToken & { readonly secretKeys: readonly SecretKey[]; readonly now: Date },
): Promise<boolean> {
  const { merchantNo, token, secretKeys, now } = delivered;
  const place = placeOf(merchantNo);
  const token_ciphertext = encryptSecret(secretKeys, place, token);
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('merchant')
    .values({ merchant_no: merchantNo, token_ciphertext, added_at: now })
    .onConflict((conflict) =>
      conflict
        .column('merchant_no')
        .doUpdateSet({ token_ciphertext })
        .where('merchant.token_ciphertext', 'is', null),
    )
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 1n) return true;
  const { ciphertext } = await rowOf(trx)<{ ciphertext: string }>`
    SELECT token_ciphertext AS ciphertext FROM merchant WHERE merchant_no = ${merchantNo}`;
  return decryptSecret(secretKeys, place, ciphertext) === token;
}

/** Replaces a merchant's token by a delivered one. Throws `UnknownSecretKey`. */
export async function replaceToken(
  trx: Db,
  { merchantNo, token, secretKeys }: MerchantToken & { readonly secretKeys: readonly SecretKey[] },
): Promise<void> {
  await trx
    .updateTable('merchant')
    .set({ token_ciphertext: encryptSecret(secretKeys, placeOf(merchantNo), token) })
    .where('merchant_no', '=', merchantNo)
    .execute();
}

/** Which of these merchants are known only, and since when: an approval brought them, and no call has succeeded yet. */
export async function notJoined(db: Db, merchants: readonly string[]): Promise<ReadonlyMap<string, Date>> {
  const rows = await rowsOf(db)<{ merchantNo: string; addedAt: Date }>`
    SELECT merchant_no AS "merchantNo", added_at AS "addedAt" FROM merchant
    WHERE ${ofMerchants(merchants)} AND joined_at IS NULL`;
  return new Map(rows.map(({ merchantNo, addedAt }) => [merchantNo, addedAt]));
}

/** Records that a call with the merchant's token succeeded. From now on the nightly job reads its ledger. */
export async function markJoined(db: Db, merchantNo: string, now: Date): Promise<void> {
  await db
    .updateTable('merchant')
    .set({ joined_at: now })
    .where('merchant_no', '=', merchantNo)
    .where('joined_at', 'is', null)
    .execute();
}

/** All merchants in order, without their tokens. */
export const listMerchants = (db: Db) => rowsOf(db)<MerchantRow>`
  SELECT merchant_no AS "merchantNo", status, token_ciphertext IS NOT NULL AS "hasToken", added_at AS "addedAt",
    joined_at AS "joinedAt"
  FROM merchant ORDER BY merchant_no`;

/** Those of these merchants that were added. */
export async function addedMerchants(db: Db, asked: readonly string[]): Promise<string[]> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT merchant_no AS "merchantNo" FROM merchant WHERE ${ofMerchants(asked)}`;
  return rows.map(({ merchantNo }) => merchantNo);
}

/** Those of these merchants that were added, or of whom figures or statements are stored. Uses primary keys alone. */
export async function knownMerchants(db: Db, asked: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(db)<{ readonly merchantNo: string }>`
    SELECT asked."merchantNo" FROM unnest(${arrayLiteral(asked)}::text[]) AS asked ("merchantNo")
    WHERE EXISTS (SELECT FROM merchant WHERE merchant_no = asked."merchantNo")
      OR EXISTS (SELECT FROM account_day WHERE merchant_no = asked."merchantNo")
      OR EXISTS (SELECT FROM statement WHERE merchant_no = asked."merchantNo")`;
  return new Set(rows.map(({ merchantNo }) => merchantNo));
}

/** The numbers of the merchants whose ledgers are read, in order. */
export async function activeMerchants(db: Db): Promise<string[]> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT merchant_no AS "merchantNo" FROM merchant WHERE status = 'active' ORDER BY merchant_no`;
  return rows.map(({ merchantNo }) => merchantNo);
}

/**
 * Merchants that ought to be read and whose token is nowhere: active ones without one, and those with entries,
 * certificates or statements that were never added. `own` has its token in the settings; a disabled one has left.
 */
export async function merchantsWithoutToken(db: Db, own: readonly string[]): Promise<string[]> {
  const rows = await rowsOf(db)<{ merchant_no: string }>`
    WITH RECURSIVE ${eachMerchantOf('ledger_entry')}, ${eachMerchantOf('statement')}
    (SELECT DISTINCT merchant_no FROM certificate
      UNION SELECT merchant_no FROM of_ledger_entry WHERE merchant_no IS NOT NULL
      UNION SELECT merchant_no FROM of_statement WHERE merchant_no IS NOT NULL
      UNION SELECT merchant_no FROM merchant)
    EXCEPT SELECT merchant_no FROM merchant WHERE status = 'disabled' OR token_ciphertext IS NOT NULL
    EXCEPT SELECT unnest(${arrayLiteral(own)}::text[]) COLLATE "C"
    ORDER BY merchant_no`;
  return rows.map((row) => row.merchant_no);
}

/** A recursive query: the merchants of a table and a null at the end, each found by one jump along its key. */
function eachMerchantOf(table: 'ledger_entry' | 'statement'): RawBuilder<unknown> {
  const [found, source] = [sql.table(`of_${table}`), sql.table(table)];
  return sql`${found} (merchant_no) AS (
    (SELECT merchant_no FROM ${source} ORDER BY merchant_no LIMIT 1)
    UNION ALL
    SELECT (SELECT next.merchant_no FROM ${source} next WHERE next.merchant_no > ${found}.merchant_no
      ORDER BY next.merchant_no LIMIT 1)
    FROM ${found} WHERE ${found}.merchant_no IS NOT NULL)`;
}

/** Records that a merchant is not synced any more, also one that the settings alone named. False where it is not known. */
export async function disableMerchant(db: Db, merchantNo: string, now: Date): Promise<boolean> {
  if ((await setMerchantStatus(db, merchantNo, 'disabled', now)) !== null) return true;
  const withoutToken = await merchantsWithoutToken(db, []);
  if (!withoutToken.includes(merchantNo)) return false;
  await db
    .insertInto('merchant')
    .values({ merchant_no: merchantNo, status: 'disabled', added_at: now, joined_at: now })
    .execute();
  return true;
}

/** Syncs a merchant, or stops syncing it; what is stored stays. Null where it is not known. */
export async function setMerchantStatus(
  db: Db,
  merchantNo: string,
  status: MerchantRow['status'],
  now: Date,
): Promise<{ readonly hasToken: boolean } | null> {
  const row = await db
    .updateTable('merchant')
    .set({ status, ...(status === 'active' && { enabled_at: now }) })
    .where('merchant_no', '=', merchantNo)
    .returning('token_ciphertext')
    .executeTakeFirst();
  return row === undefined ? null : { hasToken: row.token_ciphertext !== null };
}

/** Of these merchants, the active ones with their stored tokens, in order. A token that cannot be read is its merchant's problem alone. */
export async function merchantTokens(
  db: Db,
  secretKeys: readonly SecretKey[],
  merchants: Chosen = null,
): Promise<(MerchantToken | LockedMerchant)[]> {
  const rows = await rowsOf(db)<{ merchantNo: string; ciphertext: string }>`
    SELECT merchant_no AS "merchantNo", token_ciphertext AS ciphertext FROM merchant
    WHERE status = 'active' AND token_ciphertext IS NOT NULL AND ${ofMerchants(merchants)} ORDER BY merchant_no`;
  return rows.map(({ merchantNo, ciphertext }) => tokenOf(merchantNo, ciphertext, secretKeys));
}

function tokenOf(
  merchantNo: string,
  ciphertext: string,
  secretKeys: readonly SecretKey[],
): MerchantToken | LockedMerchant {
  try {
    return { merchantNo, token: decryptSecret(secretKeys, placeOf(merchantNo), ciphertext) };
  } catch (error) {
    const fix = `Or give it its token again: \`daybook merchants add --merchant-no ${shellWord(merchantNo)} --token-stdin\`.`;
    if (error instanceof UnknownSecretKey) {
      return { merchantNo, token: null, problem: new UnknownSecretKey(`${error.message} ${fix}`) };
    }
    if (!(error instanceof SecretUnreadable)) throw error;
    return { merchantNo, token: null, problem: new SecretUnreadable(`${error.message} ${fix}`) };
  }
}
