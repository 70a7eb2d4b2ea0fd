/** Stores a reading. If it needs a second reading to be believed, stores the same again as a later run. */
import { sql, type Kysely } from 'kysely';
import type { Lease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { storeWindow, type WindowToStore } from '../../src/store/windows.ts';

export async function storeBelieved(db: Kysely<DB>, lease: Lease, toStore: WindowToStore): Promise<void> {
  const { doubt } = await storeWindow(db, lease, toStore);
  if (doubt === null) return;
  await sql`UPDATE absent_entry SET absent_since = absent_since - interval '1 day'`.execute(db);
  const run = { command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: toStore.now };
  await storeWindow(db, lease, { ...toStore, runId: await startRun(db, run) });
}
