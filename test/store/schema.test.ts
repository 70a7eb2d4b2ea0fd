/** src/store/engine/schema.ts is made, not written: one that is older than the tables is a fault. */
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { SCHEMA_FILE, schemaOf } from '../../scripts/generate-schema.ts';
import { freshDatabase } from '../support/database.ts';

test('the schema says what the migrated tables are (`npm run schema` writes it)', async () => {
  const database = await freshDatabase();
  expect(await schemaOf(database.url)).toBe(readFileSync(SCHEMA_FILE, 'utf8'));
  await sql`ALTER TABLE merchant ADD COLUMN made_up integer`.execute(database.db);
  expect(await schemaOf(database.url)).toContain('made_up: number | null;');
  await database.close();
});
