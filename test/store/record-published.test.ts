/** New revisions are stored in one transaction under the lease. */
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, LeaseLost, type Lease } from '../../src/store/engine/lease.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { recordPublished, recordSettled, type NewRows } from '../../src/store/statements/record-published.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import type { StatementRow } from '../../src/store/statements/statements.ts';
import { startCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { rowsLookedAt } from './rows-looked-at.ts';
import { MERCHANT, NOW } from './support.ts';

const FIRST = '2026-03-01';
const SECOND = addDays(FIRST, 1);

const recorded = (db: Kysely<DB>, held: Lease, merchantNo: string, rows: NewRows) =>
  writeTransaction(db, held, (trx) => recordPublished(trx, merchantNo, rows));

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
  await daysOf(direct.db, [FIRST, SECOND, addDays(FIRST, 2)]);
});
afterAll(async () => {
  await database.close();
  await proxy.close();
  await direct.close();
});

const daysOf = (db: Kysely<DB>, days: readonly string[], merchants = [MERCHANT]) =>
  db
    .insertInto('account_day')
    .values(
      merchants.flatMap((merchant_no) =>
        days.map((day) => ({
          ...{ merchant_no, currency: 'USD', day, opening: '0', closing: '0', verdict: 'continuous' },
          ...{ credit_total: '0', credit_count: 0, debit_total: '0', debit_count: 0 },
        })),
      ),
    )
    .execute();

const statement = (day: string, change: Partial<StatementRow> = {}): StatementRow => ({
  ...{ merchant_no: MERCHANT, currency: 'USD', day, revision: 1, sha256: 'a', byte_count: 1, row_count: 0 },
  ...{ object_key: `${day}.csv`, columns: 'entry', opening: '0', closing: '0', verdict: 'continuous' },
  ...{
    credit_total: '0',
    credit_count: 0,
    debit_total: '0',
    debit_count: 0,
    break_count: 0,
    breaks_after: 0,
  },
  ...{
    restarted: false,
    unreadable_count: 0,
    ...{ over_midnight: 0, last_balance: null },
    other_closings: '',
    published_at: NOW,
    supersedes: null,
    reason: null,
    run_id: null,
  },
  ...change,
});

const night = (days: readonly string[], change: Partial<StatementRow> = {}): NewRows => ({
  statements: days.map((day) => statement(day, change)),
  summaries: days.map((day) => ({
    ...{ merchant_no: MERCHANT, day, revision: 1, sha256: 'b', object_key: 'summary' },
    ...{ published_at: NOW, content: null },
  })),
  stored: days.map((day) => ({
    ...{ merchant_no: MERCHANT, day, object_key: `${day}.csv`, sha256: 'a', byte_count: 1, etag: null },
  })),
  manifests: days.map((day) => ({
    ...{ merchant_no: MERCHANT, day, revision: 1, epoch: 1, sha256: 'c', byte_count: 1, content: 'x' },
    ...{ object_key: `${day}/manifest.json`, place: 1, signature: null },
  })),
});

/** The rows of each table as text, so that a row written again shows. */
async function stored(): Promise<unknown> {
  const { rows } = await sql`
    SELECT (SELECT jsonb_agg(s ORDER BY day) FROM statement s) AS statements,
      (SELECT jsonb_agg(a ORDER BY day, object_key) FROM artifact a) AS artifacts,
      (SELECT jsonb_agg(jsonb_build_array(day, revision, version <> published_version) ORDER BY day) FROM account_day) AS days`.execute(
    direct.db,
  );
  return rows[0];
}

it('every file of a day gets a row of its kind, with what was read back of it', async () => {
  await recorded(direct.db, lease, MERCHANT, night([FIRST]));
  const rows = await direct.db
    .selectFrom('artifact')
    .select(['object_key', 'kind', 'revision', 'sha256', 'content', 'stored_sha256'])
    .orderBy('object_key')
    .execute();
  const file = { revision: null, content: null, stored_sha256: null };
  expect(rows).toEqual([
    { ...file, object_key: `${FIRST}.csv`, kind: 'file', sha256: 'a', stored_sha256: 'a' },
    {
      ...{ ...file, object_key: `${FIRST}/manifest.json`, kind: 'manifest' },
      ...{ revision: 1, sha256: 'c', content: 'x' },
    },
    { ...file, object_key: 'summary', kind: 'summary', revision: 1, sha256: 'b' },
  ]);
});

it.each(['before', 'after'] as const)(
  'a connection cut %s the server got it: stored once, and the next day is due as without the cut',
  async (when) => {
    const record = () => recorded(database.db, lease, MERCHANT, night([FIRST]));
    await recorded(direct.db, lease, MERCHANT, night([SECOND]));
    const next = await record();
    const wanted = await stored();
    expect(next).toEqual([{ account: { merchantNo: MERCHANT, currency: 'USD' }, day: SECOND, version: 2 }]);

    await sql`DELETE FROM statement WHERE day = ${FIRST}`.execute(direct.db);
    await sql`DELETE FROM artifact WHERE day = ${FIRST} AND kind = 'summary'`.execute(direct.db);
    proxy.cuts.push({ message: 'insert into "statement"', when });
    expect(await record()).toEqual([{ ...next[0]!, version: 3 }]);
    expect(proxy.cuts).toEqual([]);
    expect(await stored()).toEqual(wanted);
  },
);

it.each([
  ['statement', night([FIRST], { sha256: 'other' })],
  ['summary', { summaries: night([FIRST]).summaries!.map((row) => ({ ...row, sha256: 'other' })) }],
] as const)(
  'another %s of the same number is refused, and nothing of the rest is stored',
  async (_, other) => {
    await recorded(direct.db, lease, MERCHANT, night([FIRST]));
    const before = await stored();
    const both = { ...other, manifests: night([SECOND]).manifests! };
    await expect(recorded(direct.db, lease, MERCHANT, both)).rejects.toThrow();
    expect(await stored()).toEqual(before);
  },
);

it('a lease that another one took over stores nothing', async () => {
  const before = await stored();
  const lost = { ...lease, epoch: lease.epoch - 1 };
  await expect(recorded(direct.db, lost, MERCHANT, night([FIRST]))).rejects.toThrow(LeaseLost);
  expect(await stored()).toEqual(before);
});

it('waits for a take-over that is being committed, and stores nothing after it', async () => {
  const before = await stored();
  let answer: Promise<unknown>;
  await direct.db.transaction().execute(async (trx) => {
    await trx
      .updateTable('lease')
      .set({ epoch: lease.epoch + 1 })
      .execute();
    answer = recorded(database.db, lease, MERCHANT, night([FIRST])).catch((error: unknown) => error);
    const isWaiting = async () => {
      const { rows } = await sql`SELECT 1 FROM pg_locks WHERE NOT granted`.execute(trx);
      return rows.length > 0;
    };
    await expect.poll(isWaiting).toBe(true);
  });
  expect(await answer!).toBeInstanceOf(LeaseLost);
  expect(await stored()).toEqual(before);
});

it('goes by the keys, whatever the planner assumes about the tables', async () => {
  const days = Array.from({ length: 20 }, (_, nth) => addDays(FIRST, nth));
  const others = Array.from({ length: 200 }, (_, nth) => `OTHER${nth}`);
  await daysOf(direct.db, days, others);
  const record = () => recorded(direct.db, lease, MERCHANT, night([FIRST]));
  expect(await rowsLookedAt(direct.db, record)).toBeLessThan(50);
  const settled = [MERCHANT, 'OTHER1'].map((merchantNo) => ({
    account: { merchantNo, currency: 'USD' },
    ...{ day: FIRST, version: 1 },
  }));
  const settle = () =>
    direct.db.transaction().execute((trx) => recordSettled(trx, night([FIRST]).stored!, settled));
  expect(await rowsLookedAt(direct.db, settle)).toBeLessThan(50);
});
