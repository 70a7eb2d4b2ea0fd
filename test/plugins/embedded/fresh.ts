/** The embedded database in memory, for tests. */
import { randomUUID } from 'node:crypto';
import { existsSync, openAsBlob } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { inject } from 'vitest';
import { embeddedDatabase } from '../../../src/plugins/embedded/database.ts';
import { COLUMN_PARSERS, type Database } from '../../../src/store/engine/database.ts';
import { migrate } from '../../../src/store/engine/migrations.ts';

/** Migrated. The first one in a test run takes seconds; others start from its files. */
export async function freshEmbedded(): Promise<Database> {
  const template = inject('embeddedTemplate');
  if (!existsSync(template)) await createEmbeddedTemplate(template);
  const loadDataDir = await openAsBlob(template);
  return embeddedDatabase(await PGlite.create({ parsers: COLUMN_PARSERS, loadDataDir }));
}

/** Writes the files of a migrated embedded database to `path`. */
export async function createEmbeddedTemplate(path: string): Promise<void> {
  const pglite = await PGlite.create({ parsers: COLUMN_PARSERS });
  const database = embeddedDatabase(pglite);
  await migrate(database.db);
  await publishWhole(path, await pglite.dumpDataDir('none'));
  await database.close();
}

/** By a rename, so that no other process reads half a file. */
async function publishWhole(path: string, content: Blob): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, new Uint8Array(await content.arrayBuffer()));
  await rename(draft, path);
}
