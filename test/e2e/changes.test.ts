import { afterEach, describe, expect, test } from 'vitest';
import { listAmendments } from '../../src/store/amendments.ts';
import { listQuarantine } from '../../src/store/quarantine.ts';
import type { ScenarioInput } from '../../src/plugins/sandbox/scenario.ts';
import {
  DAYS,
  FROM,
  MERCHANT,
  openStage,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
afterEach(() => stage.close());

const open = async (planted: ScenarioInput['planted'] = []) => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60, planted }) });
};
const place = { merchant: merchantNo, currency: 'USD', day: '2026-03-03', nth: 20 };
const versions = () =>
  stage.app.database.db.selectFrom('ledger_entry_version').selectAll().orderBy('batch_no').execute();

describe('an entry the platform changes', () => {
  test('is read again, its earlier content is kept, its day is published again, and a person is asked', async () => {
    await open();
    await stage.run();
    const [was] = stage.sandbox.entriesOf(merchantNo);
    stage.sandbox.amend(merchantNo, was!.batchNo, { busiType: 'CORRECTED' });
    const earlier = (await storedOf(stage)).find(({ batch_no }) => batch_no === was!.batchNo)!;
    const report = await stage.run();
    const revised = `1 published day was revised: ${merchantNo} ${was!.currency} ${FROM} from r1 to r2 (1 entry amended (${was!.batchNo}))`;
    expect(report).toMatchObject({
      exitCode: 3,
      notes: ['1 entry amended by the platform: see `daybook amendments`', revised],
    });
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    expect(await versions()).toMatchObject([{ ...earlier, version: 1 }]);
    expect(publishedIn(report)).toEqual([`${was!.currency} ${FROM} r2`]);
    // It was reported, so a later run reports nothing new.
    expect(await stage.run()).toMatchObject({ exitCode: 0, publish: { published: [] } });
  });

  test('and changes back keeps every version', async () => {
    await open();
    await stage.run();
    const [entry] = stage.sandbox.entriesOf(merchantNo);
    for (const busiType of ['ONE', 'TWO', entry!.busiType]) {
      stage.sandbox.amend(merchantNo, entry!.batchNo, { busiType });
      expect(await stage.run()).toMatchObject({ exitCode: 3 });
    }
    expect((await versions()).map((row) => `${row.version} ${row.transaction_type}`)).toEqual([
      `1 ${entry!.busiType}`,
      '2 ONE',
      '3 TWO',
    ]);
    expect(await listAmendments(stage.app.database.db)).toHaveLength(3);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });
});

describe('an entry the platform no longer shows', () => {
  test('is marked and kept, and a person is asked; shown again, it counts as before', async () => {
    await open();
    await stage.run();
    const last = stage.sandbox.entriesOf(merchantNo).at(-1)!;
    stage.sandbox.takeOut(merchantNo, last.batchNo);
    const report = await stage.run();
    const revised =
      `1 published day was revised: ${merchantNo} ${last.currency} ${last.busiDate.slice(0, 10)} from r1 to r2 ` +
      `(1 entry no longer held by the platform (${last.batchNo}))`;
    expect(report).toMatchObject({
      exitCode: 3,
      notes: ['1 entry no longer shown by the platform: see `daybook amendments`', revised],
    });
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    const marked = await stage.app.database.db
      .selectFrom('ledger_entry')
      .select(['batch_no', 'version'])
      .where('vanished_at', 'is not', null)
      .execute();
    expect(marked).toEqual([{ batch_no: last.batchNo, version: 1 }]);
    expect(publishedIn(report)).toEqual([`${last.currency} ${DAYS.at(-1)!} r2`]);

    stage.sandbox.putBack(merchantNo, last.batchNo);
    const back = await stage.run();
    expect(back).toMatchObject({ exitCode: 3, sync: [{ report: { returned: 1, inserted: 0 } }] });
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    expect(publishedIn(back)).toEqual([`${last.currency} ${DAYS.at(-1)!} r3`]);
  });
});

test('an entry that appears days later is found by the re-sweep of the next night', async () => {
  await open([{ what: 'late', ...place, appears: '2026-03-06T12:00:00+08:00' }]);
  const nightly = await stage.run({ range: null });
  const known = new Set((await storedOf(stage)).map(({ batch_no }) => batch_no));
  expect(nightly).toMatchObject({ from: '2026-02-26', to: '2026-03-05', exitCode: 3 });
  stage.setNow('2026-03-07T01:30:00+08:00');
  const late = stage.sandbox.entriesOf(merchantNo).find(({ batchNo }) => !known.has(batchNo))!;
  const next = await stage.run({ range: null });
  // The ledger ends the day before: busy accounts without an entry may be a frozen state, so their last day waits.
  expect(next).toMatchObject({ from: '2026-02-27', to: '2026-03-06', exitCode: 4 });
  expect(next.notes).toContainEqual(
    `1 published day was revised: ${merchantNo} USD 2026-03-03 from r1 to r2 (1 late entry (${late.batchNo}), 1 break healed, r1 held 59 where 60 were due)`,
  );
  expect(next.reconcile).toMatchObject({ healed: [{ day: '2026-03-03' }] });
  expect(publishedIn(next)).toEqual(['USD 2026-03-03 r2']);
  expect(await storedOf(stage)).toEqual(truthOf(stage));
});

test('an unreadable entry is quarantined with its text; the rest of its page and its day are processed', async () => {
  await open([{ what: 'malformed', ...place }]);
  const wreck = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ inAmount, outAmount }) => inAmount !== null && outAmount !== null)!;
  const report = await stage.run();
  expect(report).toMatchObject({
    exitCode: 3,
    notes: [
      expect.stringContaining(
        `: Quarantined entry ${wreck.batchNo} explains it: the platform sends exactly that amount`,
      ),
      '1 new break: see `daybook breaks`',
      '1 unreadable entry in quarantine: see `daybook quarantine`',
    ],
    sync: [{ report: { uncertified: [] } }],
  });
  expect(publishedIn(report)).toHaveLength(2 * DAYS.length);
  const [row, ...more] = await listQuarantine(stage.app.database.db);
  expect(more).toEqual([]);
  expect(row).toMatchObject({ batch_no: wreck.batchNo });
  expect(row!.raw).toContain(`"inAmount":${wreck.inAmount!},"outAmount":${wreck.outAmount!}`);
  expect(await storedOf(stage)).toEqual(truthOf(stage).filter(({ batch_no }) => batch_no !== wreck.batchNo));
  // The same unreadable entry is not new, but still needs a person.
  expect(await stage.run()).toMatchObject({ exitCode: 3, sync: [{ report: { quarantined: 0 } }] });

  const { bookedMs, vailAmount } = wreck;
  const before = stage.sandbox
    .entriesOf(merchantNo)
    .findLast((entry) => entry.currency === 'USD' && entry.bookedMs < bookedMs)!;
  const isCredit = Number(vailAmount) > Number(before.vailAmount);
  stage.sandbox.amend(merchantNo, wreck.batchNo, isCredit ? { outAmount: null } : { inAmount: null });
  const mended = await stage.run();
  expect(mended).toMatchObject({
    exitCode: 3,
    notes: [
      `1 published day was revised: ${merchantNo} USD 2026-03-03 from r1 to r2 (1 late entry (${wreck.batchNo}), 1 break healed, r1 held 59 where 60 were due)`,
    ],
  });
  expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
  expect(publishedIn(mended)).toEqual(['USD 2026-03-03 r2']);
  expect(await listQuarantine(stage.app.database.db)).toEqual([]);
  expect(await storedOf(stage)).toEqual(truthOf(stage));
});

describe('a day that has not ended', () => {
  test('is read up to the settle delay and not published, which is no failure', async () => {
    await open();
    stage.setNow('2026-03-05T12:00:00+08:00');
    const range = { from: FROM, to: '2026-03-05' };
    const noon = await stage.run({ range });
    expect(noon.exitCode).toBe(0);
    expect(noon.publish!.withheld.map(({ day, cause }) => `${day} ${cause}`)).toEqual(
      Array(2).fill('2026-03-05 not-over'),
    );
    const settledMs = Date.parse('2026-03-05T11:55:00+08:00');
    expect(await storedOf(stage)).toEqual(truthOf(stage).filter(({ booked_ms }) => booked_ms < settledMs));

    stage.setNow('2026-03-06T01:30:00+08:00');
    const night = await stage.run({ range });
    expect(night).toMatchObject({ exitCode: 0, notes: [] });
    expect(publishedIn(night)).toEqual(['KWD 2026-03-05 r1', 'USD 2026-03-05 r1']);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });

  test('is not published just after midnight either: within the settle delay its end is not read', async () => {
    await open();
    stage.setNow('2026-03-06T00:02:00+08:00');
    const report = await stage.run();
    expect(report.exitCode).toBe(4);
    expect(publishedIn(report)).toHaveLength(2 * (DAYS.length - 1));
    expect(report.publish!.withheld.map(({ cause }) => cause)).toEqual(['uncertified', 'uncertified']);
  });
});
