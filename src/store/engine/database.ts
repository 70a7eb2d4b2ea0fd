/** The type of an open database, a server's or the embedded one. */
import type { Kysely } from 'kysely';
import type { DB } from './schema.ts';

export interface Database {
  readonly db: Kysely<DB>;
  readonly kind: 'postgres' | 'embedded';
  readonly close: () => Promise<void>;
}
