/**
 * The secret keys of a database: whether each is the right one for its id, how to change them, and the keys made for
 * fingerprints. Without the check, a wrong key would go unnoticed until its ciphertexts are needed, and the right key could
 * not read them.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { codeOf } from '../engine/errors.ts';
import { type Db, rowsOf, type Trx } from '../engine/database.ts';
import type { DB } from '../engine/schema.ts';
import {
  decryptSecret,
  SecretUnreadable,
  type SecretKey,
  encryptSecret,
  UnknownSecretKey,
} from './secrets.ts';

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
 * not everything that encrypts stores one. Then the key has to decrypt something that was encrypted under this id; the
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
      const rows: Stored[] = await ciphertexts(db, place, {
        after,
        keyId: key.id,
        isOfKey: true,
        limit: BATCH_ROWS,
      });
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

/** The next ciphertexts of a column behind a row, in the order of its index; those under the key of that id, or all others. */
const ciphertexts = (
  db: Db,
  { table, key, column }: CiphertextColumn,
  { after, keyId, isOfKey, limit }: { after: string | null; keyId: string; isOfKey: boolean; limit: number },
) => rowsOf(db)<Stored>`
  SELECT ${sql.ref(key)}::text AS row, ${sql.ref(column)} AS stored FROM ${sql.table(table)}
  WHERE ${after === null ? sql`true` : sql`${sql.ref(key)} > ${after}`}
    AND ${isOfKey ? sql`` : sql`NOT`} starts_with(${sql.ref(column)}, ${`v1:${keyId}:`})
  ORDER BY ${sql.ref(key)} LIMIT ${limit}`;

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

/** Rows in one transaction. */
const REKEY_BATCH_ROWS = 200;
/** How many unreadable ciphertexts get a sentence of their own; the others are only counted. */
const UNREADABLE_NAMED_MAX = 20;

export interface RekeyReport {
  /** The key that everything is encrypted with now, except what could not be read. */
  readonly keyId: string;
  readonly rekeyed: readonly { readonly table: string; readonly column: string; readonly count: number }[];
  readonly unreadable: number;
  /** One sentence for each of the first unreadable ones, with its place and key id. */
  readonly problems: readonly string[];
  /** Keys of the settings that no ciphertext needs any more. */
  readonly idle: readonly string[];
}

/**
 * Works through every column in batches, each in its own transaction. It may be killed and started again, and other
 * other work may go on meanwhile. A ciphertext that cannot be read is left as it is and reported. Throws `UnknownSecretKey`
 * if there is no key, and `SecretKeyWrong` before anything is changed.
 */
export async function rekey(
  db: Db,
  secretKeys: readonly SecretKey[],
  batchRows = REKEY_BATCH_ROWS,
): Promise<RekeyReport> {
  const [first] = secretKeys;
  if (first === undefined) {
    throw new UnknownSecretKey('there is no key to encrypt with: set DAYBOOK_SECRET_KEYS.');
  }
  await adoptSecretKey(db, secretKeys);
  const problems: string[] = [];
  let unreadable = 0;
  const onUnreadable = (problem: string): void => {
    unreadable += 1;
    if (problems.length < UNREADABLE_NAMED_MAX) problems.push(problem);
  };
  const rekeyed = [];
  for (const place of CIPHERTEXT_COLUMNS) {
    const count = await rekeyColumn(db, place, [first, ...secretKeys.slice(1)], batchRows, onUnreadable);
    rekeyed.push({ table: place.table, column: place.column, count });
  }
  const inUse = await secretKeysInUse(db);
  const idle = secretKeys.slice(1).flatMap(({ id }) => (inUse.has(id) ? [] : [id]));
  return { keyId: first.id, rekeyed, unreadable, problems, idle };
}

type Keys = readonly [SecretKey, ...SecretKey[]];

async function rekeyColumn(
  db: Db,
  place: CiphertextColumn,
  keys: Keys,
  batchRows: number,
  onUnreadable: (problem: string) => void,
): Promise<number> {
  let count = 0;
  for (let after: string | null | undefined = null; after !== undefined;) {
    const from: string | null = after;
    after = await db.transaction().execute(async (trx) => {
      const asked = { after: from, keyId: keys[0].id, isOfKey: false, limit: batchRows };
      const rows = await ciphertexts(trx, place, asked);
      for (const one of rows) if (await rekeyOne(trx, place, keys, one, onUnreadable)) count += 1;
      return rows.at(-1)?.row;
    });
  }
  return count;
}

/** False where it cannot be read, or where somebody wrote another value meanwhile, which is right then. */
async function rekeyOne(
  trx: Trx,
  { table, key, column }: CiphertextColumn,
  keys: Keys,
  { row, stored }: Stored,
  onUnreadable: (problem: string) => void,
): Promise<boolean> {
  const place = { table, row, column };
  let secret: string;
  try {
    secret = decryptSecret(keys, place, stored);
  } catch (error) {
    if (!(error instanceof UnknownSecretKey) && !(error instanceof SecretUnreadable)) throw error;
    onUnreadable(error.message);
    return false;
  }
  const { numAffectedRows } = await sql`
    UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${encryptSecret(keys, place, secret)}
    WHERE ${sql.ref(key)} = ${row} AND ${sql.ref(column)} = ${stored}`.execute(trx);
  return (numAffectedRows ?? 0n) > 0n;
}

const FINGERPRINT_KEY_BYTES = 32;

/**
 * This database's key for fingerprints of that kind of personal data, by which equal data is found without being
 * readable. It is made on first use; two callers at the same time get the
 * same key. Throws `UnknownSecretKey`, `SecretKeyWrong` or `SecretUnreadable`.
 */
export async function fingerprintKey(
  db: Db,
  name: 'payee' | 'result',
  secretKeys: readonly SecretKey[],
): Promise<Buffer> {
  const place = { table: 'fingerprint_key', row: name, column: 'key_ciphertext' };
  const stored = async (): Promise<string | undefined> => {
    const [row] = await rowsOf(db)<{ ciphertext: string }>`
      SELECT key_ciphertext AS ciphertext FROM fingerprint_key WHERE name = ${name}`;
    return row?.ciphertext;
  };
  let ciphertext = await stored();
  if (ciphertext === undefined) {
    await adoptSecretKey(db, secretKeys);
    const made = encryptSecret(secretKeys, place, randomBytes(FINGERPRINT_KEY_BYTES).toString('base64'));
    await db
      .insertInto('fingerprint_key')
      .values({ name, key_ciphertext: made })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    ciphertext = (await stored())!;
  }
  return Buffer.from(decryptSecret(secretKeys, place, ciphertext), 'base64');
}
