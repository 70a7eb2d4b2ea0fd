/** When a run that workers did, and one that was done in slices, has its end, and with which exit code. */
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endBackfill } from '../../src/run/backfill/backfills.ts';
import { finishQueuedRun } from '../../src/run/run-end.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { counting } from '../store/many-accounts.ts';
import { NOW } from '../store/support.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(() => emptyTables(database.db));
afterAll(() => database.close());

const REQUEST = { command: 'run', range: null, currencies: null, scheduled: null, lateSweepDays: null };

async function begin(command: string, request: object | null): Promise<number> {
  const { rows } = await sql<{ id: number }>`INSERT INTO run (command, holder, started_at, request)
    VALUES (${command}, 'here', ${NOW}, ${request === null ? null : JSON.stringify(request)}::jsonb) RETURNING id`.execute(
    database.db,
  );
  return rows[0]!.id;
}
const endOf = (id: number) =>
  database.db
    .selectFrom('run')
    .select(['exit_code as exitCode', sql`figures->'notes'`.as('notes')])
    .where('id', '=', id)
    .executeTakeFirst();

describe('a run that workers do', () => {
  const settings = {
    ...{ now: () => NOW, zone: 'UTC', settleDelayMs: 0, holder: 'here', alerts: undefined },
    ...{ checks: undefined, timeZoneTrusted: undefined },
  } as unknown as Omit<Parameters<typeof finishQueuedRun>[1], 'db'>;
  const finish = (id: number, db = database.db) => finishQueuedRun(id, { ...settings, db });

  test('ends once with its last merchant; until then, and after that, it costs one question to know', async () => {
    const { db } = database;
    const id = await begin('nightly', REQUEST);
    const figures = JSON.stringify({
      inserted: 5,
      reasons: [{ exitCode: 3, what: 'M1: made up', todo: null, merchantNo: 'M1' }],
    });
    await sql`INSERT INTO task (kind, merchant_no, run_id, state, exit_code, reads, figures) VALUES
      ('run', 'M1', ${id}, 'ended', 3, true, ${figures}::jsonb), ('run', 'M2', ${id}, 'waiting', NULL, true, '{}')`.execute(
      db,
    );
    const counted = counting(db);
    expect(await finish(id, counted.db)).toBe(false);
    expect(counted.statements()).toBe(1);
    await sql`UPDATE task SET state = 'ended', exit_code = 0 WHERE merchant_no = 'M2'`.execute(db);
    expect(await finish(id)).toBe(true);
    expect(await endOf(id)).toEqual({ exitCode: 3, notes: ['M1: made up'] });
    const again = counting(db);
    expect(await finish(id, again.db)).toBe(false);
    expect(again.statements()).toBe(1);
  });
});

describe('a backfill', () => {
  test.each([
    [[0, 0], 0, []],
    [[0, 3], 3, ['1 slice needs attention: the nightly run lists the open items']],
    [[3, 4], 3, ['2 slices need attention: the nightly run lists the open items']],
  ])(
    'whose slices ended with %j ends with %i, and says how many need somebody',
    async (codes, exitCode, notes) => {
      const id = await begin('backfill', null);
      for (const code of codes)
        await sql`INSERT INTO task (kind, number, run_id, merchant_no, from_day, to_day, state, exit_code)
        VALUES ('backfill', 1, ${id}, 'M1', '2026-01-01', '2026-01-31', 'ended', ${code})`.execute(
          database.db,
        );
      expect(await endBackfill(database.db, id, NOW)).toBe(true);
      expect(await endOf(id)).toEqual({ exitCode, notes });
      expect(await endBackfill(database.db, id, NOW)).toBe(false);
    },
  );
});
