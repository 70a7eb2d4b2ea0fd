/** A process whose statements are planned once finds what it searches for by an index, however many rows wait. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPart, openPartsOf } from '../../src/run/backfill/tasks.ts';
import { listBreaks } from '../../src/store/breaks/breaks.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { closeRanges } from '../../src/store/tasks.ts';
import { unusedDatabase } from '../support/database.ts';
import { rowsLookedAt } from './rows-looked-at.ts';
import { NOW } from './support.ts';

const WAITING = 3_000;
const ONE = { merchants: ['M7'], currencies: null };

let database: Database;
beforeAll(async () => {
  const { url, close } = await unusedDatabase();
  await close();
  database = await openDatabase({ databaseUrl: url, dataDir: '', connectionsMax: 1, plansOnce: true });
  await sql`
    INSERT INTO task (kind, number, state, merchant_no, currency, from_day, to_day, requested_at)
    SELECT 'range', n, 'waiting', 'M' || n, '', date '2026-03-01', date '2026-03-01', ${NOW}::timestamptz FROM generate_series(1, ${WAITING}::int) AS n`.execute(
    database.db,
  );
  await sql`ANALYZE`.execute(database.db);
});
afterAll(() => database.close());

test.each([
  ['closes a range', () => closeRanges(database.db, [7], { state: 'ended', now: NOW }), 1],
  ['asks for open parts of backfills', () => openPartsOf(database.db, ['M7']), []],
  ['asks for an open part of a run', () => openPart(database.db, { runId: 1, merchantNo: 'M7' }), undefined],
  ['lists open breaks', () => listBreaks(database.db, ONE), []],
])('it %s', async (_, work: () => Promise<unknown>, answer) => {
  expect(await work()).toEqual(answer);
  // A statement that comes for the third time is named, and its plan is kept.
  await work();
  await work();
  expect(await rowsLookedAt(database.db, work)).toBeLessThan(20);
});
