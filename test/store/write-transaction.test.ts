import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database, Db } from '../../src/store/engine/database.ts';
import { StoreUnreachable } from '../../src/store/engine/errors.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { rehearse } from '../../src/store/engine/rehearsal.ts';
import { startRun } from '../../src/store/runs.ts';
import { storeWindow } from '../support/store-window.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { freshDatabase } from '../support/database.ts';
import { startCuttingProxy, type Cut, type CuttingProxy } from '../support/cutting-proxy.ts';
import { certified, DAY, entries, entry, MERCHANT, NOW } from './support.ts';

let direct: Database;
let proxy: CuttingProxy;
let database: Database;
let lease: Lease;
let runId: number;

beforeAll(async () => {
  const fresh = await freshDatabase();
  direct = fresh;
  proxy = await startCuttingProxy(fresh.url);
  database = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
  lease = await acquireLease(direct.db, { name: 'ledger', holder: 'test:1:-', ttlMs: 60_000 });
  runId = await startRun(direct.db, {
    command: 'sync',
    holder: 'test:1:-',
    fromDay: null,
    toDay: null,
    now: NOW,
  });
});
afterAll(async () => {
  await database.close();
  await proxy.close();
  await direct.close();
});
afterEach(async () => {
  proxy.cuts.length = 0;
  await direct.db.deleteFrom('ledger_entry').execute();
  await direct.db.deleteFrom('ledger_entry_version').execute();
});

const cuts: Cut[] = [
  { message: 'begin', when: 'before' },
  { message: 'begin', when: 'after' },
  { message: 'FOR SHARE', when: 'before' },
  { message: 'INSERT INTO ledger_entry', when: 'before' },
  { message: 'INSERT INTO ledger_entry', when: 'after' },
  { message: 'INSERT INTO certificate', when: 'after' },
  { message: 'commit', when: 'before' },
  { message: 'commit', when: 'after' },
];

it.each(cuts)(
  'a connection cut $when $message loses nothing, writes nothing twice and reports exactly',
  async (cut) => {
    const keep = (list: ReturnType<typeof entries>) =>
      storeWindow(database.db, lease, {
        merchantNo: MERCHANT,
        window: DAY,
        reading: certified(list),
        runId,
        now: NOW,
      });
    await keep(entries(1, 2));
    proxy.cuts.push(cut);
    expect(await keep([entry(1, { balance: '7.00' }), entry(3), entry(4)])).toEqual({
      inserted: 2,
      amended: 1,
      vanished: 0,
      returned: 0,
      quarantined: 0,
      unchanged: 0,
      absent: 1,
    });
    expect(proxy.cuts).toEqual([]);
    expect(await direct.db.selectFrom('ledger_entry_version').select('version').execute()).toEqual([
      { version: 1 },
    ]);
  },
);

it('a connection cut again and again ends in StoreUnreachable, and what was committed stays', async () => {
  proxy.cuts.push(...Array.from({ length: 3 }, (): Cut => ({ message: 'FOR SHARE', when: 'before' })));
  const attempt = writeTransaction(database.db, lease, () => Promise.resolve('written'), [1, 1]);
  await expect(attempt).rejects.toThrow(StoreUnreachable);
  expect(await writeTransaction(database.db, lease, () => Promise.resolve('written'), [1, 1])).toBe(
    'written',
  );
});

it('a statement that the database refuses is not retried', async () => {
  let tries = 0;
  const attempt = writeTransaction(database.db, lease, (trx) => {
    tries += 1;
    return trx.insertInto('certificate').values({ merchant_no: 'M', day: '2026-02-30' }).execute();
  });
  await expect(attempt).rejects.toThrow(/date/);
  expect(tries).toBe(1);
});

it('in a rehearsal, a write that is refused spoils nothing that comes after it', async () => {
  const noted = (db: Db) => db.selectFrom('lateness_count').select('month').orderBy('month').execute();
  await rehearse(direct.db, async (rehearsal) => {
    const write = (month: string) =>
      writeTransaction(rehearsal, lease, (trx) =>
        trx
          .insertInto('lateness_count')
          .values({ merchant_no: MERCHANT, month, days_min: 1, days_max: 1, entries: 1 })
          .execute(),
      );
    await write('2026-03-01');
    await expect(write('2026-02-30')).rejects.toMatchObject({ code: '22008' });
    await write('2026-04-01');
    expect(await noted(rehearsal)).toEqual([{ month: '2026-03-01' }, { month: '2026-04-01' }]);
  });
  expect(await noted(direct.db)).toEqual([]);
});
