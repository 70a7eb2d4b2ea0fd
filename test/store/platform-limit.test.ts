/** The shared limit on a real server: parts of the rate never overlap, and holds reach every process. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRequestQueue } from '../../src/platform/request-queue.ts';
import { systemTransportDeps } from '../../src/platform/transport.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { openPlatformLimit } from '../../src/store/platform-limit.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../support/database.ts';

const PROCESSES = 4;
let database: ServerDatabase;
let processes: Database[];
beforeAll(async () => {
  database = await freshDatabase();
  processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => openDatabase({ databaseUrl: database.url, dataDir: '' })),
  );
});
afterAll(async () => {
  for (const one of [...processes, database]) await one.close();
});
beforeEach(() => emptyTables(database.db));

const limits = () => processes.map(({ db }) => openPlatformLimit(db));
/** In how many ms the rate is free, by the database's clock. */
const freeInMs = async (): Promise<number> => {
  const { rows } = await sql<{ ms: number }>`
    SELECT (extract(epoch FROM held_until - clock_timestamp()) * 1000)::float8 AS ms FROM platform_hold WHERE owner = 'the rate'`.execute(
    database.db,
  );
  return rows[0]!.ms;
};

describe('slices', () => {
  test('of processes that ask together lie one behind the other', async () => {
    const SPACING_MS = 1_000;
    const beganMs = performance.now();
    const slices = await Promise.all(
      limits().flatMap(({ take }) => [1, 2, 3, 4, 5].map((calls) => take(calls, SPACING_MS))),
    );
    const tookMs = performance.now() - beganMs;
    const total = PROCESSES * (1 + 2 + 3 + 4 + 5);
    // Each begins after others were taken completely, so no two begin within a second of each other.
    const begins = slices.map(({ afterMs }) => afterMs).toSorted((one, other) => one - other);
    for (const [index, beginMs] of begins.slice(1).entries())
      expect(beginMs - begins[index]!).toBeGreaterThan(SPACING_MS - tookMs);
    const freeMs = await freeInMs();
    expect(freeMs).toBeLessThanOrEqual(total * SPACING_MS);
    expect(freeMs).toBeGreaterThan(total * SPACING_MS - (performance.now() - beganMs) - 1);
  });

  test('of a rate that nobody used begin at once', async () => {
    const [limit] = limits();
    await sql`INSERT INTO platform_hold VALUES ('the rate', clock_timestamp() - interval '1 hour', '-infinity')`.execute(
      database.db,
    );
    expect((await limit!.take(3, 1_000)).afterMs).toBe(0);
    expect((await limit!.take(3, 1_000)).afterMs).toBeGreaterThan(2_000);
  });

  test('begin at once if the database’s clock was put back by hours', async () => {
    await sql`INSERT INTO platform_hold VALUES ('the rate', clock_timestamp() + interval '5 hours', '-infinity')`.execute(
      database.db,
    );
    expect((await limits()[0]!.take(3, 1_000)).afterMs).toBe(0);
    expect(await freeInMs()).toBeLessThanOrEqual(3_000);
  });
});

describe('holds', () => {
  const owners = (holds: readonly { readonly owner: string }[]): string[] => holds.map(({ owner }) => owner);

  test('reach every process, with a slice or without', async () => {
    const [reported, later, other] = limits();
    expect(await later!.holds()).toEqual([]);
    await reported!.sendHolds([
      { owner: 'merchant M1', forMs: 60_000 },
      { owner: 'the agent', forMs: 5_000 },
    ]);
    for (const holds of [await later!.holds(), (await other!.take(1, 10)).holds]) {
      expect(owners(holds).toSorted()).toEqual(['merchant M1', 'the agent']);
      const { forMs } = holds.find(({ owner }) => owner === 'merchant M1')!;
      expect(forMs).toBeLessThanOrEqual(60_000);
      expect(forMs).toBeGreaterThan(30_000);
    }
  });

  test('are not shortened by a later one, and are over when they are over', async () => {
    const [limit, other] = limits();
    await limit!.sendHolds([{ owner: 'merchant M1', forMs: 60_000 }]);
    await other!.sendHolds([
      { owner: 'merchant M2', forMs: 0 },
      { owner: 'merchant M1', forMs: 1_000 },
    ]);
    const holds = await other!.holds();
    expect(owners(holds)).toEqual(['merchant M1']);
    expect(holds[0]!.forMs).toBeGreaterThan(30_000);
  });

  test('told long before the last look are not told again', async () => {
    const [limit, other] = limits();
    await limit!.sendHolds([{ owner: 'merchant M1', forMs: 600_000 }]);
    expect(owners(await other!.holds())).toEqual(['merchant M1']);
    await sql`UPDATE platform_hold SET recorded_at = recorded_at - interval '1 minute'`.execute(database.db);
    expect(await other!.holds()).toEqual([]);
    expect(owners(await limits()[2]!.holds())).toEqual(['merchant M1']);
  });

  test('that a clock far ahead has written hold nobody, and give way to a new one', async () => {
    const [limit] = limits();
    await limit!.sendHolds([{ owner: 'merchant M1', forMs: 5 * 3_600_000 }]);
    expect(await limit!.holds()).toEqual([]);
    await limit!.sendHolds([{ owner: 'merchant M1', forMs: 60_000 }]);
    expect((await limit!.holds())[0]!.forMs).toBeLessThanOrEqual(60_000);
  });
});

test(
  'four lines on one server keep the rate together, and each gets its part',
  { tags: ['long'] },
  async () => {
    const RATE_PER_S = 200;
    const CALLS_EACH = 75;
    const begun: { readonly line: number; readonly atMs: number }[] = [];
    await Promise.all(
      limits().map(async (limit, index) => {
        const queue = createRequestQueue(8, RATE_PER_S, systemTransportDeps, limit);
        await Promise.all(
          Array.from({ length: CALLS_EACH }, async (_, call) => {
            const leave = await queue.enter({ owner: `M${call % 8}`, rank: 0 });
            begun.push({ line: index, atMs: performance.now() });
            leave(true);
          }),
        );
      }),
    );
    expect(begun).toHaveLength(PROCESSES * CALLS_EACH);
    const spanMs = begun.at(-1)!.atMs - begun[0]!.atMs;
    expect(begun.length).toBeLessThanOrEqual(1 + (RATE_PER_S * (spanMs + 500)) / 1_000);
    const half = begun.slice(0, begun.length / 2);
    for (let line = 0; line < PROCESSES; line += 1) {
      expect(half.filter((call) => call.line === line).length).toBeGreaterThan(CALLS_EACH / 4);
    }
  },
);
