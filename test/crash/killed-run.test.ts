/**
 * Kills the process at various points. The same command afterwards must have the same result as a run without a kill.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { daybook, envOf, startDaybook } from '../cli/daybook.ts';
import {
  accountDays,
  FROM,
  MERCHANT,
  bytesOf,
  openStage,
  scenario,
  storedOf,
  TO,
  truthOf,
  type Stage,
} from '../support/stage.ts';
import { hasEmbedded } from '../support/database.ts';

const RUN = ['run', '--from', FROM, '--to', TO, '--json'];
/** Slow enough to be killed midway: about twenty calls, eight at a time. */
const SLOW = { latencyMs: 25 };
const story = scenario({ entriesPerDay: 250 });

const statementRows = ({ app }: Stage) =>
  app.database.db
    .selectFrom('statement')
    .select(['currency', 'day', 'revision', 'sha256', 'object_key', 'supersedes', 'reason'])
    .orderBy('currency')
    .orderBy('day')
    .orderBy('revision')
    .execute();
const outcomeOf = async (stage: Stage) => ({
  entries: await storedOf(stage),
  days: await accountDays(stage),
  statements: await statementRows(stage),
  objects: await bytesOf(stage),
});

let undisturbed: Awaited<ReturnType<typeof outcomeOf>>;
let calls: number;
beforeAll(async () => {
  const stage = await openStage({ scenario: story });
  expect(await stage.run()).toMatchObject({ exitCode: 0 });
  calls = stage.sandbox.requestCount();
  undisturbed = await outcomeOf(stage);
  expect(undisturbed.entries).toEqual(truthOf(stage));
  await stage.close();
});

let stage: Stage;
afterEach(() => stage.close());

const opened = async (): Promise<Stage> => {
  stage = await openStage({ scenario: story });
  stage.sandbox.setHostility(SLOW);
  return stage;
};
/** Checks a condition again and again, and resolves as soon as it holds. */
const until = (holds: () => boolean | Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => expect(await holds()).toBe(true), { interval: 2, timeout: 30_000 });
const countOf = async (table: 'ledger_entry' | 'account_day' | 'statement'): Promise<number> =>
  (await stage.app.database.db.selectFrom(table).select('currency').execute()).length;

describe('killed', { tags: ['long'] }, () => {
  test.each<[string, () => Promise<void>]>([
    ['at the first call', () => until(() => stage.sandbox.requestCount() >= 1)],
    ['midway through the calls', () => until(() => stage.sandbox.requestCount() >= calls / 2)],
    ['at the first rows stored', () => until(async () => (await countOf('ledger_entry')) > 0)],
    ['at the first figures of a day', () => until(async () => (await countOf('account_day')) > 0)],
    ['at the first statement recorded', () => until(async () => (await countOf('statement')) > 0)],
    [
      'at the first object',
      () =>
        until(() =>
          existsSync(join(stage.app.settings.dataDir, `statements/merchant=${MERCHANT.merchantNo}`)),
        ),
    ],
  ])('%s, and run again: the same rows and the same bytes', async (_, point) => {
    await opened();
    const { child, ended } = startDaybook(RUN, envOf(stage));
    await point();
    child.kill('SIGKILL');
    expect((await ended).code).toBeNull();
    stage.sandbox.setHostility({});
    const again = await daybook(RUN, envOf(stage));
    expect(again.code, again.stderr).toBe(0);
    expect(await outcomeOf(stage)).toEqual(undisturbed);
  });

  test.runIf(hasEmbedded)(
    'with the embedded database: its folder can be opened again, and nothing is lost',
    async () => {
      await opened();
      const env = { ...envOf(stage), DATABASE_URL: '' };
      const { child, ended } = startDaybook(RUN, env);
      await until(() => stage.sandbox.requestCount() >= calls / 2);
      child.kill('SIGKILL');
      await ended;
      stage.sandbox.setHostility({});
      const again = await daybook(RUN, env);
      expect(again.code, again.stderr).toBe(0);
      expect(await bytesOf(stage)).toEqual(undisturbed.objects);
    },
  );
});

test(
  'killed several times in a row: it still completes, and no later run waits until the dead run’s lease is over',
  { tags: ['long'] },
  async () => {
    await opened();
    for (const share of [0.2, 0.4, 0.6]) {
      stage.sandbox.setHostility(SLOW);
      const { child, ended } = startDaybook(RUN, envOf(stage));
      await until(() => stage.sandbox.requestCount() >= calls * share);
      child.kill('SIGKILL');
      await ended;
    }
    stage.sandbox.setHostility({});
    expect(await daybook(RUN, envOf(stage))).toMatchObject({ code: 0 });
    expect(await outcomeOf(stage)).toEqual(undisturbed);
    const ends = await stage.app.database.db.selectFrom('run').select('exit_code').orderBy('id').execute();
    expect(ends.map(({ exit_code }) => exit_code)).toEqual([null, null, null, 0]);
  },
);

describe('asked to stop', () => {
  test('SIGTERM: the run ends by itself with 4 and says what is stored; the next run completes it', async () => {
    await opened();
    const { child, ended } = startDaybook(RUN, envOf(stage));
    await until(() => stage.sandbox.requestCount() >= calls / 2);
    child.kill('SIGTERM');
    const stopped = await ended;
    expect(stopped.code, stopped.stderr).toBe(4);
    const report = JSON.parse(stopped.stdout) as { notes: string[]; exitCode: number };
    expect(report).toMatchObject({ exitCode: 4, notes: [expect.stringMatching(/^stopped before the end/)] });
    stage.sandbox.setHostility({});
    expect(await daybook(RUN, envOf(stage))).toMatchObject({ code: 0 });
    expect(await outcomeOf(stage)).toEqual(undisturbed);
  });

  test(
    'SIGTERM while the platform does not answer: the run does not wait for the time-out',
    { tags: ['long'], timeout: 20_000 },
    async () => {
      await opened();
      stage.sandbox.setHostility({ stallEvery: 1 });
      const { child, ended } = startDaybook(RUN, { ...envOf(stage), PLATFORM_TIMEOUT_MS: '600000' });
      await until(() => stage.sandbox.requestCount() >= 1);
      child.kill('SIGTERM');
      expect(await ended).toMatchObject({ code: 4 });
    },
  );

  test(
    'the schedule ends at SIGTERM as soon as its job has ended',
    { tags: ['long'], timeout: 20_000 },
    async () => {
      await opened();
      const { child, ended } = startDaybook(['schedule'], envOf(stage));
      await until(() => stage.sandbox.requestCount() >= calls / 2);
      child.kill('SIGTERM');
      const { code, stderr } = await ended;
      expect(code, stderr).toBe(0);
      expect(stderr).toContain('schedule ended');
    },
  );
});
