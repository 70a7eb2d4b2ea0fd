/** A single-statement write whose answer was lost is made again, and the lost attempt can do nothing any more. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  acquireLease,
  heldLeases,
  LeaseLost,
  voidAttempts,
  type Lease,
} from '../../src/store/engine/lease.ts';
import { rehearse } from '../../src/store/engine/rehearsal.ts';
import { writeStatement } from '../../src/store/engine/write-transaction.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../support/database.ts';

let direct: ServerDatabase;
let lease: Lease;
beforeAll(async () => {
  direct = await freshDatabase();
});
beforeEach(async () => {
  await emptyTables(direct.db);
  lease = await acquireLease(direct.db, { name: 'merchant/M', holder: 'test:1:-', ttlMs: 60_000 });
});
afterAll(() => direct.close());

const note = (day: number) =>
  sql`INSERT INTO day_entries SELECT 'M', 'USD', ${`2026-03-0${day}`}::date FROM `;
const noted = async (): Promise<string[]> =>
  (await direct.db.selectFrom('day_entries').select('day').orderBy('day').execute()).map(({ day }) => day);
const lost = (): Error => Object.assign(new Error('cut'), { code: '08006' });

it('a lost attempt that arrives after the next one writes nothing', async () => {
  let ticks = 0n;
  const late: (() => Promise<unknown>)[] = [];
  await writeStatement(
    direct.db,
    lease,
    async (held) => {
      const statement = (day: number) => sql`${note(day)}${held} AS held RETURNING 1`.execute(direct.db);
      if (late.length === 0) {
        late.push(() => statement(1));
        throw lost();
      }
      return (await statement(2)).rows[0] ?? null;
    },
    () => (ticks += 1n),
  );
  expect(await noted()).toEqual(['2026-03-02']);
  await late[0]!();
  expect(await noted()).toEqual(['2026-03-02']);
});

it('an attempt that is still being made is waited for', async () => {
  await direct.db.transaction().execute(async (trx) => {
    await sql`${note(1)}${heldLeases([{ lease, number: 1n }])} AS held`.execute(trx);
    const voided = voidAttempts(direct.db, lease, 1n).then(() => 'voided');
    const waiting = sql<{ n: number }>`
      SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%void_through%'
        AND datname = current_database()`;
    await expect.poll(async () => (await waiting.execute(direct.db)).rows[0]!.n).toBe(1);
    void voided;
  });
  expect(await noted()).toEqual(['2026-03-01']);
});

it('another write of the run that was refused with it is made again; without the lease it is not', async () => {
  let ticks = 0n;
  let tries = 0;
  const write = () =>
    writeStatement(
      direct.db,
      lease,
      async (held) => {
        tries += 1;
        if (tries === 1) await voidAttempts(direct.db, lease, 5n);
        return (await sql`${note(3)}${held} AS held RETURNING 1`.execute(direct.db)).rows[0] ?? null;
      },
      () => (ticks += 5n),
    );
  await write();
  expect([tries, await noted()]).toEqual([2, ['2026-03-03']]);
  await sql`UPDATE lease SET epoch = epoch + 1`.execute(direct.db);
  await expect(write()).rejects.toThrow(LeaseLost);
});

it('who takes the lease over begins to count anew', async () => {
  await voidAttempts(direct.db, lease, 1_000_000n);
  await sql`UPDATE lease SET expires_at = NULL`.execute(direct.db);
  const next = await acquireLease(direct.db, { name: lease.name, holder: 'test:2:-', ttlMs: 60_000 });
  await sql`${note(4)}${heldLeases([{ lease: next, number: 1n }])} AS held`.execute(direct.db);
  expect(await noted()).toEqual(['2026-03-04']);
});

it('in a rehearsal, a write that is refused spoils nothing that comes after it', async () => {
  await rehearse(direct.db, async (rehearsal) => {
    const write = (day: number) =>
      writeStatement(rehearsal, lease, async (held) => {
        const { rows } = await sql`${note(day)}${held} AS held RETURNING 1`.execute(rehearsal);
        return rows[0] ?? null;
      });
    await write(1);
    await expect(write(0)).rejects.toMatchObject({ code: '22008' });
    await write(2);
    const rows = await rehearsal.selectFrom('day_entries').select('day').orderBy('day').execute();
    expect(rows.map(({ day }) => day)).toEqual(['2026-03-01', '2026-03-02']);
  });
  expect(await noted()).toEqual([]);
});
