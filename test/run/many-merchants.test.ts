/** What a run asks of its past at its beginning and at its end takes few statements, however many merchants it has. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runRanges } from '../../src/run/merchant-ranges.ts';
import { standingOfAll } from '../../src/run/outcomes.ts';
import { standingsOf } from '../../src/run/standing.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { counting, merchantOf } from '../store/many-accounts.ts';
import { DAY, NOW } from '../store/support.ts';
import { freshDatabase } from '../support/database.ts';

const MERCHANTS = 1_100;
const ALL = Array.from({ length: MERCHANTS }, (_, n) => merchantOf(n + 1));
const clock = { zone: 'UTC', now: () => NOW };
const DAY_MS = 86_400_000;

/**
 * The n-th merchant has ten certified days up to yesterday, less the last n % 4. Every fifth has an open range of days
 * before them, every seventh a changed day, every eleventh a break.
 */
async function fill({ db }: Database): Promise<void> {
  const merchant = sql`SELECT 'M' || lpad(n::text, 4, '0') AS merchant_no, n FROM generate_series(1, ${MERCHANTS}::int) n`;
  await sql`
    INSERT INTO certified_span (merchant_no, currency, spans)
    SELECT merchant_no, '', int8range(${DAY.endMs + 1 - 10 * DAY_MS}, ${DAY.endMs + 1} - n % 4 * ${DAY_MS}::bigint)::int8multirange
    FROM (${merchant}) AS m`.execute(db);
  await sql`
    INSERT INTO requested_range (merchant_no, from_day, to_day, requested_at)
    SELECT merchant_no, '2026-01-01'::date + n % 9, '2026-01-20', ${NOW}::timestamptz FROM (${merchant}) AS m WHERE n % 5 = 0`.execute(
    db,
  );
  await sql`INSERT INTO changed_day SELECT merchant_no, 'USD', '2026-03-03' FROM (${merchant}) AS m WHERE n % 7 = 0`.execute(
    db,
  );
  await sql`
    INSERT INTO continuity_break (merchant_no, currency, day, before_batch_no, expected_balance, found_balance,
      missing_net, hint, begin_ms, end_ms, found_at)
    SELECT merchant_no, 'USD', '2026-03-05', 'B', 0, 1, 1, 'unexplained', ${DAY.endMs - 4 * DAY_MS}::bigint,
      ${DAY.endMs - 4 * DAY_MS}::bigint, ${NOW}::timestamptz FROM (${merchant}) AS m WHERE n % 11 = 0`.execute(
    db,
  );
}

describe('of very many merchants', () => {
  let database: Database;
  beforeAll(async () => {
    database = await freshDatabase();
    await fill(database);
  });
  afterAll(() => database.close());

  const days = async (merchants: readonly string[], range: { from: string; to: string } | null) => {
    const { db, statements } = counting(database.db);
    const asked = {
      range,
      merchants: merchants.map((merchantNo) => ({ merchantNo, token: 'made-up' })),
    };
    const { ranges } = await runRanges(asked, { ...clock, db, resweepDays: 7 });
    return { ranges: [...ranges], statements: statements() };
  };
  const standing = async (merchants: readonly string[]) => {
    const { db, statements } = counting(database.db);
    const scope = { merchants, currencies: null, runId: 1, reads: true, zone: 'UTC', now: NOW };
    const each = [...(await standingsOf(db, scope)).values()];
    return { ...standingOfAll(each.map((one) => one.standing)), statements: statements() };
  };

  test.each([
    ['the days of a night', null, 12],
    ['days asked for', { from: '2026-03-01', to: '2026-03-09' }, 6],
  ])(
    '%s are worked out with a few statements for some hundred merchants',
    async (_, range, statementsMax) => {
      const all = await days(ALL, range);
      expect(all.statements).toBeLessThanOrEqual(statementsMax);
      for (const n of [1, 35, 55, 77, 500, 501, 770, 1_000, 1_001, 1_100]) {
        const alone = await days([merchantOf(n)], range);
        expect(all.ranges[n - 1]).toEqual(alone.ranges[0]);
      }
      expect(new Set(all.ranges.map(([, one]) => JSON.stringify(one))).size).toBeGreaterThan(3);
    },
  );

  test('what is open after a run is found with a few statements for some hundred merchants', async () => {
    const all = await standing(ALL);
    expect(all.statements).toBeLessThanOrEqual(20);
    expect(all).toMatchObject({ newBreaks: 0, knownBreaks: MERCHANTS / 11 });
    expect(all.requested).toHaveLength(MERCHANTS / 5);
    for (const n of [1, 35, 55, 77, 500, 501, 770, 1_000, 1_001, 1_100]) {
      const alone = await standing([merchantOf(n)]);
      expect(all.proven[n - 1]).toEqual(alone.proven[0]);
      expect(all.requested.filter(({ merchantNo }) => merchantNo === merchantOf(n))).toEqual(alone.requested);
    }
    expect(new Set(all.proven.map((one) => `${one.provenFrom} ${one.provenThrough}`)).size).toBeGreaterThan(
      3,
    );
  });
});
