/** A database that is open, a PostgreSQL server or the embedded one, and how values and rows go in and out of both. */
import { sql, type Kysely, type QueryExecutorProvider, type RawBuilder, type Transaction } from 'kysely';
import type { DB } from './schema.ts';

/** Where statements are sent: the database, or a transaction on it. */
export type Db = Kysely<DB>;
/** Where statements must be part of a transaction. */
export type Trx = Transaction<DB>;

export interface Database {
  readonly db: Db;
  readonly kind: 'postgres' | 'embedded';
  /**
   * For work that must not wait behind other work of this process: a pool of so many of its connections, and at most all but one.
   * The embedded database has only the one.
   */
  readonly reserve: (connections: number) => Db;
  readonly close: () => Promise<void>;
}

/** A value that is sent with the statement, or an expression in it. */
export type ValueOrSql = string | RawBuilder<unknown>;

/** The rows that a statement answers with: rowsOf(db)<Row>`SELECT …`. */
export const rowsOf =
  (db: QueryExecutorProvider) =>
  async <Row>(texts: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> =>
    (await sql<Row>(texts, ...values).execute(db)).rows;

/** The same of a statement that always answers with one row. */
export const rowOf =
  (db: QueryExecutorProvider) =>
  async <Row>(texts: TemplateStringsArray, ...values: unknown[]): Promise<Row> =>
    (await sql<Row>(texts, ...values).execute(db)).rows[0]!;

const NEEDS_ESCAPE = /["\\]/;
const ESCAPED = /["\\]/g;

/**
 * A column of many rows as `{"a","b",NULL}`, for a parameter that is cast to `text[]` or to an array of another type: one
 * parameter a column is far cheaper than one a value.
 */
export function arrayLiteral(values: readonly (string | number | null)[]): string {
  const spelt = values.map((value) => {
    if (value === null) return 'NULL';
    if (typeof value === 'number') return value;
    return `"${NEEDS_ESCAPE.test(value) ? value.replace(ESCAPED, '\\$&') : value}"`;
  });
  return `{${spelt.join(',')}}`;
}

/** Ids of the types in PostgreSQL's pg_type. */
const OID = { int8: 20, date: 1082, timestamp: 1114, timestamptz: 1184, numeric: 1700 } as const;

const asText = (value: string): string => value;

/** For ids, counts and instants in ms. All are far below 2^53; a larger one is a fault. */
function asSafeInteger(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`bigint ${value} does not fit a JavaScript number`);
  return number;
}

/**
 * Amounts stay decimal text. Days (`YYYY-MM-DD`) and times without a zone (`YYYY-MM-DD HH:mm:ss`) stay text. Instants
 * become `Date`.
 */
export const COLUMN_PARSERS: Readonly<Record<number, (value: string) => string | number | Date>> = {
  [OID.int8]: asSafeInteger,
  [OID.numeric]: asText,
  [OID.date]: asText,
  [OID.timestamp]: asText,
  [OID.timestamptz]: (value) => new Date(value),
};

/**
 * Frees the space of deleted rows. On a server, autovacuum does this; the embedded database has none. `full`: the files shrink,
 * and nothing of the old rows is left in them. Otherwise the space is only reused.
 */
export async function freeSpace(
  { db, kind }: Pick<Database, 'db' | 'kind'>,
  tables: readonly (keyof DB)[],
  { full = false }: { readonly full?: boolean } = {},
): Promise<void> {
  if (kind !== 'embedded') return;
  for (const table of tables) {
    await sql`VACUUM ${sql.raw(full ? '(FULL)' : '')} ${sql.table(table)}`.execute(db);
  }
}

/** Waits for whoever has the lock of this name, and keeps it until the transaction ends. */
export const lockNamed = (trx: Trx, name: string) =>
  sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(trx);
