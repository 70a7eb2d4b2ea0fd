/** An open database, whichever kind it is. */
import type { Kysely } from 'kysely';
import type { DB } from './schema.ts';

export interface Database {
  readonly db: Kysely<DB>;
  readonly kind: 'postgres' | 'embedded';
  readonly close: () => Promise<void>;
}
