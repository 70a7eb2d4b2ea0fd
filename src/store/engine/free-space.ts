/** Frees the space of deleted rows. On a server, autovacuum does this; the embedded database has no autovacuum. */
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { DB } from './schema.ts';

/** `full`: the files shrink, and nothing of the old rows is left in them. Otherwise the space is only reused. */
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
