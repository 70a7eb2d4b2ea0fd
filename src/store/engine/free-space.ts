/** Gives back the space of rows that are gone. A server's autovacuum does so by itself; the embedded database has none. */
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { DB } from './schema.ts';

/** `whole`: the files shrink and nothing of the old rows is left in them; else the space is only used again. */
export async function freeSpace(
  { db, kind }: Pick<Database, 'db' | 'kind'>,
  tables: readonly (keyof DB)[],
  { whole = false }: { readonly whole?: boolean } = {},
): Promise<void> {
  if (kind !== 'embedded') return;
  for (const table of tables) {
    await sql`VACUUM ${sql.raw(whole ? '(FULL)' : '')} ${sql.table(table)}`.execute(db);
  }
}
