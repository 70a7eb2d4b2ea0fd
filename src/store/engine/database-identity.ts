/** Distinguishes this database from every other one. */
import type { Kysely } from 'kysely';
import type { DB } from './schema.ts';

/** A UUID that was made together with the tables. A copy of the database has the same one. */
export async function databaseIdentity(db: Kysely<DB>): Promise<string> {
  const { id } = await db.selectFrom('database_identity').select('id').executeTakeFirstOrThrow();
  return id;
}
