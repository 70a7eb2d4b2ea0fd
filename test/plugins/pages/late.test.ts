/** A day that was known to have no statement gets its first one: what changed, and whose download lacks it. */
import { afterEach, expect, test } from 'vitest';
import { underLeasesAsNeeded } from '../../../src/run/leases.ts';
import { adoptStore } from '../../../src/months/adopt.ts';
import { closeMonth } from '../../../src/months/close.ts';
import { monthOf } from '../../../src/months/month.ts';
import { cellsOf } from '../../support/cells.ts';
import { showPages, textOf, type ShownPages } from './support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const SCENARIO = scenario({
  ...{ from: '2026-02-24', to: '2026-03-02', entriesPerDay: 8, now: '2026-03-03T01:30:00+08:00' },
  merchants: [{ ...MERCHANT, currencies: ['USD'] }],
});
const RANGE = { from: '2026-02-01', to: '2026-03-02' };
const RETURNED = ['2026-02-24', '2026-02-25', '2026-02-26'];

let stage: Stage;
let pages: ShownPages;
afterEach(async () => {
  await pages.close();
  await stage.close();
});

/** The first three days are read without entries, which come afterwards; `meanwhile` happens in between. */
async function comeLate(meanwhile: () => Promise<void>): Promise<readonly string[]> {
  stage = await openStage({ scenario: SCENARIO });
  pages = await showPages(stage);
  const early = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ busiDate }) => RETURNED.includes(busiDate.slice(0, 10)))
    .map(({ batchNo }) => batchNo);
  for (const batchNo of early) stage.sandbox.takeOut(merchantNo, batchNo);
  await stage.run({ range: RANGE });
  await meanwhile();
  for (const batchNo of early) stage.sandbox.putBack(merchantNo, batchNo);
  stage.setNow('2026-03-04T01:30:00+08:00');
  return (await stage.run({ range: RANGE })).notes;
}

const closeFebruary = async (): Promise<void> => {
  const { database, objects, now } = stage.app;
  const auditEvent = { by: 'Ada', command: 'close', subject: `${merchantNo} 2026-02` };
  const options = { db: database.db, objects, now, signingKey: null, zone: 'Asia/Shanghai' };
  const closed = await closeMonth(
    { merchantNo, month: monthOf('2026-02')!, despite: null, auditEvent },
    options,
  );
  expect(closed).toMatchObject({ kind: 'closed', close: { openDays: 0 } });
};
const downloadMonth = async (): Promise<void> => {
  await (await pages.get(`/download/${merchantNo}/2026-02.zip`)).arrayBuffer();
};
const changes = async (): Promise<string> => textOf(await pages.html('/changes?since=2026-03-04'));
const marked = async (): Promise<string[]> =>
  cellsOf(await pages.html('/?month=2026-02')).filter((cell) => cell.includes('revised since'));
const late = async ({ app }: Stage) => {
  const rows = await app.database.db
    .selectFrom('event')
    .select(['data', 'at'])
    .where('kind', '=', 'revision')
    .where('subject', 'like', '% r1')
    .orderBy('subject')
    .execute();
  return rows.map(({ data, at }) => ({ ...(data as { day: string; afterClose: boolean }), at }));
};

test('days that were proven empty are listed with the reason that the run gives', async () => {
  const notes = await comeLate(downloadMonth);
  const reported = await changes();
  for (const day of RETURNED) {
    const reason = 'the platform stated 0 entries when the day was read before, and states 8 now';
    expect(notes.join()).toContain(`USD ${day} to r1, as ${reason}`);
    expect(reported).toContain(
      `USD ${Number(day.slice(8))} Feb 2026 none → r1 ${reason} revised since you downloaded it`,
    );
  }
  expect(reported).toContain('USD 27 Feb 2026 r1 → r2 opening taken up from the day before');
  // The file of the 27th is the same: only where its opening comes from is new.
  expect(await marked()).toEqual(RETURNED.map((day) => `USD ${day} proven, revised since you downloaded it`));
  await downloadMonth();
  expect(await marked()).toEqual([]);
});

test('who downloaded the month before such a day was over has nothing else than was to be expected', async () => {
  await comeLate(async () => {
    await stage.app.database.db
      .insertInto('audit_event')
      .values({
        ...{ at: new Date('2026-02-25T23:59:00+08:00'), by_whom: 'local', command: 'statements get' },
        ...{ subject: '2026-02', note: null },
      })
      .execute();
  });
  expect(await marked()).toEqual(['USD 2026-02-24 proven, revised since you downloaded it']);
});

test('days that their closed month did not have are listed; so they are after an adoption', async () => {
  const notes = await comeLate(closeFebruary);
  expect(notes.join()).toContain(
    'USD 2026-02-24 to r1 with 8 entries, as it was not published when its month was closed',
  );
  const reported = await changes();
  for (const day of ['24', '25', '26'])
    expect(reported).toContain(
      `USD ${day} Feb 2026 none → r1 it was not published when its month was closed`,
    );
  const noted = await late(stage);
  expect(noted.map(({ day, afterClose }) => [day, afterClose])).toEqual(RETURNED.map((day) => [day, true]));
  const second = await openStage({ scenario: SCENARIO, objects: stage.app.objects });
  try {
    const { db: own, holder, signal, objects, now } = second.deps();
    await underLeasesAsNeeded({ db: own, holder, signal }, (leaseOf, held) =>
      adoptStore({ db: own, leaseOf, objects, now, signal: held, signingKey: null }),
    );
    expect(await late(second)).toEqual(noted);
  } finally {
    await second.close();
  }
});
