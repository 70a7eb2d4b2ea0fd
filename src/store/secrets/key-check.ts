/**
 * Finds out whether a secret key is the right one for its id. Without this check, a wrong key would go unnoticed
 * until its ciphertexts are needed, and the right key could not read them.
 */
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { codeOf } from '../engine/errors.ts';
import { type Db, rowsOf } from '../engine/database.ts';
import type { DB } from '../engine/schema.ts';
import { decryptSecret, SecretUnreadable, type SecretKey } from './secrets.ts';

/** Ciphertexts that are read together. The body of a notification has up to 64 kB. */
const BATCH_ROWS = 50;
/**
 * SQLSTATEs of a role that may only read, and of a server that takes no writes. Whoever encrypts stores the value
 * later.
 */
const MAY_NOT_WRITE = ['42501', '25006'];

/** A key of the settings is not the key that has this id in this database. */
export class SecretKeyWrong extends ExpectedError {
  override readonly name = 'SecretKeyWrong';
  readonly exitCode = EXIT.usage;
}

const checkValueOf = ({ id, key }: SecretKey): string =>
  createHmac('sha256', key)
    .update(JSON.stringify(['daybook key check', 1, id]))
    .digest('hex');

const spelt = (ids: readonly string[]): string => ids.map((id) => `"${id}"`).join(', ');

const wrong = (ids: readonly string[]): SecretKeyWrong =>
  new SecretKeyWrong(
    `the key ${spelt(ids)} in DAYBOOK_SECRET_KEYS is not the one this database knows under that id; put that one ` +
      'back. A new key needs an id of its own, in front of the old one.',
  );

interface Known {
  /** Ids whose key is not the one known in this database. */
  readonly contradicted: readonly string[];
  /** Keys whose id is not known in this database. */
  readonly unknown: readonly SecretKey[];
}

async function compared(db: Db, secretKeys: readonly SecretKey[]): Promise<Known> {
  if (secretKeys.length === 0) return { contradicted: [], unknown: [] };
  const ids = secretKeys.map(({ id }) => id);
  const rows = await db.selectFrom('secret_key_check').selectAll().where('key_id', 'in', ids).execute();
  const known = new Map(rows.map((row) => [row.key_id, row.check_value]));
  return {
    contradicted: secretKeys
      .filter((key) => known.has(key.id) && known.get(key.id) !== checkValueOf(key))
      .map(({ id }) => id),
    unknown: secretKeys.filter(({ id }) => !known.has(id)),
  };
}

/** Compares the keys with the stored check values only. Returns a sentence if a key is wrong, or null. */
export async function secretKeysProblem(db: Db, secretKeys: readonly SecretKey[]): Promise<string | null> {
  const { contradicted } = await compared(db, secretKeys);
  return contradicted.length === 0 ? null : wrong(contradicted).message;
}

/**
 * Compares each key with the stored check value of its id, and writes nothing. An id may have no check value yet, as
 * in the database of an earlier version. Then the key has to decrypt something that was encrypted under this id; the
 * keys that can are returned. Throws `SecretKeyWrong`.
 */
export async function provenSecretKeys(db: Db, secretKeys: readonly SecretKey[]): Promise<SecretKey[]> {
  const { contradicted, unknown } = await compared(db, secretKeys);
  if (contradicted.length > 0) throw wrong(contradicted);
  const proven: SecretKey[] = [];
  const failing: string[] = [];
  for (const key of unknown) {
    const reads = await readsItsOwn(db, key);
    if (reads === true) proven.push(key);
    if (reads === false) failing.push(key.id);
  }
  if (failing.length > 0) throw wrong(failing);
  return proven;
}

/** Like `provenSecretKeys`, but also stores check values for the keys it returns. Throws `SecretKeyWrong`. */
export async function assertSecretKeys(db: Db, secretKeys: readonly SecretKey[]): Promise<void> {
  const proven = await provenSecretKeys(db, secretKeys);
  try {
    await keepCheckValues(db, proven);
  } catch (error) {
    if (!MAY_NOT_WRITE.includes(codeOf(error))) throw error;
  }
}

/** Call this before encrypting: it also stores the check value of the first key. Throws `SecretKeyWrong`. */
export async function adoptSecretKey(db: Db, secretKeys: readonly SecretKey[]): Promise<void> {
  await assertSecretKeys(db, secretKeys);
  await keepCheckValues(db, secretKeys.slice(0, 1));
}

async function keepCheckValues(db: Db, keys: readonly SecretKey[]): Promise<void> {
  if (keys.length === 0) return;
  await db
    .insertInto('secret_key_check')
    .values(keys.map((key) => ({ key_id: key.id, check_value: checkValueOf(key) })))
    .onConflict((conflict) => conflict.column('key_id').doNothing())
    .execute();
  // Two processes may bring different keys under one new id at the same time. The second has to be refused.
  const { contradicted } = await compared(db, keys);
  if (contradicted.length > 0) throw wrong(contradicted);
}

/** Whether the key can decrypt something stored under its id; null if nothing is stored. Stops at the first success. */
async function readsItsOwn(db: Db, key: SecretKey): Promise<boolean | null> {
  let isSomethingStored = false;
  for (const place of CIPHERTEXT_COLUMNS) {
    for (let after: string | null = null; ;) {
      const rows: Stored[] = await storedUnder(db, place, key.id, after);
      if (rows.some(({ row, stored }) => isReadable(key, place, row, stored))) return true;
      isSomethingStored ||= rows.length > 0;
      if (rows.length < BATCH_ROWS) break;
      after = rows.at(-1)!.row;
    }
  }
  return isSomethingStored ? false : null;
}

interface Stored {
  readonly row: string;
  readonly stored: string;
}

async function storedUnder(
  db: Db,
  { table, key, column }: CiphertextColumn,
  keyId: string,
  after: string | null,
): Promise<Stored[]> {
  const [held, bound] = [sql.ref(column), sql.ref(key)];
  const beyond = after === null ? sql`true` : sql`${bound} > ${after}`;
  return rowsOf(db)<Stored>`
    SELECT ${bound}::text AS row, ${held} AS stored FROM ${sql.table(table)}
    WHERE ${beyond} AND starts_with(${held}, ${`v1:${keyId}:`})
    ORDER BY ${bound} LIMIT ${BATCH_ROWS}`;
}

function isReadable(
  key: SecretKey,
  { table, column }: CiphertextColumn,
  row: string,
  stored: string,
): boolean {
  try {
    decryptSecret([key], { table, row, column }, stored);
    return true;
  } catch (error) {
    if (error instanceof SecretUnreadable) return false;
    throw error;
  }
}

/** A column of ciphertexts. Each one can only be read at its own table, column and row. */
export interface CiphertextColumn {
  readonly table: string;
  /** The unique column whose value identifies the row of a ciphertext. */
  readonly key: string;
  readonly column: string;
}

/** Typed so that the name of a column that does not exist fails the type check. */
const columns = <Table extends keyof DB>(
  table: Table,
  key: keyof DB[Table] & string,
  ...names: (keyof DB[Table] & string)[]
): CiphertextColumn[] => names.map((column) => ({ table, key, column }));

export const CIPHERTEXT_COLUMNS: readonly CiphertextColumn[] = [
  ...columns('merchant', 'merchant_no', 'token_ciphertext'),
  ...columns(
    'application',
    'mer_order_no',
    'payload_ciphertext',
    'detail_ciphertext',
    'recorded_name_ciphertext',
  ),
  ...columns('fingerprint_key', 'name', 'key_ciphertext'),
  ...columns('beneficiary', 'mer_order_no', 'payload_ciphertext'),
  ...columns('notification', 'id', 'body_ciphertext'),
];

/** For each key id, how many stored ciphertexts need that key. */
export async function secretKeysInUse(db: Db): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { table, column } of CIPHERTEXT_COLUMNS) {
    const rows = await rowsOf(db)<{ id: string; count: number }>`
      SELECT split_part(${sql.ref(column)}, ':', 2) AS id, count(*)::int AS count FROM ${sql.table(table)}
      WHERE ${sql.ref(column)} IS NOT NULL GROUP BY 1`;
    for (const { id, count } of rows) counts.set(id, (counts.get(id) ?? 0) + count);
  }
  return counts;
}
