/**
 * Writes docs/reference and the example of a settings file from what the program knows of itself: commands, settings, tables, files, metrics. `npm run reference`
 */
import { PLUGINS } from '../src/plugins.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { format, resolveConfig } from 'prettier';
import { createCompleteProgram } from '../src/cli/program.ts';
import { openDatabase } from '../src/store/engine/connection.ts';
import { migrate } from '../src/store/engine/migrations.ts';
import type { DB } from '../src/store/engine/schema.ts';
import { commandsPage } from './reference/commands.ts';
import { filesPage } from './reference/files.ts';
import { metricsPage } from './reference/metrics.ts';
import { exampleFile, settingsPage } from './reference/settings.ts';
import { relationsOf, tablesPage } from './reference/tables.ts';

const fileOf = (path: string): string => new URL(`../${path}`, import.meta.url).pathname;

/** The pages, and the example of a settings file, by their path, formatted. `db` is a migrated database. */
export async function referencePages(db: Kysely<DB>): Promise<ReadonlyMap<string, string>> {
  const pages: readonly (readonly [string, string])[] = [
    ['docs/reference/commands.md', commandsPage(await createCompleteProgram(PLUGINS))],
    ['docs/reference/settings.md', settingsPage()],
    ['config/daybook.example.yaml', exampleFile()],
    ['docs/reference/tables.md', tablesPage(await relationsOf(db))],
    ['docs/reference/files.md', filesPage()],
    ['docs/reference/metrics.md', await metricsPage()],
  ];
  const config = await resolveConfig(fileOf('README.md'));
  return new Map(
    await Promise.all(
      pages.map(async ([path, text]): Promise<[string, string]> => [
        path,
        await format(text, { ...config, filepath: path }),
      ]),
    ),
  );
}

if (import.meta.main) {
  const dataDir = mkdtempSync(join(tmpdir(), 'daybook-reference-'));
  const database = await openDatabase({ databaseUrl: null, dataDir });
  try {
    await migrate(database.db);
    for (const [path, text] of await referencePages(database.db)) writeFileSync(fileOf(path), text);
  } finally {
    await database.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
