/**
 * Lists every column that holds ciphertexts, and counts which keys they need. A column named `..._ciphertext` has to
 * be listed here.
 */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../engine/schema.ts';

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
export async function secretKeysInUse(db: Kysely<DB>): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { table, column } of CIPHERTEXT_COLUMNS) {
    const { rows } = await sql<{ id: string; count: number }>`
      SELECT split_part(${sql.ref(column)}, ':', 2) AS id, count(*)::int AS count FROM ${sql.table(table)}
      WHERE ${sql.ref(column)} IS NOT NULL GROUP BY 1`.execute(db);
    for (const { id, count } of rows) counts.set(id, (counts.get(id) ?? 0) + count);
  }
  return counts;
}
