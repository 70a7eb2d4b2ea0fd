/** The embedded database works inside this process. Other work in the process must not wait for it too long. */
import type { PGlite } from '@electric-sql/pglite';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/store/engine/database.ts';
import { embeddedDatabase } from '../../src/store/engine/embedded.ts';
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

it('closing it closes the engine, whether or not a statement was run', async () => {
  const closed: string[] = [];
  const engine = (name: string) => {
    const pglite = {
      closed: false,
      ready: true,
      exec: () => Promise.resolve([]),
      close: () => {
        closed.push(name);
        pglite.closed = true;
        return Promise.resolve();
      },
    };
    return embeddedDatabase(pglite as unknown as PGlite, () => closed.push(`after ${name}`));
  };
  await engine('unused').close();
  const used = engine('used');
  await sql`SELECT 1`.execute(used.db);
  await used.close();
  expect(closed).toEqual(['unused', 'after unused', 'used', 'after used']);
});
