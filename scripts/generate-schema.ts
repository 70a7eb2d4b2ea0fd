/** `npm run schema`: writes src/store/engine/schema.ts from the migrated tables. Run it after every change in sql/. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generate, PostgresDialect } from 'kysely-codegen';
import { openDatabase } from '../src/store/engine/connection.ts';
import { createTemplate, startPostgres, TEMPLATE } from '../test/support/postgres-server.ts';

export const SCHEMA_FILE = fileURLToPath(new URL('../src/store/engine/schema.ts', import.meta.url));

/** What the file says where the tables are those of this migrated database. */
export async function schemaOf(databaseUrl: string): Promise<string> {
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  try {
    return await generate({
      db: database.db,
      dialect: new PostgresDialect(),
      outFile: null,
      excludePattern: 'kysely_*',
      // The same types as in src/store/engine/database.ts.
      typeMapping: {
        int8: 'number',
        numeric: 'string',
        date: 'string',
        timestamp: 'string',
        timestamptz: 'Date',
      },
      typeOnlyImports: true,
    });
  } finally {
    await database.close();
  }
}

if (import.meta.main) {
  const server = await startPostgres({ durable: false });
  try {
    await createTemplate(server.url);
    writeFileSync(SCHEMA_FILE, await schemaOf(`${server.url}/${TEMPLATE}`));
  } finally {
    await server.stop();
  }
}
