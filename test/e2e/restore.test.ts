/**
 * An older copy of the database is put back while the store has what was published since, as docs/operations.md
 * describes it. Nothing that was published is overwritten.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { RunDeps, RunRequest } from '../../src/run/active-run.ts';
import type { RunReport } from '../../src/run/report.ts';
import { underLeasesAsNeeded } from '../../src/run/leases.ts';
import { adoptStore } from '../../src/months/adopt.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { claimStore, StoreOwnedByAnother, storeOwner, watchOwner } from '../../src/statements/store-owner.ts';
import { databaseIdentity } from '../../src/store/installation.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from '../statements/store-oracle.ts';
import { copyDatabase } from '../support/postgres-server.ts';
import {
  DAYS,
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
const EARLY = { from: FROM, to: DAYS[1]! };
const LATE = { from: DAYS[2]!, to: DAYS[3]! };

let stage: Stage;
let restored: Database;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
});
afterEach(async () => {
  await restored.close();
  await stage.close();
});

const amend = (busiType: string): void => {
  const entry = stage.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType });
};

/** A copy of the database as it is now, as pg_dump and pg_restore make it. */
async function backUp(): Promise<void> {
  const { pathname } = new URL(stage.app.settings.databaseUrl!);
  // The server copies a database that no one is connected to. The pool connects again by itself.
  const admin = await openDatabase({ databaseUrl: `${inject('postgresUrl')}/postgres`, dataDir: '' });
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${pathname.slice(1)}`.execute(
    admin.db,
  );
  await admin.close();
  const url = await copyDatabase(inject('postgresUrl'), pathname.slice(1));
  restored = await openDatabase({ databaseUrl: url, dataDir: '' });
}

const runRestored = (request: Partial<RunRequest>, change: Partial<RunDeps> = {}) =>
  stage.run(request, { db: restored.db, ...change });

const adopted = () => {
  const { db } = restored;
  const { holder, signal, objects, now } = stage.deps();
  return underLeasesAsNeeded({ db, holder, signal }, (leaseOf, held) =>
    adoptStore({ db, leaseOf, objects, now, signal: held }),
  );
};

/** As before there were turns: a copy could go on as well. */
async function forgetTurns(): Promise<void> {
  const { id } = await databaseIdentity(restored.db);
  const mark = { format: 'daybook-store/1', database: id, since: '2026-03-01T00:00:00.000Z' };
  await stage.app.objects.put('daybook-store.json', Buffer.from(JSON.stringify(mark)));
}

/** Statements and summaries. Manifests are the pointers that do change. */
/** After the copy, a first day gets another revision and the last days their first. */
async function goOnAfterBackUp(): Promise<RunReport> {
  await stage.run({ range: EARLY });
  await backUp();
  amend('CHANGED');
  const again = await stage.run({ range: EARLY });
  await stage.run({ range: LATE });
  return again;
}

const revisionsOf = async () =>
  new Map([...(await objectsOf(stage))].filter(([key]) => key.endsWith('.csv')));

test('what was published after the copy stays byte for byte, and revisions go on above it', async () => {
  expect(publishedIn(await goOnAfterBackUp())).toEqual([`USD ${FROM} r2`]);
  const published = await revisionsOf();

  // As the guide says: take over what lies there, read the days since the copy, then compare all of it.
  const { objects } = stage.deps();
  expect((await adopted()).left).toEqual([]);
  await runRestored({ range: { from: FROM, to: DAYS[3]! } });
  const repair = await runRestored({ command: 'publish', range: null, repairs: true });
  expect(repair.publish).toMatchObject({ published: [], repaired: [], unrepaired: [] });
  const after = await revisionsOf();
  expect([...published].filter(([key, text]) => after.get(key) !== text)).toEqual([]);
  expect(after).toEqual(published);
  expect(await filesOfStore(objects)).toEqual(await filesOfDatabase(restored.db));
  expect(await verifyProblems(objects)).toEqual([]);

  amend('CHANGED AGAIN');
  expect(publishedIn(await runRestored({ range: EARLY }))).toEqual([`USD ${FROM} r3`]);
  expect(await verifyProblems(objects)).toEqual([]);
});

test('where nobody adopts first, the copy is refused before anything is read, and the old database goes on', async () => {
  await goOnAfterBackUp();
  const before = await objectsOf(stage);
  const requests = stage.sandbox.requestCount();
  await expect(runRestored({ range: LATE })).rejects.toBeInstanceOf(StoreOwnedByAnother);
  await expect(runRestored({ command: 'publish', range: null, repairs: true })).rejects.toThrow(
    'was published to by another copy of this database',
  );
  expect(stage.sandbox.requestCount()).toBe(requests);
  expect(await objectsOf(stage)).toEqual(before);
  expect(await stage.run({ range: LATE })).toMatchObject({ exitCode: 0 });
});

test('of a database and its copy the one that runs first goes on; adopting turns that round, with both named', async () => {
  await stage.run({ range: EARLY });
  await backUp();
  const idOf = async ({ db }: Database) => (await databaseIdentity(db)).id;
  expect(await idOf(restored)).toBe(await idOf(stage.app.database));
  expect(await runRestored({ range: LATE })).toMatchObject({ exitCode: 0 });
  await expect(stage.run({ range: LATE })).rejects.toBeInstanceOf(StoreOwnedByAnother);

  const formerly = await idOf(restored);
  expect(await adopted()).toMatchObject({ formerOwner: formerly, formerly, database: await idOf(restored) });
  const problem = await stage.run({ range: LATE }).catch((error: unknown) => (error as Error).message);
  expect(problem).toContain(`belongs to the daybook database ${await idOf(restored)}`);
  expect(problem).toContain(`this database is ${formerly}`);
  expect(await runRestored({ range: LATE })).toMatchObject({ exitCode: 0 });
  expect(await verifyProblems(stage.app.objects)).toEqual([]);
});

test('processes of one database take turns together; of two copies at once only one goes on', async () => {
  await stage.run({ range: EARLY });
  await backUp();
  const { objects, now } = stage.deps();
  const fence = { epoch: 1, assertHeld: () => Promise.resolve() };
  const claim = ({ db }: Database) => claimStore({ db, objects, now, fence }).then(() => 'took a turn');
  const own = stage.app.database;
  expect(new Set(await Promise.all(Array.from({ length: 8 }, () => claim(own))))).toEqual(
    new Set(['took a turn']),
  );
  await expect(claim(restored)).rejects.toBeInstanceOf(StoreOwnedByAnother);

  const { turns } = await databaseIdentity(own.db);
  await restored.db
    .updateTable('installation')
    .set({ store_turn: turns[0]!, store_turn_next: null })
    .execute();
  const ends = await Promise.allSettled([own, restored, own, restored].map(claim));
  const [one, other] = [ends[0]!.status, ends[1]!.status];
  expect([one, other].sort()).toEqual(['fulfilled', 'rejected']);
  expect(ends.map(({ status }) => status)).toEqual([one, other, one, other]);
});

test.each(['head', 'get', 'put'] as const)(
  'where the copy takes its turn right before the other one’s first %s, only the copy goes on',
  async (call) => {
    await stage.run({ range: EARLY });
    await backUp();
    const { objects, now } = stage.deps();
    const fence = { epoch: 1, assertHeld: () => Promise.resolve() };
    const claim = (db: Database['db'], store: ObjectStore) => claimStore({ db, objects: store, now, fence });
    let isDue = true;
    const interrupted = new Proxy(objects, {
      get: (target, property) => {
        const value = Reflect.get(target, property) as (...given: unknown[]) => unknown;
        if (property !== call) return value;
        return async (...args: unknown[]) => {
          if (isDue) {
            isDue = false;
            await claim(restored.db, objects);
          }
          return value(...args);
        };
      },
    });
    await expect(claim(stage.app.database.db, interrupted)).rejects.toBeInstanceOf(StoreOwnedByAnother);
    expect(isDue).toBe(false);
    expect(await storeOwner({ db: restored.db, objects })).toBe('ours');
  },
);

test('a restored database keeps a manifest of the same statements, though it reads the days later and by fewer checks', async () => {
  await goOnAfterBackUp();
  const before = await objectsOf(stage);
  await adopted();
  stage.setNow('2026-03-09T01:30:00+08:00');
  await runRestored({ range: { from: FROM, to: DAYS[3]! } }, { checks: [] });
  await runRestored({ command: 'publish', range: null, repairs: true });
  expect(await objectsOf(stage)).toEqual(before);
});

test('a run that is under way stops publishing within a minute once another database took the store over', async () => {
  await stage.run({ range: EARLY });
  const { db, objects } = stage.deps();
  let nowMs = 0;
  const stillOwned = watchOwner({ db, objects }, () => nowMs);
  await backUp();
  await adopted();
  await stillOwned();
  nowMs = 60_000;
  await expect(stillOwned()).rejects.toBeInstanceOf(StoreOwnedByAnother);
});

test(
  'where a copy of before went on and adopts later only, the next repair makes one chain of both',
  { tags: ['long'] },
  async () => {
    await goOnAfterBackUp();
    await forgetTurns();
    await runRestored({ range: LATE });
    const repair = () => runRestored({ command: 'publish', range: null, repairs: true });
    expect(await repair()).toMatchObject({ exitCode: 3, publish: { repaired: [] } });
    expect(JSON.stringify(await verifyProblems(stage.app.objects))).toContain('it is out of order');

    expect(await adopted()).toMatchObject({ left: [], forked: expect.any(Number) as number });
    await runRestored({ range: { from: FROM, to: DAYS[3]! } });
    expect(await repair()).toMatchObject({ exitCode: 0, publish: { repaired: [], unrepaired: [] } });
    expect(await verifyProblems(stage.app.objects)).toEqual([]);
  },
);

test(
  'a store that was lost as well is written again with the bytes of the copy',
  { tags: ['long'] },
  async () => {
    await stage.run({ range: EARLY });
    const published = await revisionsOf();
    await backUp();
    await rm(join(stage.app.settings.dataDir, 'statements'), { recursive: true });
    await runRestored({ command: 'publish', range: null, repairs: true });
    expect(await revisionsOf()).toEqual(published);
    expect(await verifyProblems(stage.app.objects)).toEqual([]);
  },
);
