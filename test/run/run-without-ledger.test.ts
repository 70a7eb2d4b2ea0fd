/** A run on record that reads no ledger, as that of a job may be: it takes no lease, and breaks stay as new as they were. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { thisHolder } from '../../src/host/process-identity.ts';
import { withStates } from '../../src/run/run-state.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { finishRun, lastLedgerRun, runById, startRun } from '../../src/store/runs.ts';
import { NOW } from '../store/support.ts';
import { freshDatabase } from '../support/database.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

test('it is running while its process lives, and is no reading of a ledger', async () => {
  const { db } = database;
  const own = { holder: thisHolder(), slot: null, now: NOW };
  const days = { fromDay: '2026-03-01', toDay: '2026-03-02' };
  const night = await startRun(db, { ...own, ...days, command: 'nightly' });
  await finishRun(db, night, { exitCode: 0, figures: {}, now: NOW });
  const tidy = await startRun(db, { ...own, command: 'made-up', fromDay: null, toDay: null });
  const stateOf = async () => (await withStates(db, [(await runById(db, tidy))!], { now: NOW }))[0]!.state;
  expect(await stateOf()).toBe('running');
  await finishRun(db, tidy, { exitCode: 0, figures: {}, now: NOW });
  expect(await stateOf()).toBe('ended');
  expect(await lastLedgerRun(db, 'backfill')).toBe(night);
});
