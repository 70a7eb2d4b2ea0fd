/** The embedded database works inside this process. Other work in the process must not wait for it too long. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/store/engine/database.ts';
import { freshEmbedded } from '../support/database.ts';

let database: Database;
beforeAll(async () => {
  database = await freshEmbedded();
});
afterAll(() => database.close());

const busy = sql`SELECT count(*) FROM generate_series(1, 50000)`;

const work: readonly [string, () => Promise<void>][] = [
  [
    'statement after statement',
    async () => {
      for (let nth = 0; nth < 40; nth += 1) await busy.execute(database.db);
    },
  ],
  [
    'within one transaction',
    () =>
      database.db.transaction().execute(async (trx) => {
        for (let nth = 0; nth < 40; nth += 1) await busy.execute(trx);
      }),
  ],
];

it.each(work)('timers and sockets are served while it works, %s', async (_how, run) => {
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await run();
  isDone = true;
  expect(turns).toBeGreaterThan(2);
});
