/** What chaining made is saved in one transaction under the lease: all of it or nothing, and once, whatever is cut. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database, Db } from '../../src/store/engine/database.ts';
import { acquireLease, LeaseLost, type Lease } from '../../src/store/engine/lease.ts';
import { noteChained } from '../../src/store/certificates.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { saveChained } from '../../src/store/chaining.ts';
import { startCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';

const MERCHANT = 'M';
const DAY = '2026-03-02';
const CHAINED: Parameters<typeof saveChained>[2] = {
  figures: [
    {
      ...{ currency: 'USD', day: DAY, opening: '1.00', creditTotal: '2.00', creditCount: 1 },
      ...{ debitTotal: '0.00', debitCount: 0, closing: '3.00', verdict: 'continuous', breakCount: 0 },
      ...{ breaksAfter: 0, lastBatchNo: 'B1', lastBookedMs: 1, restarted: false, isOrderFinal: true },
      startsWithBreak: false,
    },
  ],
  done: [DAY],
};

let direct: Database;
let proxy: CuttingProxy;
let database: Database;
let lease: Lease;
beforeAll(async () => {
  const fresh = await freshDatabase();
  direct = fresh;
  proxy = await startCuttingProxy(fresh.url);
  database = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
});
beforeEach(async () => {
  proxy.cuts.length = 0;
  await emptyTables(direct.db);
  lease = await acquireLease(direct.db, { name: 'merchant/M', holder: 'test:1:-', ttlMs: 60_000 });
  await sql`INSERT INTO certificate (merchant_no, day) VALUES (${MERCHANT}, ${DAY})`.execute(direct.db);
  await sql`
    INSERT INTO ledger_cursor (merchant_no, currency, checked_from, checked_to, checked_total, is_held, checked_at, round_read,
      round_of, round_began_at, round_through_ms, page_order, by_figures)
    VALUES (${MERCHANT}, '', '2026-03-01', ${DAY}, 0, true, now(), 0, 0, now(), 0, 'oldest first', 7)`.execute(
    direct.db,
  );
});
afterAll(async () => {
  await database.close();
  await proxy.close();
  await direct.close();
});

const save = (db: Db, own: Lease) =>
  writeTransaction(db, own, async (trx) => {
    await saveChained(trx, { merchantNo: MERCHANT, currency: 'USD' }, CHAINED);
    await noteChained(trx, MERCHANT, [DAY]);
  });

async function stored(): Promise<unknown> {
  const { rows } = await sql`
    SELECT (SELECT jsonb_agg(jsonb_build_array(day, closing, version <> published_version)) FROM account_day) AS figures,
      (SELECT jsonb_agg(day ORDER BY day) FROM certificate WHERE NOT chained) AS changed,
      (SELECT by_figures FROM ledger_cursor WHERE currency = '') AS sum`.execute(direct.db);
  return rows[0];
}
const BEFORE = { figures: null, changed: [DAY], sum: 7 };
const AFTER = { figures: [[DAY, 3, true]], changed: null, sum: null };

it('saves figures, takes days off the list, and forgets the sum', async () => {
  expect(await stored()).toEqual(BEFORE);
  await save(direct.db, lease);
  expect(await stored()).toEqual(AFTER);
});

it.each(['before', 'after'] as const)('a connection cut %s the server got it: saved once', async (when) => {
  proxy.cuts.push({ message: 'INSERT INTO account_day', when });
  await save(database.db, lease);
  expect(proxy.cuts).toEqual([]);
  expect(await stored()).toEqual(AFTER);
});

it('under a lease that another one took over, nothing is saved', async () => {
  const lost = { ...lease, epoch: lease.epoch - 1 };
  await expect(save(direct.db, lost)).rejects.toThrow(LeaseLost);
  expect(await stored()).toEqual(BEFORE);
});
