/** `npm run schema`: writes src/store/engine/schema.ts from the migrated tables. Run it after every change in sql/. */
import { fileURLToPath } from 'node:url';
import { generate, PostgresDialect } from 'kysely-codegen';
import { openDatabase } from '../src/store/engine/connection.ts';
import { createTemplate, startPostgres, TEMPLATE } from '../test/support/postgres-server.ts';

const server = await startPostgres({ durable: false });
try {
  await createTemplate(server.url);
  const database = await openDatabase({ databaseUrl: `${server.url}/${TEMPLATE}`, dataDir: '' });
  await generate({
    db: database.db,
    // Its own type for a dialect is a class it only `implements`.
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
    dialect: new PostgresDialect(),
    outFile: fileURLToPath(new URL('../src/store/engine/schema.ts', import.meta.url)),
    excludePattern: 'kysely_*',
    // The same types as in src/store/engine/column-values.ts.
    typeMapping: {
      int8: 'number',
      numeric: 'string',
      date: 'string',
      timestamp: 'string',
      timestamptz: 'Date',
    },
    typeOnlyImports: true,
  });
  await database.close();
} finally {
  await server.stop();
}
