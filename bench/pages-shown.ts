/** The pages as a process: takes a database's URL, a zone and a time, prints its address. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PAGES_CONNECTIONS, pagesShown } from '../src/options/pages/shown.ts';
import { createDirectoryStore } from '../src/objects/directory.ts';
import { clockOf } from '../src/run/app.ts';
import { loadSettings } from '../src/settings/load.ts';
import { openDatabase } from '../src/store/engine/connection.ts';
import { createPagesServer } from '../src/options/pages/server.ts';
import { givenInput } from './input.ts';

const { databaseUrl, zone, now } = givenInput() as { databaseUrl: string; zone: string; now: string };
const settings = loadSettings({
  env: {
    DATABASE_URL: databaseUrl,
    PLATFORM_BASE_URL: 'https://platform.example',
    PLATFORM_TIME_ZONE: zone,
    DAYBOOK_PAGES_LISTEN: '127.0.0.1:8082',
    DAYBOOK_NOW: now,
  },
  readFile: () => '',
});
const database = await openDatabase({ ...settings, connectionsMax: PAGES_CONNECTIONS });
// No page that is measured reads a file.
const objects = createDirectoryStore(mkdtempSync(join(tmpdir(), 'daybook-bench-')));
const server = createPagesServer({
  ...(await pagesShown(
    { ...settings, pagesListen: settings.pagesListen! },
    { database, objects, now: clockOf(settings) },
  )),
  onRefusal: (event) => process.stderr.write(`refused: ${JSON.stringify(event)}\n`),
});
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
