/** The embedded database works inside this process. Other work in the process must not wait for it too long. */
import { openAsBlob } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Database } from '../../../src/store/engine/database.ts';
import { embeddedDatabase } from '../../../src/plugins/embedded/database.ts';
import { freshEmbedded } from './fresh.ts';

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

it('closing it closes the engine, whether or not a statement was run', async () => {
  const { PGlite } = await import('@electric-sql/pglite');
  const closed: string[] = [];
  const opened = async (name: string) => {
    const engine = await PGlite.create({ loadDataDir: await openAsBlob(inject('embeddedTemplate')) });
    return { engine, database: embeddedDatabase(engine, () => closed.push(`after ${name}`)) };
  };
  const unused = await opened('unused');
  await unused.database.close();
  const used = await opened('used');
  await sql`SELECT 1`.execute(used.database.db);
  await used.database.close();
  expect([unused.engine.closed, used.engine.closed]).toEqual([true, true]);
  expect(closed).toEqual(['after unused', 'after used']);
});
