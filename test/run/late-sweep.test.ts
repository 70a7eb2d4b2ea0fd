/** The job around midday reads further back than the night, over days read before, and no further. */
import { isDeepStrictEqual } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { jobs } from '../../jobs/all.ts';
import type { Job } from '../../src/run/schedule/job.ts';
import { dayWindow } from '../../src/ledger/business-day.ts';
import { firstRead } from '../../src/run/merchant-ranges.ts';
import { MERCHANT, openStage, scenario, storedOf, truthOf, ZONE, type Stage } from '../support/stage.ts';

const [nightly, resweep] = jobs as [Job, Job, Job];

let opened: Stage | null = null;
afterEach(async () => {
  await opened?.close();
  opened = null;
});

/** Ten days, from 2026-03-02. A night reads the last two, the job around midday the last six. */
const open = async (): Promise<Stage> => {
  opened = await openStage({
    scenario: scenario({ to: '2026-03-11', entriesPerDay: 6 }),
    settings: { resweepDays: 1, lateSweepDays: 5, checks: [] },
  });
  return opened;
};
const run = async (stage: Stage, job: Job, now: string) => {
  stage.setNow(`${now}:00+08:00`);
  const report = await job.run(
    stage.app,
    { job: job.name, slot: now.replace('T', ' ') },
    new AbortController().signal,
  );
  const { from_day: from, to_day: to } = await stage.app.database.db
    .selectFrom('run')
    .select(['from_day', 'to_day'])
    .where('id', '=', report!.runId)
    .executeTakeFirstOrThrow();
  return { from, to, exitCode: report!.exitCode };
};

test('it reads no day before the first one that was read, however far back it may reach', async () => {
  const stage = await open();
  expect(await run(stage, nightly, '2026-03-08T01:30')).toEqual({
    from: '2026-03-06',
    to: '2026-03-07',
    exitCode: 0,
  });
  expect(await run(stage, resweep, '2026-03-08T13:30')).toEqual({
    from: '2026-03-06',
    to: '2026-03-07',
    exitCode: 0,
  });
});

test.each([
  ['nothing was read', [], null],
  ['all was read', [['2026-01-01', '2026-03-10']], '2026-03-05'],
  ['reading began later', [['2026-03-07', '2026-03-10']], '2026-03-07'],
  [
    'an older history ended months before',
    [
      ['2026-01-01', '2026-01-31'],
      ['2026-03-08', '2026-03-10'],
    ],
    '2026-03-08',
  ],
  ['nothing was read for long', [['2026-01-01', '2026-01-31']], null],
] as const)('begins with the first day that was read before: %s', (_, spans, first) => {
  const windows = spans.map(([from, to]) => ({
    beginMs: dayWindow(from, ZONE).beginMs,
    endMs: dayWindow(to, ZONE).endMs,
  }));
  expect(firstRead(windows, '2026-03-05', ZONE)).toBe(first);
});

/** Whether the copy holds what the platform does, except for today. */
const isComplete = async (stage: Stage): Promise<boolean> => {
  const [stored, truth] = [await storedOf(stage), truthOf(stage)].map((rows) =>
    rows.filter(({ booked_ms: bookedMs }) => bookedMs < dayWindow('2026-03-11', ZONE).beginMs),
  );
  return isDeepStrictEqual(stored, truth);
};

test('it finds what the night does not: an amended entry further back than the night reads', async () => {
  const stage = await open();
  stage.setNow('2026-03-11T01:30:00+08:00');
  expect(await stage.run({ range: { from: '2026-03-02', to: '2026-03-10' } })).toMatchObject({ exitCode: 0 });
  const { merchantNo } = MERCHANT;
  const older = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ busiDate }) => busiDate.startsWith('2026-03-06'))!;
  stage.sandbox.amend(merchantNo, older.batchNo, { busiType: 'T-OTHER' });
  expect(await run(stage, nightly, '2026-03-11T01:30')).toEqual({
    from: '2026-03-09',
    to: '2026-03-10',
    exitCode: 0,
  });
  expect(await isComplete(stage)).toBe(false);
  expect(await run(stage, resweep, '2026-03-11T13:30')).toEqual({
    from: '2026-03-05',
    to: '2026-03-10',
    exitCode: 3,
  });
  expect(await isComplete(stage)).toBe(true);
});
