/** What a run asks of its past at its beginning and at its end takes few statements, however many merchants it has. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runRanges } from '../../src/run/merchant-ranges.ts';
import { sumOpenItems } from '../../src/run/report.ts';
import { statusesOf, type MerchantStatus } from '../../src/run/status.ts';
import { openItemsOf } from '../../src/run/merchant-ends.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { counting, merchantOf } from '../store/many-accounts.ts';
import { fillMerchants } from '../store/many-merchants.ts';
import { NOW } from '../store/support.ts';
import { freshDatabase } from '../support/database.ts';

const MERCHANTS = 1_100;
/** A dozen lists, silent accounts, closed months, and one question more for each account whose days have a gap. */
const STATEMENTS_A_PART_MAX = 83;
const ALL = Array.from({ length: MERCHANTS }, (_, n) => merchantOf(n + 1));
const clock = { zone: 'UTC', now: () => NOW };

describe('of very many merchants', () => {
  let database: Database;
  beforeAll(async () => {
    database = await freshDatabase();
    await fillMerchants(database.db, { merchants: MERCHANTS, troubled: true });
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
    const scope = { merchants, currencies: null, runId: 1, reads: true, chains: true, zone: 'UTC', now: NOW };
    const each = [...(await openItemsOf(db, scope)).values()];
    return { ...sumOpenItems(each.map((one) => one.standing)), statements: statements() };
  };

  test.each([
    // One of them asks how late entries came.
    ['the days of a night', null, 24],
    ['days asked for', { from: '2026-03-01', to: '2026-03-09' }, 12],
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
    expect(all.statements).toBeLessThanOrEqual(215);
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

  test('the status of all is found with a few statements for some hundred merchants, part after part', async () => {
    const { db, statements } = counting(database.db);
    const statuses = async (merchants: readonly string[], on = database.db) => {
      const parts: MerchantStatus[][] = [];
      const asked = { zone: 'UTC', now: NOW, maxAgeMs: 60_000 };
      for await (const some of statusesOf(on, merchants, asked)) parts.push(some);
      return parts;
    };
    const parts = await statuses(ALL, db);
    expect(parts.map(({ length }) => length)).toEqual([500, 500, 100]);
    expect(statements()).toBeLessThanOrEqual(3 * STATEMENTS_A_PART_MAX);
    const all = parts.flat();
    for (const n of [1, 9, 11, 13, 17, 19, 20, 23, 35, 46, 500, 501, 1_001, 1_100])
      expect(all[n - 1]).toEqual((await statuses([merchantOf(n)])).flat()[0]);
    const having = (is: (status: MerchantStatus) => boolean) => all.filter(is).length;
    expect({
      neverRead: having(({ lastGoodRunAt }) => lastGoodRunAt === null),
      tooOld: having(({ tooOld }) => tooOld),
      ranges: having(({ requested }) => requested.length === 1),
      breaks: having(({ openBreaks }) => openBreaks === 1),
      quarantined: having(({ quarantined }) => quarantined === 1),
      failed: having(({ missing }) => missing.some(({ why }) => why === 'one page of two came')),
      noticed: having(({ notices }) => notices.length === 1),
      compared: having(({ olderDays }) => olderDays !== null),
    }).toEqual({
      neverRead: 122,
      tooOld: 122,
      ranges: 220,
      breaks: 100,
      quarantined: 84,
      failed: 64,
      noticed: 57 * 2,
      compared: 47,
    });
  });
});

test('where the database fails, its error ends the statuses, also if more were asked for ahead', async () => {
  const { db, close } = await freshDatabase();
  await close();
  const ahead: unknown[] = [];
  const note = (error: unknown) => void ahead.push(error);
  process.prependListener('unhandledRejection', note);
  await expect(statusesOf(db, ALL, { zone: 'UTC', now: NOW, maxAgeMs: null }).next()).rejects.toThrow();
  // Errors that nobody took are told after a turn.
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(ahead).toEqual([]);
});
