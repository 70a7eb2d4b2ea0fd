/** Published days obey the law of openings, whatever the platform removed and whichever stages were left out. */
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { addAmounts } from '../../src/ledger/money.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { acceptAllHeld } from '../support/held.ts';
import {
  DAYS,
  exactDecimal,
  MERCHANT,
  openStage,
  publishedIn,
  scenario,
  type Stage,
} from '../support/stage.ts';
import { currentStatements, lawlessOpenings } from '../support/law.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
afterEach(() => stage.close());

const open = async (entriesPerDay = 4) => {
  stage = await openStage({
    scenario: scenario({ entriesPerDay, merchants: [{ ...MERCHANT, currencies: ['USD'] }] }),
  });
};
const entriesOn = (day: string) =>
  stage.sandbox.entriesOf(merchantNo).filter(({ busiDate }) => busiDate.startsWith(day));
const moveBalances = (day: string, amount: string) => {
  for (const { batchNo, vailAmount, currency } of entriesOn(day)) {
    stage.sandbox.amend(merchantNo, batchNo, {
      vailAmount: addAmounts(exactDecimal(vailAmount, currency), amount),
    });
  }
};
const empty = (day: string): string[] => {
  const batchNos = entriesOn(day).map(({ batchNo }) => batchNo);
  for (const batchNo of batchNos) stage.sandbox.takeOut(merchantNo, batchNo);
  return batchNos;
};
/** Empties a day. If a complete day is empty, only a person is believed. */
const emptyForGood = async (day: string): Promise<string[]> => {
  const gone = empty(day);
  expect(await stage.run({ command: 'sync' })).toMatchObject({ exitCode: 4 });
  await acceptAllHeld(stage.app.database.db, stage.app.now());
  return gone;
};
const expectLawful = async () => {
  expect(await lawlessOpenings(stage)).toEqual([]);
  expect((await verifyPaths([fileURLToPath(stage.app.settings.statementsUrl)])).problems).toEqual([]);
};
const openings = async () =>
  (await currentStatements(stage)).map((row) => [row.day, row.opening, row.closing, row.restarted]);

describe('entries that changed and were not reconciled', () => {
  test('prevent publishing their day and all later days of the account', async () => {
    await open();
    await stage.run({ command: 'sync' });
    await stage.run({ command: 'reconcile' });
    moveBalances(DAYS[1]!, '10');
    expect(await stage.run({ command: 'sync' })).toMatchObject({ exitCode: 3 });
    const report = await stage.run({ command: 'publish' });
    expect(report.exitCode).toBe(4);
    expect(publishedIn(report)).toEqual([`USD ${DAYS[0]!} r1`]);
    expect(report.publish!.withheld.map(({ day, cause }) => [day, cause])).toEqual(
      DAYS.slice(1).map((day) => [day, 'not-reconciled']),
    );
    expect(report.notes[0]).toContain('run `daybook reconcile`');

    await stage.run({ command: 'reconcile' });
    const mended = await stage.run({ command: 'publish' });
    // The second day does not start where the first ended, which is reported for both days.
    expect(publishedIn(mended)).toEqual([
      `USD ${DAYS[0]!} r2`,
      ...DAYS.slice(1).map((day) => `USD ${day} r1`),
    ]);
    await expectLawful();
  });

  test('make a publish incomplete even if nothing else is due, as published days are out of date', async () => {
    await open();
    await stage.run();
    moveBalances(DAYS[2]!, '10');
    await stage.run({ command: 'sync' });
    const report = await stage.run({ command: 'publish', range: null });
    expect(report).toMatchObject({
      exitCode: 4,
      publish: { published: [], withheld: [{ day: DAYS[2], cause: 'not-reconciled' }] },
    });
    // Days before the change are still proven.
    const range = { from: DAYS[0]!, to: DAYS[1]! };
    expect(await stage.run({ command: 'publish', range })).toMatchObject({ exitCode: 0 });
  });

  test('prevent publishing after a run that was killed between reading and reconciling', async () => {
    await open();
    const stop = new AbortController();
    const onProgress = ({ stage: at }: { stage: string }) => {
      if (at === 'reconcile') stop.abort(new Error('died'));
    };
    await stage.run();
    moveBalances(DAYS[0]!, '10');
    await stage.run({}, { signal: stop.signal, onProgress });
    expect(await stage.run({ command: 'publish' })).toMatchObject({
      exitCode: 4,
      publish: { published: [], withheld: [{ day: DAYS[0], cause: 'not-reconciled' }] },
    });
    await stage.run();
    await expectLawful();
  });
});

test('figures that contradict the entries are not published but corrected, and do not stop other accounts', async () => {
  stage = await openStage();
  const { db } = stage.app.database;
  await stage.run({ command: 'sync' });
  await stage.run({ command: 'reconcile' });
  await db
    .updateTable('account_day')
    .set({ opening: '1', closing: '1' })
    .where('currency', '=', 'USD')
    .where('day', '=', DAYS[1]!)
    .execute();
  const report = await stage.run({ command: 'publish' });
  expect(report.exitCode).toBe(4);
  expect(publishedIn(report)).toEqual([...DAYS.map((day) => `KWD ${day} r1`), `USD ${DAYS[0]!} r1`]);
  expect(report.publish!.withheld.map(({ day, cause }) => [day, cause])).toEqual([
    [DAYS[1], 'misfit'],
    [DAYS[2], 'not-reconciled'],
    [DAYS[3], 'not-reconciled'],
  ]);
  const mended = await stage.run();
  expect(mended.exitCode).toBe(0);
  expect(publishedIn(mended)).toEqual(DAYS.slice(1).map((day) => `USD ${day} r1`));
  await expectLawful();
});

describe('a first day whose entries vanish', () => {
  test.each([1, 4])(
    'all %d of them: each day still opens with the closing of the day before',
    async (entriesPerDay) => {
      await open(entriesPerDay);
      await stage.run();
      const [, [, secondOpening]] = (await openings()) as [unknown, [string, string]];
      const gone = await emptyForGood(DAYS[0]!);
      expect(await stage.run({ command: 'sync' })).toMatchObject({ exitCode: 3 });
      await stage.run();
      await expectLawful();
      expect((await openings()).slice(0, 2)).toMatchObject([
        [DAYS[0], secondOpening, secondOpening, true],
        [DAYS[1], secondOpening, expect.anything(), true],
      ]);

      for (const batchNo of gone) stage.sandbox.putBack(merchantNo, batchNo);
      await stage.run();
      await expectLawful();
      expect(await openings()).toMatchObject([
        [DAYS[0], expect.anything(), secondOpening, true],
        [DAYS[1], secondOpening, expect.anything(), false],
        [DAYS[2], expect.anything(), expect.anything(), false],
        [DAYS[3], expect.anything(), expect.anything(), false],
      ]);
    },
  );

  test('and then the second day’s too, and then only its first entry', async () => {
    await open();
    await stage.run();
    await emptyForGood(DAYS[0]!);
    await stage.run();
    await emptyForGood(DAYS[1]!);
    await stage.run();
    await expectLawful();
    stage.sandbox.takeOut(merchantNo, entriesOn(DAYS[2]!)[0]!.batchNo);
    await stage.run();
    await expectLawful();
    const days = await openings();
    expect(days.slice(0, 2).map(([, , closing]) => closing)).toEqual([days[2]![1], days[2]![1]]);
  });
});

test('an emptied day in the middle breaks the next day at its start, and the law holds', async () => {
  await open();
  await stage.run();
  await emptyForGood(DAYS[1]!);
  expect(await stage.run()).toMatchObject({ exitCode: 3 });
  await expectLawful();
});

describe('days whose neighbour is not published', () => {
  test('a gap that was never read shows in manifest and exit code, with the days to read', async () => {
    await open();
    const of = (from: string, to = from) => ({ range: { from, to } });
    await stage.run(of(DAYS[0]!));
    const report = await stage.run(of(DAYS[2]!, DAYS[3]));
    expect(report).toMatchObject({ exitCode: 3, publish: { unlinked: [{ day: DAYS[2] }] } });
    expect(report.notes.join()).toContain(`daybook run --from ${DAYS[1]!} --to ${DAYS[1]!}`);
    await expectLawful();
    const again = { exitCode: 3, notes: report.notes };
    expect(await stage.run(of(DAYS[2]!))).toMatchObject({ ...again, publish: { published: [] } });
    expect(await stage.run({ command: 'publish', ...of(DAYS[2]!) })).toMatchObject(again);
    expect(await stage.run(of(DAYS[0]!))).toMatchObject({ exitCode: 3 });
    expect(await stage.run(of(DAYS[3]!))).toMatchObject({ exitCode: 0 });
    expect(await stage.run(of(DAYS[1]!))).toMatchObject({ exitCode: 0 });
    await expectLawful();
    expect((await openings()).map(([, , , restarted]) => restarted)).toEqual([true, false, false, false]);
  });

  test('a day published alone while the days around it changed says so until they are published', async () => {
    await open();
    await stage.run();
    for (const day of DAYS) moveBalances(day, '10');
    await stage.run({ command: 'sync' });
    await stage.run({ command: 'reconcile' });
    const range = { from: DAYS[1]!, to: DAYS[1]! };
    const alone = await stage.run({ command: 'publish', range });
    expect(alone).toMatchObject({
      exitCode: 3,
      publish: { published: [{ day: DAYS[1] }], unlinked: [{ day: DAYS[1] }, { day: DAYS[2] }] },
    });
    expect(alone.notes.join()).toContain('run `daybook publish`');
    await expectLawful();
    const follow = await stage.run({ command: 'publish', range: null });
    expect(follow).toMatchObject({ exitCode: 3, publish: { unlinked: [] } });
    expect(follow.notes).toEqual([expect.stringMatching(/^3 published days were revised: /)]);
    await expectLawful();
    expect(await stage.run({ command: 'publish', range: null })).toMatchObject({ exitCode: 0, notes: [] });
  });
});
