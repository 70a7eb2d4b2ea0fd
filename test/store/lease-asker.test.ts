import { sql, type Kysely } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import {
  createLeaseAsker,
  acquireLease,
  LeaseLost,
  type Lease,
  releaseLeases,
} from '../../src/store/engine/lease.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { freshDatabase } from '../support/database.ts';
import { startFaultyWire, type FaultyWire } from '../support/faulty-wire.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let wire: FaultyWire;
let wired: Database;
beforeEach(async () => {
  database = await freshDatabase();
  wire = await startFaultyWire(database.url);
  wired = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
});
afterEach(async () => {
  await wired.close();
  await wire.close();
  await database.close();
});

const take = (name: string, db: Kysely<DB> = database.db): Promise<Lease> =>
  acquireLease(db, { name, holder: 'test:1:-', ttlMs: 60_000 });
const isQuestion = (statement: string): boolean => /FROM lease/.test(statement);
const questions = () => wire.takeStatements().filter(isQuestion).length;

test('questions of one moment, of one lease or of many, share a statement', async () => {
  const leases = await Promise.all(['merchant/A', 'merchant/B', 'merchant/C'].map((name) => take(name)));
  const ask = createLeaseAsker(wired.db);
  await Promise.all([...leases, ...leases].map((lease) => ask(lease)));
  expect(questions()).toBe(1);
});

test('a question that comes while a statement is on its way waits for one that is sent after it', async () => {
  const lease = await take('merchant/A');
  const { promise: answered, resolve: isAnswered } = Promise.withResolvers<undefined>();
  const { promise: mayArrive, resolve: arrive } = Promise.withResolvers<undefined>();
  const slow = wired.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      isAnswered(undefined);
      await mayArrive;
      return result;
    },
  });
  const ask = createLeaseAsker(slow);
  const first = ask(lease);
  await answered;
  // The server has said that the lease is held. It is lost now: no later question may be answered by that.
  await releaseLeases(database.db, [lease]);
  const later = Promise.allSettled([ask(lease), ask(lease)]);
  arrive(undefined);
  await first;
  expect((await later).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('a lost lease fails its own questions and no others', async () => {
  const held = await take('merchant/A');
  const lost = await take('merchant/B');
  await database.db.updateTable('lease').set({ expires_at: null }).where('name', '=', lost.name).execute();
  await take('merchant/B');
  const ask = createLeaseAsker(wired.db);
  const [own, other] = await Promise.allSettled([ask(held), ask(lost)]);
  expect(own).toMatchObject({ status: 'fulfilled' });
  expect(other).toMatchObject({ status: 'rejected', reason: { name: 'LeaseLost' } });
});

test('a lease that another one is about to take over counts as held until then, and is lost after it', async () => {
  const [held, contested] = [await take('merchant/A'), await take('merchant/B')];
  await sql`UPDATE lease SET expires_at = now() - interval '1 s' WHERE name = ${contested.name}`.execute(
    database.db,
  );
  const ask = createLeaseAsker(wired.db);
  await database.db.transaction().execute(async (trx) => {
    await take(contested.name, trx);
    // No one waits for the transaction.
    await Promise.all([ask(contested), ask(held)]);
  });
  await ask(held);
  await expect(ask(contested)).rejects.toThrow(LeaseLost);
});

test('a statement that fails is told to all who asked', async () => {
  const lease = await take('merchant/A');
  const { db, close } = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  const ask = createLeaseAsker(db);
  await ask(lease);
  await close();
  const answers = await Promise.allSettled([ask(lease), ask(lease)]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
