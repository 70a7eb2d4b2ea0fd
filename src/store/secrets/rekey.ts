/** Encrypts with the first key what other keys encrypted, so that the other keys can be removed. */
import { sql } from 'kysely';
import { CIPHERTEXT_COLUMNS, secretKeysInUse, type CiphertextColumn, adoptSecretKey } from './key-check.ts';
import { type Db, rowsOf } from '../engine/database.ts';
import {
  decryptSecret,
  encryptSecret,
  SecretUnreadable,
  UnknownSecretKey,
  type SecretKey,
} from './secrets.ts';

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
  for (let after: string | null = null; ;) {
    const batch: Batch = await rekeyBatch(db, place, keys, after, batchRows, onUnreadable);
    count += batch.count;
    if (batch.last === null) return count;
    after = batch.last;
  }
}

interface Batch {
  readonly count: number;
  /** The last row read; null if there was none. */
  readonly last: string | null;
}

async function rekeyBatch(
  db: Db,
  { table, key, column }: CiphertextColumn,
  keys: Keys,
  after: string | null,
  batchRows: number,
  onUnreadable: (problem: string) => void,
): Promise<Batch> {
  const [held, bound, into] = [sql.ref(column), sql.ref(key), sql.table(table)];
  const beyond = after === null ? sql`true` : sql`${bound} > ${after}`;
  return db.transaction().execute(async (trx) => {
    // In the order of the index, which lets the query skip rows of the first key.
    const rows = await rowsOf(trx)<{ row: string; stored: string }>`
      SELECT ${bound}::text AS row, ${held} AS stored FROM ${into}
      WHERE ${beyond} AND NOT starts_with(${held}, ${`v1:${keys[0].id}:`})
      ORDER BY ${bound} LIMIT ${batchRows}`;
    let count = 0;
    for (const { row, stored } of rows) {
      const place = { table, row, column };
      let secret: string;
      try {
        secret = decryptSecret(keys, place, stored);
      } catch (error) {
        if (!(error instanceof UnknownSecretKey) && !(error instanceof SecretUnreadable)) throw error;
        onUnreadable(error.message);
        continue;
      }
      // Only replace the value that was read: if somebody wrote another one meanwhile, that one is right.
      const { numAffectedRows } = await sql`
        UPDATE ${into} SET ${held} = ${encryptSecret(keys, place, secret)}
        WHERE ${bound} = ${row} AND ${held} = ${stored}`.execute(trx);
      count += Number(numAffectedRows ?? 0);
    }
    return { count, last: rows.at(-1)?.row ?? null };
  });
}
