/** What was published is recorded as done only under the lease. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { merchantLease } from '../../src/store/engine/lease.ts';
import { MERCHANT, openStage, OTHER, scenario, type Stage } from '../support/stage.ts';

const BOTH = [MERCHANT, OTHER];
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({
    scenario: scenario({ merchants: BOTH.map((merchant) => ({ ...merchant, currencies: ['USD'] })) }),
  });
});
afterEach(() => stage.close());

const dueOf = async (merchantNo: string): Promise<number> => {
  const rows = await stage.app.database.db
    .selectFrom('account_day')
    .select('day')
    .where('merchant_no', '=', merchantNo)
    .where(sql<boolean>`version <> published_version`)
    .execute();
  return rows.length;
};

test('nothing counts as published of a merchant whose lease is lost; the next run finds its days unchanged', async () => {
  const { objects, database } = stage.app;
  let left = 4;
  const takenOver: typeof objects.put = async (key, ...rest) => {
    const stored = await objects.put(key, ...rest);
    if (key.includes(OTHER.merchantNo) && key.endsWith('manifest.json') && (left -= 1) === 0)
      await sql`UPDATE lease SET epoch = epoch + 1, expires_at = NULL WHERE name = ${merchantLease(OTHER.merchantNo)}`.execute(
        database.db,
      );
    return stored;
  };
  await stage.run({ merchants: BOTH }, { objects: { ...objects, put: takenOver } });
  expect(left).toBe(0);
  expect(await dueOf(MERCHANT.merchantNo)).toBe(0);
  expect(await dueOf(OTHER.merchantNo)).toBe(4);

  const again = await stage.run({ merchants: BOTH });
  expect(again).toMatchObject({ exitCode: 0, publish: { published: [], unchanged: 4 } });
  expect(await dueOf(OTHER.merchantNo)).toBe(0);
});
