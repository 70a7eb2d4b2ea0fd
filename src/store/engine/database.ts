/** A database that is open: a PostgreSQL server or the embedded one, which behave the same. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { DB } from './schema.ts';

/** Where statements are sent: the database, or a transaction on it. */
export type Db = Kysely<DB>;
/** Where statements must be part of a transaction. */
export type Trx = Transaction<DB>;

export interface Database {
  readonly db: Db;
  readonly kind: 'postgres' | 'embedded';
  readonly close: () => Promise<void>;
}

/** The rows that a statement answers with: rowsOf(db)<Row>`SELECT …`. */
export const rowsOf =
  <Schema>(db: Kysely<Schema>) =>
  async <Row>(texts: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> =>
    (await sql<Row>(texts, ...values).execute(db)).rows;

/** The same of a statement that always answers with one row. */
export const rowOf =
  <Schema>(db: Kysely<Schema>) =>
  async <Row>(texts: TemplateStringsArray, ...values: unknown[]): Promise<Row> =>
    (await sql<Row>(texts, ...values).execute(db)).rows[0]!;
