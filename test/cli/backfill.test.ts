/** `backfill` and what `status` says of it, run as processes. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStage, scenario, MERCHANT, type Stage } from '../support/stage.ts';
import { daybook, envOf, startDaybook, type Env } from './daybook.ts';

const FROM = '2025-12-27';
let stage: Stage;
let env: Env;
beforeEach(async () => {
  const usd = { ...MERCHANT, currencies: ['USD'] };
  stage = await openStage({ scenario: scenario({ from: FROM, entriesPerDay: 2, merchants: [usd] }) });
  env = envOf(stage);
});
afterEach(() => stage.close());

const json = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await daybook([...args, '--json'], env)).stdout);

it('is recorded, listed with what is left, and cancelled with a row that says who did', async () => {
  const begun = await daybook(['backfill', '--from', FROM, '--merchant', MERCHANT.merchantNo], env);
  expect(begun).toMatchObject({ code: 0, stderr: '' });
  expect(begun.stdout).toBe(
    'backfill 1, 2025-12-27 to 2026-03-05 of 1 merchant: 0 days done, 69 days left, time left: not known yet\n' +
      '`daybook schedule` does the rest in addition to the nightly run\n',
  );
  expect(await json('backfill', 'list')).toMatchObject([
    {
      id: 1,
      from: FROM,
      to: '2026-03-05',
      merchants: 1,
      daysDone: 0,
      daysLeft: 69,
      leftMs: null,
      failures: [],
    },
  ]);
  expect(await json('status')).toMatchObject([{ backfills: [{ id: 1, daysLeft: 69 }] }]);
  const { stdout } = await daybook(['status'], env);
  expect(stdout).toContain('backfill 1, 2025-12-27 to 2026-03-05 of 1 merchant: 0 days done, 69 days left');

  expect(await daybook(['backfill', 'cancel', '1', '--by', 'Kim'], env)).toMatchObject({
    code: 0,
    stdout: 'backfill 1 is cancelled\n',
  });
  expect(await daybook(['backfill', 'cancel', '1'], env)).toMatchObject({
    code: 2,
    stderr: 'daybook: no open backfill has the number 1; `daybook backfill list` shows them.\n',
  });
  expect(await json('audit')).toMatchObject([{ by: 'Kim', command: 'backfill cancel', subject: '1' }]);
  expect((await daybook(['backfill', 'list'], env)).stdout).toMatch(
    /1 +2025-12-27 to 2026-03-05 +1 +cancelled/,
  );
  expect(await json('status')).toMatchObject([{ backfills: [] }]);
}, 60_000);

it('with --now does the slices itself, and ends as they did', async () => {
  expect(await json('backfill', '--from', FROM, '--now')).toMatchObject({
    daysDone: 69,
    daysLeft: 0,
    leftMs: 0,
  });
  expect(await json('runs')).toMatchObject(
    Array.from({ length: 3 }, () => ({ command: 'backfill', exitCode: 0, state: 'ended' })),
  );
  expect(await json('status')).toMatchObject([{ provenFrom: FROM, provenThrough: '2026-03-05' }]);
}, 60_000);

it('with --now ends with 4 where a slice fails, and `status` tells what it said', async () => {
  stage.sandbox.setHostility({ downAfterRequests: 0 });
  expect(await daybook(['backfill', '--from', FROM, '--now'], env)).toMatchObject({
    code: 4,
    stdout: expect.stringMatching(
      /backfill 1, SBX-M-1 from 2025-12-27: failed 1 time, tried again at 2026-03-06 /,
    ),
  });
  const { code, stdout } = await daybook(['status'], env);
  expect({ code, stdout }).toMatchObject({ code: 4, stdout: expect.stringContaining('failed 1 time') });
}, 60_000);

it('needs a first day, and a last one that is over', async () => {
  const said = async (...args: string[]) => (await daybook(['backfill', ...args], env)).stderr;
  expect(await said()).toBe('daybook: say from which day with --from YYYY-MM-DD.\n');
  expect(await said('--from', FROM, '--to', '2026-03-06')).toMatch(/2026-03-06 is not over yet/);
}, 60_000);

// The night before it has read the last days.
it('is done by the schedule, slice after slice', { tags: ['long'], timeout: 120_000 }, async () => {
  await daybook(['backfill', '--from', FROM], env);
  const { child, ended } = startDaybook(['schedule'], env);
  const list = async () => (await json('backfill', 'list')) as { endedAt: string | null }[];
  await expect.poll(async () => (await list())[0]!.endedAt, { timeout: 60_000 }).not.toBeNull();
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  expect({ code, slices: stderr.match(/"outcome":"(?:slice|done)"/g)?.length }).toEqual({
    code: 0,
    slices: 2,
  });
});
