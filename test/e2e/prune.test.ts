/** After a prune, everything that was published can still be proven, repaired, planned and read again. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { planRun } from '../../src/run/plan.ts';
import { pruneRows } from '../../src/store/prune.ts';
import { verifyProblems } from '../statements/store-oracle.ts';
import {
  accountDays,
  footprints,
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  TO,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
/** Statements that a later one replaced, whose entries have changed since: they come from a copy of the store only. */
const SUPERSEDED = /_2026-03-02\.r1\.csv$/;
const A_YEAR_LATER = '2027-03-06T01:30:00+08:00';
/** Of each row of the guide's list of what a prune deletes, its tables. */
const OPERATIONS = readFileSync('docs/operations.md', 'utf8');
const GUIDE = [
  ...OPERATIONS.slice(OPERATIONS.indexOf('## Keeping and deleting')).matchAll(
    /^\| [^|]+ \| ((?:`\w+`(?:, )?)+) \| /gm,
  ),
].map(([, tables]) => tables!.match(/\w+/g)!);

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
});
afterEach(() => stage.close());

const amend = (currency: string, change: object): void => {
  const entry = stage.sandbox.entriesOf(merchantNo).filter((one) => one.currency === currency)[3]!;
  stage.sandbox.amend(merchantNo, entry.batchNo, change);
};

/** Old records that no run of this test makes. */
async function fill(at: Date): Promise<void> {
  const { db } = stage.app.database;
  const id = randomUUID();
  const seen = { merchant_no: merchantNo, fingerprint: 'a', raw: '{}', reason: 'r', span: '{[1,2)}' };
  await db
    .insertInto('quarantined_entry')
    .values({ ...seen, first_seen_at: at, released_at: at })
    .execute();
  const post = { id, kind: 'onboarding', notify_hash: 'gone', body_ciphertext: 'v1', outcome: 'applied' };
  await db
    .insertInto('notification')
    .values({ ...post, received_at: at, processed_at: at })
    .execute();
  await db.insertInto('alert').values({ id, kind: 'test', content: '{}', raised_at: at }).execute();
  const sent = { alert_id: id, target: 'mail', state: 'sent', try_at: at, give_up_at: at };
  await db.insertInto('alert_delivery').values(sent).execute();
}

async function rowCounts(): Promise<ReadonlyMap<string, number>> {
  const { db } = stage.app.database;
  const counts = new Map<string, number>();
  for (const { name, isView } of await db.introspection.getTables()) {
    if (isView) continue;
    const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM ${sql.table(name)}`.execute(
      db,
    );
    counts.set(name, rows[0]!.count);
  }
  return counts;
}

test(
  'after a prune of all that may go, runs, plan, repair and verify tell and write what they did before',
  { tags: ['long'] },
  async () => {
    await stage.run();
    amend('USD', { busiType: 'CHANGED' });
    expect(publishedIn(await stage.run())).toEqual([`USD ${FROM} r2`]);
    amend('KWD', { vailAmount: '1.5' });
    await stage.run();
    stage.setNow('2026-03-06T13:30:00+08:00');
    await stage.run({ range: null });
    const published = await objectsOf(stage);
    const days = await accountDays(stage);

    stage.setNow(A_YEAR_LATER);
    const { db } = stage.app.database;
    await fill(new Date('2026-03-06T00:00:00Z'));
    const before = await rowCounts();
    const others = [...before.keys()].filter((table) => !GUIDE.flat().includes(table));
    const kept = await footprints(stage, others);
    const now = stage.app.now();
    const gone = await pruneRows(db, { before: new Date('2026-12-01T00:00:00Z'), now });
    expect(gone.map(({ table }) => table)).toEqual(GUIDE.map(([table]) => table));
    const after = await rowCounts();
    const fewer = [...before].filter(([table, count]) => after.get(table)! < count).map(([table]) => table);
    expect(fewer).toEqual([...new Set(GUIDE.flat())].sort());
    expect(await footprints(stage, others)).toEqual(kept);

    const request = { range: { from: FROM, to: TO }, merchants: [MERCHANT], currencies: null };
    expect(await planRun(request, stage.deps())).toMatchObject({
      daysChanged: [],
      breaksOpened: [],
      breaksHealed: [],
    });
    const rerun = await stage.run();
    expect(publishedIn(rerun)).toEqual([]);
    expect(rerun).toMatchObject({ exitCode: 3, publish: { repaired: [], unrepaired: [] } });
    expect(await objectsOf(stage)).toEqual(published);
    expect(await accountDays(stage)).toEqual(days);
    expect(await verifyProblems(stage.app.objects)).toEqual([]);

    // Of a store that is lost, everything but superseded statements is written again, as it would be without the prune.
    await rm(join(stage.app.settings.dataDir, 'statements'), { recursive: true });
    const repair = await stage.run({ command: 'publish', range: null, repairs: true });
    const lost = repair.publish!.unrepaired.map(({ key }) => key);
    expect(lost).toEqual([...published.keys()].filter((key) => SUPERSEDED.test(key)));
    expect(repair.publish).toMatchObject({ published: [] });
    expect(await objectsOf(stage)).toEqual(new Map([...published].filter(([key]) => !lost.includes(key))));
  },
);
