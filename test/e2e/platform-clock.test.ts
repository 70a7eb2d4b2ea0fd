/**
 * A platform whose clock is behind ours. When a day has settled by our clock, the platform may not have its last
 * entries yet.
 */
import { afterEach, expect, test } from 'vitest';
import { planRun } from '../../src/run/plan.ts';
import {
  MERCHANT,
  openStage,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const DAY = '2026-03-05';
const range = { from: DAY, to: DAY };
let stage: Stage;
afterEach(() => stage.close());

const open = async (clockOffsetS: number): Promise<void> => {
  stage = await openStage({
    scenario: scenario({
      from: DAY,
      entriesPerDay: 1_440,
      now: '2026-03-06T00:05:00+08:00',
      merchants: [{ ...MERCHANT, currencies: ['USD'] }],
      hostility: { clockOffsetS },
    }),
  });
};

test('with the platform’s clock ten minutes behind, a day is not published before it has settled by that clock', async () => {
  await open(-600);
  const early = await stage.run({ range });
  expect(early.exitCode).toBe(4);
  expect(publishedIn(early)).toEqual([]);
  expect(early.notes[0]).toMatch(
    /^SBX-M-1: the platform's clock is 10 min behind this machine's: 2026-03-05 23:49:5\d to 2026-03-06 00:00:00 \(Asia\/Shanghai\) is not settled there and was not read$/,
  );
  expect(early.reasons[0]!.todo).toContain('set the clock that is wrong');
  const stored = await storedOf(stage);
  expect(stored.length).toBeGreaterThan(1_400);
  expect(stored.every(({ booked_at: at }) => at < '2026-03-05 23:50')).toBe(true);

  stage.setNow('2026-03-06T00:16:00+08:00');
  const late = await stage.run({ range });
  expect([late.exitCode, publishedIn(late)]).toEqual([0, ['USD 2026-03-05 r1']]);
  // Only a note, as all could be read.
  expect(late.notes).toEqual(["the platform's clock is 10 min behind this machine's"]);
  expect(await storedOf(stage)).toEqual(truthOf(stage));
});

test('a plan says so too', async () => {
  await open(-600);
  const request = { range, merchants: [MERCHANT], currencies: null };
  const { sync } = await planRun(request, stage.deps());
  expect(sync[0]!.unsettled).toMatchObject([{ endMs: Date.parse('2026-03-05T15:59:59.999Z') }]);
});

test('with the platform’s clock ahead the day is published, and a person is told once', async () => {
  await open(600);
  const report = await stage.run({ range });
  expect([report.exitCode, publishedIn(report)]).toEqual([3, ['USD 2026-03-05 r1']]);
  const notes = ["the platform's clock is 10 min ahead of this machine's"];
  expect(report.notes).toEqual(notes);
  // By now a person knows.
  expect(await stage.run({ range })).toMatchObject({ exitCode: 0, notes });
  const run = await stage.app.database.db.selectFrom('run').select('figures').executeTakeFirstOrThrow();
  expect(run.figures).toMatchObject({ platformBehindMs: 0 });
});
