/**
 * An older copy of the database is put back while the store has what was published since, as docs/operations.md
 * describes it. Nothing that was published is overwritten.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { RunRequest } from '../../src/run/active-run.ts';
import type { RunReport } from '../../src/run/report.ts';
import { underLeasesAsNeeded } from '../../src/run/leases.ts';
import { adoptStore } from '../../src/statements/adopt.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { createLeaseAsker } from '../../src/store/engine/lease.ts';
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

const runRestored = (request: Partial<RunRequest>) =>
  stage.run(request, { db: restored.db, asksLease: createLeaseAsker(restored.db) });

const adopted = () => {
  const { db } = restored;
  const { holder, signal, objects, now } = stage.deps();
  return underLeasesAsNeeded({ db, holder, signal }, (leaseOf, held) =>
    adoptStore({ db, leaseOf, objects, now, signal: held }),
  );
};

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

test(
  'where nobody adopts first, nothing is overwritten either, and the run says so',
  { tags: ['long'] },
  async () => {
    await goOnAfterBackUp();
    const published = await revisionsOf();
    amend('CHANGED AGAIN');
    const report = await runRestored({ range: { from: FROM, to: DAYS[3]! } });
    await runRestored({ command: 'publish', range: null, repairs: true });
    const after = await revisionsOf();
    expect([...published].filter(([key, text]) => after.get(key) !== text)).toEqual([]);
    expect(report.exitCode).toBe(3);
    expect(report.notes.join()).toContain(
      'from r2 to r3 (revision 2 was published, and this database does not know it',
    );
  },
);

test(
  'where it adopts after a run only, the next repair makes one chain of both',
  { tags: ['long'] },
  async () => {
    await goOnAfterBackUp();
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
