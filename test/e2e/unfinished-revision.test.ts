/** A run that ends between the file of a revision and its row leaves no file that nothing names. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ObjectStoreUnreachable, type ObjectStore } from '../../src/objects/object-store.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from '../statements/store-oracle.ts';
import { DAYS, MERCHANT, openStage, publishedIn, scenario, type Stage } from '../support/stage.ts';

const { merchantNo } = MERCHANT;
const DAY = DAYS[1]!;
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
  expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
});
afterEach(() => stage.close());

/** A store that is away once the first file whose key matches is written. */
function awayAfter(key: RegExp): ObjectStore {
  const { objects } = stage.app;
  let isAway = false;
  return {
    ...objects,
    put: async (name, content, options) => {
      if (isAway) throw new ObjectStoreUnreachable('away');
      const stored = await objects.put(name, content, options);
      isAway ||= key.test(name);
      if (isAway) throw new ObjectStoreUnreachable('away');
      return stored;
    },
  };
}

const entry = () =>
  stage.sandbox
    .entriesOf(merchantNo)
    .find(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(DAY))!;

test.each([
  ['its statement', /_USD_.*\.r2\.csv$/],
  ['its summary', /summary\.r2\.csv$/],
])(
  'a revision whose cause is gone before it was finished, after %s was written, takes its number',
  async (_, key) => {
    const { batchNo, busiType } = entry();
    stage.sandbox.amend(merchantNo, batchNo, { busiType: 'FEE' });
    expect(await stage.run({}, { objects: awayAfter(key) })).toMatchObject({ exitCode: 4 });
    stage.sandbox.amend(merchantNo, batchNo, { busiType });

    const report = await stage.run();
    expect(publishedIn(report)).toEqual([`USD ${DAY} r2`]);
    expect(await verifyProblems(stage.app.objects)).toEqual([]);
    expect(await filesOfStore(stage.app.objects)).toEqual(await filesOfDatabase(stage.app.database.db));
    const rows = await stage.app.database.db
      .selectFrom('statement')
      .select(['sha256', 'reason'])
      .where('currency', '=', 'USD')
      .where('day', '=', DAY)
      .orderBy('revision')
      .execute();
    expect(rows.map(({ sha256 }) => sha256)).toEqual([rows[0]!.sha256, rows[0]!.sha256]);
    expect(rows[1]!.reason).toBe(
      'an interrupted run had begun this revision; its content is that of revision 1',
    );
    expect(await stage.run()).toMatchObject({ exitCode: 0, publish: { published: [] } });
  },
);
