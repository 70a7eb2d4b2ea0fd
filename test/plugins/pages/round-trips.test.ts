/** Limits how many statements a page sends: of all that a page costs, they cost most, and readers wait for each. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { startFaultyWire, type FaultyWire } from '../../support/faulty-wire.ts';
import { showPages, type ShownPages } from './support.ts';
import { BROKEN_DAY, openPagesStage, REVISED_DAY } from './stage.ts';
import type { Stage } from '../../support/stage.ts';

let stage: Stage;
let wire: FaultyWire;
let pages: ShownPages;
let closeDatabase: () => Promise<void>;
beforeAll(async () => {
  stage = await openPagesStage();
  wire = await startFaultyWire(stage.app.settings.databaseUrl!);
  const database = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  closeDatabase = database.close;
  pages = await showPages({ ...stage, app: { ...stage.app, database } });
});
afterAll(async () => {
  await pages.close();
  await closeDatabase();
  await wire.close();
  await stage.close();
});

/** The number counted, and one or two more for what a page may come to show. */
test.each([
  ['the accounts', '/?month=2026-03', 10],
  ['a month', '/m/SBX-M-1/2026-03', 5],
  ['a month of another account', '/m/SBX-M-1/2026-03?currency=USD', 5],
  ['a month of nobody', '/m/NOBODY/2026-03', 4],
  ['a day', `/m/SBX-M-1/USD/${BROKEN_DAY}`, 15],
  ['a day that was revised', `/m/SBX-M-1/KWD/${REVISED_DAY}`, 14],
])('%s sends a limited number', async (_, path, max) => {
  wire.takeStatements();
  await pages.html(path);
  // The number of connections depends on timing.
  const sent = wire
    .takeStatements()
    .filter((statement) => !/^SET (?:datestyle|array_nulls)/i.test(statement));
  expect(sent.length, sent.map((one) => one.slice(0, 80)).join('\n')).toBeLessThanOrEqual(max);
  expect(sent.length).toBeGreaterThan(0);
});
