/** A database that is open: a PostgreSQL server or the embedded one, which behave the same. */
import type { Kysely, Transaction } from 'kysely';
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
