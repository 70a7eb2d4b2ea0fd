/** @module-tag long */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { EmbeddedDatabaseBusy } from '../../../src/store/engine/errors.ts';
import { assertMigrated, migrate } from '../../../src/store/engine/migrations.ts';

test('it takes one process per folder, and keeps tables', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'daybook-embedded-'));
  const first = await openDatabase({ databaseUrl: null, dataDir });
  expect(await migrate(first.db)).toContain('0001_installation');
  const second = await openDatabase({ databaseUrl: null, dataDir }).catch((error: unknown) => error);
  expect(second).toBeInstanceOf(EmbeddedDatabaseBusy);
  expect(String(second)).toContain('DATABASE_URL');
  await first.close();

  const again = await openDatabase({ databaseUrl: null, dataDir });
  await assertMigrated(again.db);
  await again.close();
  await rm(dataDir, { recursive: true });
});
