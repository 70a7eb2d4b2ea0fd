/** The health of the entire says the same as the statuses of all merchants together, and costs few statements. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { healthOf, sumOfProofs, type HealthOptions } from '../../src/run/health.ts';
import { jobs } from '../../jobs/all.ts';
import { statusesOf, type MerchantStatus } from '../../src/run/status.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { counting, merchantOf } from '../store/many-accounts.ts';
import { fillMerchants } from '../store/many-merchants.ts';
import { NOW } from '../store/support.ts';
import { countOpenBreaks, isNewSince } from '../../src/store/breaks/breaks.ts';
import { openCounts } from '../../src/store/fleet-counts.ts';
import { freshDatabase } from '../support/database.ts';

const MERCHANTS = 1_100;
const STATEMENTS_MAX = 80;
const SCHEDULE = { nightly: '30 1 * * *', resweep: '30 13 * * *', reference: '0 3 * * 1', zone: 'UTC' };
const options = {
  settings: {
    workers: 'none',
    schedule: SCHEDULE,
    platform: {
      timeZone: 'UTC',
      agentHeaders: {},
      merchant: { merchantNo: merchantOf(1), token: 'made-up' },
    },
  },
  jobs,
  now: NOW,
} as unknown as HealthOptions;

describe.each([
  ['with trouble of every kind', true],
  ['with nothing open', false],
])('the health of very many merchants %s', (_, troubled) => {
  let database: Database;
  beforeAll(async () => {
    database = await freshDatabase();
    await fillMerchants(database.db, { merchants: MERCHANTS, troubled });
  });
  afterAll(() => database.close());

  test('is the sum of what `status` says of each, in a few statements', async () => {
    const { db, statements } = counting(database.db);
    const health = await healthOf(db, options);
    expect(statements()).toBeLessThanOrEqual(STATEMENTS_MAX);
    const all = Array.from({ length: MERCHANTS }, (_, n) => merchantOf(n + 1));
    const statuses: MerchantStatus[] = [];
    for await (const some of statusesOf(database.db, all, { zone: 'UTC', now: NOW, maxAgeMs: null }))
      statuses.push(...some);
    const sum = (figure: (one: MerchantStatus) => number) =>
      statuses.reduce((total, one) => total + figure(one), 0);
    expect(health).toMatchObject({
      ...sumOfProofs(statuses.map((one) => ({ merchants: 1, ...one }))),
      merchants: MERCHANTS,
      uncertified: sum((one) => one.uncertified),
      newBreaks: 0,
      knownBreaks: sum((one) => one.openBreaks),
      takenBreaks: 0,
      quarantined: sum((one) => one.quarantined),
      neverRead: statuses.filter(({ lastGoodRunAt }) => lastGoodRunAt === null).length,
      oldestAt: NOW,
      leases: 0,
      lastGoodNight: { at: NOW, ageMs: 0 },
      backfills: [],
    });
    expect(health.daysMissing > 0).toBe(troubled);
    expect(health.knownBreaks > 0).toBe(troubled);
    expect(health.uncertified > 0).toBe(troubled);
    expect(health.provenThrough).toBe(troubled ? '2026-03-02' : '2026-03-09');
  });
});

test('the proofs of merchants add up: what all have proven, and how many lack some or all', () => {
  const proven = { merchants: 3, provenFrom: '2026-01-01', provenThrough: '2026-03-09', daysMissing: 0 };
  const behind = { merchants: 2, provenFrom: '2026-02-01', provenThrough: '2026-03-05', daysMissing: 4 };
  const unproven = { merchants: 4, provenFrom: null, provenThrough: null, daysMissing: 1 };
  expect(sumOfProofs([proven, unproven, behind])).toEqual({
    provenFrom: '2026-02-01',
    provenThrough: '2026-03-05',
    unproven: 4,
    daysMissing: 2 * 4 + 4 * 1,
    merchantsMissing: 6,
  });
});

test('a break that a backfill finds after the last night began is new, though the backfill was begun before it', async () => {
  const { db, close } = await freshDatabase();
  const at = (hour: number): Date => new Date(NOW.getTime() + hour * 3_600_000);
  const run = async (command: string, hour: number): Promise<number> => {
    const row = { command, holder: 'h', started_at: at(hour), finished_at: at(hour + 1), exit_code: 0 };
    return (await db.insertInto('run').values(row).returning('id').executeTakeFirstOrThrow()).id;
  };
  const backfill = await run('backfill', 0);
  const night = await run('nightly', 1);
  for (const hour of [0.5, 2])
    await sql`INSERT INTO continuity_break (merchant_no, currency, day, before_batch_no, expected_balance, found_balance,
        missing_net, hint, begin_ms, end_ms, found_at, run_id)
      VALUES ('M1', 'USD', '2026-01-01', ${`B${hour}`}, 0, 1, 1, 'unexplained', 1, 2, ${at(hour)}, ${backfill})`.execute(
      db,
    );
  expect(await openCounts(db, ['M1'], night)).toMatchObject({ newBreaks: 1, knownBreaks: 1 });
  const counted = await countOpenBreaks(db, { merchants: ['M1'], currencies: null }, isNewSince(night));
  expect(counted.get('M1')).toEqual({ opened: 1, known: 1 });
  await close();
});
