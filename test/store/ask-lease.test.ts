import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireLease, askLease, LeaseLost, type Lease } from '../../src/store/engine/lease.ts';
import type { Db } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.close());

const take = (name: string, db: Db = database.db): Promise<Lease> =>
  acquireLease(db, { name, holder: 'test:1:-', ttlMs: 60_000 });

test('a lost lease fails its own question and no other', async () => {
  const { db } = database;
  const [held, lost] = [await take('merchant/A'), await take('merchant/B')];
  await db.updateTable('lease').set({ expires_at: null }).where('name', '=', lost.name).execute();
  await expect(askLease(db, lost)).rejects.toThrow(LeaseLost);
  await take('merchant/B');
  const [own, other] = await Promise.allSettled([askLease(db, held), askLease(db, lost)]);
  expect(own).toMatchObject({ status: 'fulfilled' });
  expect(other).toMatchObject({ status: 'rejected', reason: { name: 'LeaseLost' } });
});

test('a lease that another one is about to take over counts as held until then, and is lost after it', async () => {
  const { db } = database;
  const [held, contested] = [await take('merchant/A'), await take('merchant/B')];
  await sql`UPDATE lease SET expires_at = now() - interval '1 s' WHERE name = ${contested.name}`.execute(db);
  await db.transaction().execute(async (trx) => {
    await take(contested.name, trx);
    // No one waits for the transaction.
    await Promise.all([askLease(db, contested), askLease(db, held)]);
  });
  await askLease(db, held);
  await expect(askLease(db, contested)).rejects.toThrow(LeaseLost);
});
