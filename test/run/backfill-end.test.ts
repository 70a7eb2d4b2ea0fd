/** When a backfill has its end, and with which exit code. */
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { endBackfill } from '../../src/run/backfill/end.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { NOW } from '../store/support.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(() => emptyTables(database.db));
afterAll(() => database.close());

async function begin(): Promise<number> {
  const { rows } = await sql<{ id: number }>`INSERT INTO run (command, holder, started_at)
    VALUES ('backfill', 'here', ${NOW}) RETURNING id`.execute(database.db);
  return rows[0]!.id;
}
const deps = () => ({ db: database.db, zone: 'UTC', now: () => NOW });
const endOf = (id: number) =>
  database.db
    .selectFrom('run')
    .select(['exit_code as exitCode', sql`figures->'notes'`.as('notes')])
    .where('id', '=', id)
    .executeTakeFirst();

test.each([
  [[0, 0], 0, []],
  [[0, 3], 3, ['1 slice needs attention: the nightly run lists the open items']],
  [[3, 4], 3, ['2 slices need attention: the nightly run lists the open items']],
])(
  'a backfill whose slices ended with %j ends with %i, and says how many need somebody',
  async (codes, exitCode, notes) => {
    const id = await begin();
    for (const code of codes)
      await sql`INSERT INTO task (kind, number, run_id, merchant_no, from_day, to_day, state, exit_code)
      VALUES ('backfill', 1, ${id}, 'M1', '2026-01-01', '2026-01-31', 'ended', ${code})`.execute(database.db);
    expect(await endBackfill(deps(), id)).toBe(true);
    expect(await endOf(id)).toEqual({ exitCode, notes });
    expect(await endBackfill(deps(), id)).toBe(false);
  },
);
