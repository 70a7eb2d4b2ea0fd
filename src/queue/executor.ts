/** Lets pg-boss use daybook's own connections, and its transactions. */
import { CompiledQuery, type Kysely } from 'kysely';
import type { Db } from 'pg-boss';
import type { DB } from '../store/engine/schema.ts';

/** pg-boss sends some of its work as one script with its own BEGIN and COMMIT. */
const isScript = (text: string): boolean => /^\s*BEGIN\b/i.test(text);

/**
 * For pg-boss's option `db`. Given a transaction, the statements are part of it. Throws the errors of
 * src/store/engine/errors.ts.
 */
export const executorOf = (db: Kysely<DB>): Db => ({
  async executeSql(text, values = []) {
    const query = CompiledQuery.raw(text, [...values]);
    if (!isScript(text)) return { rows: [...(await db.executeQuery(query)).rows] };
    return db.connection().execute(async (connection) => {
      try {
        return { rows: [...(await connection.executeQuery(query)).rows] };
      } catch (error) {
        // The script's transaction is still open, and the next user of the connection must not be in it.
        await connection.executeQuery(CompiledQuery.raw('ROLLBACK')).catch(() => undefined);
        throw error;
      }
    });
  },
});
