/** What was published of many merchants is recorded as done in one transaction, as far as their leases are held. */
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
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

test('with the ends of the merchants', async () => {
  const report = await stage.run({ merchants: BOTH });
  expect(report).toMatchObject({ exitCode: 0 });
  expect(report.publish?.published).toHaveLength(8);
  for (const { merchantNo } of BOTH) expect(await dueOf(merchantNo)).toBe(0);
  const { rows } =
    await sql`SELECT xmin::text FROM account_day UNION SELECT xmin::text FROM task WHERE kind = 'run'`.execute(
      stage.app.database.db,
    );
  expect(rows).toHaveLength(1);
});

test('but not for a merchant whose lease is lost; the next run finds its days unchanged', async () => {
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

test('64 of them at a time, and those that are left at the end', { tags: ['long'] }, async () => {
  const merchants = Array.from({ length: 70 }, (_, at) => ({
    merchantNo: `MANY-${String(at).padStart(3, '0')}`,
    token: `token-${at}`,
  }));
  const many = await openStage({
    scenario: scenario({
      entriesPerDay: 2,
      merchants: merchants.map((merchant) => ({ ...merchant, currencies: ['USD'] })),
    }),
  });
  onTestFinished(many.close);
  expect(await many.run({ merchants })).toMatchObject({ exitCode: 0 });
  const { rows } = await sql<{ ended: number }>`
    SELECT count(*) AS ended FROM task WHERE kind = 'run' GROUP BY xmin::text ORDER BY 1`.execute(
    many.app.database.db,
  );
  expect(rows).toEqual([{ ended: 6 }, { ended: 64 }]);
});
