/** A store belongs to one database. Others are refused, until one of them adopts it and continues with its files. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { underLeasesAsNeeded } from '../../src/run/leases.ts';
import { adoptStore, type AdoptReport } from '../../src/months/adopt.ts';
import { StoreOwnedByAnother, storeOwner } from '../../src/statements/store-owner.ts';
import { databaseIdentity } from '../../src/store/installation.ts';
import { listStatements } from '../../src/store/statements/statements.ts';
import { verifyProblems } from '../statements/store-oracle.ts';
import { FROM, MERCHANT, objectsOf, openStage, publishedIn, scenario, type Stage } from '../support/stage.ts';

const { merchantNo } = MERCHANT;
const MARK = 'daybook-store.json';
const keyOf = (revision: number) =>
  `merchant=${merchantNo}/date=${FROM}/${merchantNo}_USD_${FROM}.r${revision}.csv`;

let first: Stage;
let second: Stage;
let root: string;
beforeEach(async () => {
  first = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  root = join(first.app.settings.dataDir, 'statements');
  expect(await first.run()).toMatchObject({ exitCode: 0 });
  second = await openStage({ scenario: scenario({ entriesPerDay: 10 }), objects: first.app.objects });
  // Test databases are copies of one. A separate database would have its own identity.
  await sql`UPDATE installation SET id = gen_random_uuid()`.execute(second.app.database.db);
});
afterEach(async () => {
  await second.close();
  await first.close();
});

const identity = async ({ app }: Stage) => (await databaseIdentity(app.database.db)).id;
const amend = ({ sandbox }: Stage, busiType: string): void => {
  const entry = sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
  sandbox.amend(merchantNo, entry.batchNo, { busiType });
};
const adopt = ({ deps, app }: Stage): Promise<AdoptReport> => {
  const { db, holder, signal, objects, now } = deps();
  expect(db).toBe(app.database.db);
  return underLeasesAsNeeded({ db, holder, signal }, (leaseOf, held) =>
    adoptStore({ db, leaseOf, objects, now, signal: held }),
  );
};
const markOf = async (stage: Stage): Promise<unknown> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await stage.app.objects.get(MARK))!) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
};
/** What both databases must know in the same way: everything except which run it was. */
const statementsKnown = async ({ app }: Stage) =>
  (await listStatements(app.database.db)).map((row) => ({ ...row, run_id: null }));

test('the first run marks the store, and each one takes a turn there', async () => {
  const turnOf = async () => (await databaseIdentity(first.app.database.db)).turns;
  const mark = {
    format: 'daybook-store/1',
    database: await identity(first),
    since: first.app.now().toISOString(),
  };
  const [turn, ...others] = await turnOf();
  expect(others).toEqual([]);
  expect(await markOf(first)).toEqual({ ...mark, turn });
  first.setNow('2026-04-20T02:00:00Z');
  await first.run();
  const [next] = await turnOf();
  expect(next).not.toBe(turn);
  expect(await markOf(first)).toEqual({ ...mark, turn: next });
});

test('another database is refused before anything is read or written, and both are named', async () => {
  const before = await objectsOf(first);
  const error = await second.run().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StoreOwnedByAnother);
  expect(error).toMatchObject({ exitCode: 2 });
  const { message } = error as Error;
  expect(message).toContain(await identity(first));
  expect(message).toContain(await identity(second));
  expect(message).toContain('daybook statements adopt');
  expect(await objectsOf(first)).toEqual(before);
  expect(await statementsKnown(second)).toEqual([]);
  expect(second.sandbox.requestCount()).toBe(0);
});

test('files from before stores were marked are recognized by their bytes as the database’s own', async () => {
  await rm(join(root, MARK));
  await expect(second.run()).rejects.toThrow('holds statements that this database');
  expect(await storeOwner({ db: first.app.database.db, objects: first.app.objects })).toBe('unclaimed');
  expect(await first.run()).toMatchObject({ exitCode: 0 });
  expect(await markOf(first)).toMatchObject({ database: await identity(first) });
});

test('with an unreadable mark all are refused, until one database adopts the store', async () => {
  await writeFile(join(root, MARK), '{"format":"daybook-store/1"}');
  await expect(first.run()).rejects.toThrow(`${MARK} does not say which database`);
  expect(await adopt(first)).toMatchObject({ formerOwner: null, statements: 0, left: [] });
  expect(await first.run()).toMatchObject({ exitCode: 0 });
});

test('an adopter knows every revision, republishes nothing and continues the numbers; the former owner is refused', async () => {
  amend(first, 'CHANGED');
  amend(second, 'CHANGED');
  expect(publishedIn(await first.run())).toEqual([`USD ${FROM} r2`]);
  const before = await objectsOf(first);

  const formerly = await identity(second);
  const report = await adopt(second);
  expect(await identity(second)).not.toBe(formerly);
  expect(report).toEqual({
    formerOwner: await identity(first),
    formerly,
    database: await identity(second),
    closes: 0,
    days: 4,
    statements: 9,
    left: [],
    forked: 0,
  });
  expect(await statementsKnown(second)).toEqual(
    (await statementsKnown(first)).map((row) =>
      // A manifest has the figures of current revisions only. For others the rows have this much.
      row.revision === 1 && row.day === FROM && row.currency === 'USD' ? { ...row, restarted: true } : row,
    ),
  );
  const taken = await second.run();
  expect(taken).toMatchObject({ exitCode: 0, publish: { published: [], repaired: [], unrepaired: [] } });
  expect(await verifyProblems(second.app.objects)).toEqual([]);
  expect([...(await objectsOf(second)).keys()]).toEqual([...before.keys()]);
  expect((await objectsOf(second)).get(keyOf(1))).toBe(before.get(keyOf(1)));
  await expect(first.run()).rejects.toBeInstanceOf(StoreOwnedByAnother);

  amend(second, 'CHANGED AGAIN');
  expect(publishedIn(await second.run())).toEqual([`USD ${FROM} r3`]);
  expect(
    JSON.parse((await objectsOf(second)).get(keyOf(1).replace(/[^/]*$/, 'manifest.json'))!),
  ).toMatchObject({
    statements: [
      {},
      { currency: 'USD', revision: 3, superseded: [{ revision: 1, supersededBy: 2 }, { revision: 2 }] },
    ],
  });
});

test('adopting twice adds nothing, and a database restored from a backup catches up with its own store', async () => {
  await adopt(second);
  const formerOwner = await identity(second);
  expect(await adopt(second)).toMatchObject({ formerOwner, statements: 0, left: [] });
  amend(second, 'CHANGED');
  await second.run();
  const known = await statementsKnown(second);
  const { db } = second.app.database;
  await db.deleteFrom('statement').where('revision', '=', 2).execute();
  await db.deleteFrom('artifact').where('kind', '=', 'summary').where('revision', '=', 2).execute();
  await db.updateTable('artifact').set({ revision: 0 }).where('kind', '=', 'manifest').execute();
  expect(await adopt(second)).toMatchObject({ statements: 1, left: [] });
  expect((await statementsKnown(second)).map(({ sha256 }) => sha256)).toEqual(
    known.map(({ sha256 }) => sha256),
  );
  expect(await second.run()).toMatchObject({ publish: { published: [], unrepaired: [] } });
});

test('a file that differs from its manifest is left and reported, and its day gets a higher revision', async () => {
  await writeFile(join(root, keyOf(1)), 'altered');
  const { left } = await adopt(second);
  expect(left).toEqual([
    {
      key: keyOf(1).replace(/[^/]*$/, 'manifest.json'),
      why: `USD: ${keyOf(1)} does not have the bytes that its manifest states`,
    },
  ]);
  expect(publishedIn(await second.run())).toEqual([`USD ${FROM} r2`]);
  expect((await objectsOf(second)).get(keyOf(1))).toBe('altered');
});

test('a manifest that names a file outside the store does not make daybook read it', async () => {
  const key = keyOf(1).replace(/[^/]*$/, 'manifest.json');
  const manifest = (await objectsOf(first)).get(key)!;
  await writeFile(join(root, key), manifest.replaceAll(`"${merchantNo}_USD_`, '"../../../USD_'));
  const { left } = await adopt(second);
  expect(left.map(({ why }) => why)).toEqual([
    `USD: ../../../USD_${FROM}.r1.csv is not the file name of revision 1`,
  ]);
});
