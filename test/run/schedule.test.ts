import { afterEach, describe, expect, test, vi } from 'vitest';
import { exitCodeOf, Interrupted } from '../../src/run/verdict/exit-codes.ts';
import { executeReferenceRun, referenceWork } from '../../src/plugins/reference/run.ts';
import { executeScheduled } from '../../src/run/run.ts';
import { dueJobs, type DueJob } from '../../src/run/schedule/due.ts';
import type { RunReport } from '../../src/run/report.ts';
import { keepSchedule, tick, type ScheduleOptions } from '../../src/run/schedule/schedule.ts';
import { finishRun, slotEnds, startRun } from '../../src/store/runs.ts';
import {
  MERCHANT,
  openStage,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const NIGHTLY = { job: 'nightly', when: '30 1 * * *' };
const RESWEEP = { job: 'resweep', when: '30 13 * * *' };

let stage: Stage;
afterEach(() => stage.close());

/** One scheduler process on the stage, as `daybook schedule` makes it. */
function scheduler(change: Partial<ScheduleOptions> = {}) {
  /** The reports. Null if another process was first, the exit code if the run failed. */
  const ended: (RunReport | number | null)[] = [];
  const jobs: DueJob[] = [];
  const options: ScheduleOptions = {
    jobs: [NIGHTLY, RESWEEP],
    zone: stage.app.settings.schedule.zone,
    now: stage.app.now,
    signal: new AbortController().signal,
    slotEnds: (slots, now) => slotEnds(stage.app.database.db, slots, now),
    runJob: async (due) => {
      jobs.push(due);
      const request = { command: 'run', range: null, merchants: [MERCHANT], currencies: null } as const;
      const run = executeScheduled({ ...request, scheduled: due }, stage.deps());
      ended.push(await run.catch((error: unknown) => exitCodeOf(error)));
    },
    onFault: (error) => {
      throw error;
    },
    ...change,
  };
  return { jobs, ended, tick: () => tick(options) };
}
const runs = () =>
  stage.app.database.db.selectFrom('run').select(['command', 'slot', 'exit_code']).orderBy('id').execute();
const nightlyOf = (day: string, exit_code = 0) => ({ command: 'nightly', slot: `${day} 01:30`, exit_code });

describe('the schedule', () => {
  test('runs each job once at its time, however often it checks', async () => {
    stage = await openStage();
    const one = scheduler();
    for (const now of ['01:30:00', '01:30:00', '01:31:00', '02:30:00', '13:30:00', '13:30:59', '23:59:00']) {
      stage.setNow(`2026-03-06T${now}+08:00`);
      await one.tick();
    }
    // When a job is seen for the first time, the slot before also counts.
    expect(await runs()).toEqual([
      nightlyOf('2026-03-06'),
      { command: 'resweep', slot: '2026-03-05 13:30', exit_code: 0 },
      { command: 'resweep', slot: '2026-03-06 13:30', exit_code: 0 },
    ]);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });

  test('catches up in one run after several nights down: every day is read, and published once', async () => {
    stage = await openStage({
      scenario: scenario({ from: '2026-03-02', to: '2026-03-12', entriesPerDay: 20 }),
      settings: { resweepDays: 1 },
    });
    const one = scheduler({ jobs: [NIGHTLY] });
    stage.setNow('2026-03-04T01:30:00+08:00');
    await one.tick();
    stage.setNow('2026-03-11T09:00:00+08:00');
    await one.tick();
    await one.tick();
    expect(await runs()).toEqual([nightlyOf('2026-03-04'), nightlyOf('2026-03-11')]);
    const [first, caughtUp] = one.ended as RunReport[];
    expect(first).toMatchObject({ from: '2026-03-02', to: '2026-03-03' });
    expect(caughtUp).toMatchObject({ from: '2026-03-04', to: '2026-03-10', exitCode: 0, notes: [] });
    const lastMs = Date.parse('2026-03-11T00:00:00+08:00');
    const isOver = (row: { readonly booked_ms: number }) => row.booked_ms < lastMs;
    expect((await storedOf(stage)).filter(isOver)).toEqual(truthOf(stage).filter(isOver));
    expect(publishedIn(caughtUp!)).toHaveLength(2 * 7);
  });

  test('two processes at once run a job once: the other finds the lease held', async () => {
    stage = await openStage();
    const [one, other] = [scheduler({ jobs: [NIGHTLY] }), scheduler({ jobs: [NIGHTLY] })];
    await Promise.all([one.tick(), other.tick()]);
    await Promise.all([one.tick(), other.tick()]);
    expect(await runs()).toEqual([nightlyOf('2026-03-06')]);
    expect([...one.ended, ...other.ended].filter((end) => end === 5)).toHaveLength(1);
  });

  test('a process that checked before another one’s run, and starts after it, does nothing', async () => {
    stage = await openStage();
    const one = scheduler({ jobs: [NIGHTLY] });
    const late = scheduler({ jobs: [NIGHTLY], slotEnds: () => Promise.resolve([]) });
    await one.tick();
    const calls = stage.sandbox.requestCount();
    await late.tick();
    expect(late.ended).toEqual([null]);
    expect(stage.sandbox.requestCount()).toBe(calls);
    expect(await runs()).toEqual([nightlyOf('2026-03-06')]);
  });

  test('a job that ended incomplete is tried again ten minutes later, and is done then', async () => {
    stage = await openStage();
    stage.sandbox.setHostility({ downAfterRequests: 0 });
    const one = scheduler({ jobs: [NIGHTLY] });
    await one.tick();
    stage.sandbox.setHostility({});
    stage.setNow('2026-03-06T01:39:59+08:00');
    await one.tick();
    expect(one.jobs).toHaveLength(1);
    stage.setNow('2026-03-06T01:40:00+08:00');
    await one.tick();
    stage.setNow('2026-03-06T01:50:00+08:00');
    await one.tick();
    expect(await runs()).toEqual([nightlyOf('2026-03-06', 4), nightlyOf('2026-03-06')]);
  });

  test('a job that was asked to stop runs again right after the next start; one that failed keeps its pause', async () => {
    stage = await openStage();
    const stop = new AbortController();
    const stopped = scheduler({
      jobs: [NIGHTLY],
      signal: stop.signal,
      runJob: async (due) => {
        const request = { command: 'run', range: null, merchants: [MERCHANT], currencies: null } as const;
        const onProgress = () => stop.abort(new Interrupted());
        await executeScheduled(
          { ...request, scheduled: due },
          stage.deps({ signal: stop.signal, onProgress }),
        );
      },
    });
    await stopped.tick();
    expect(await runs()).toEqual([nightlyOf('2026-03-06', 4)]);
    const restarted = scheduler({ jobs: [NIGHTLY] });
    stage.sandbox.setHostility({ downAfterRequests: 0 });
    await restarted.tick();
    stage.sandbox.setHostility({});
    await restarted.tick();
    expect(await runs()).toEqual([nightlyOf('2026-03-06', 4), nightlyOf('2026-03-06', 4)]);
    stage.setNow('2026-03-06T01:40:00+08:00');
    await restarted.tick();
    expect((await runs()).at(-1)).toEqual(nightlyOf('2026-03-06'));
  });

  test('a reading of reference data that was asked to stop also runs again right after the next start', async () => {
    stage = await openStage();
    const { db } = stage.app.database;
    const due = { job: 'reference', slot: '2026-03-06 03:00' };
    const signal = AbortSignal.abort(new Interrupted());
    await expect(
      executeReferenceRun({ ...referenceWork(stage.app, signal), scheduled: due }),
    ).rejects.toThrow('stopped before the end');
    const at = stage.app.now();
    expect(dueJobs([due], at, await slotEnds(db, [due], at))).toEqual([due]);
  });

  test('the slot of a killed run is due again at once, and a done slot stays done, whatever a person runs', async () => {
    stage = await openStage();
    const { db } = stage.app.database;
    const begun = { holder: 'gone', fromDay: null, toDay: null, now: stage.app.now() };
    await startRun(db, { ...begun, command: 'nightly', slot: '2026-03-06 01:30' });
    const one = scheduler({ jobs: [NIGHTLY] });
    await one.tick();
    for (let n = 0; n < 600; n += 1) {
      await startRun(db, { ...begun, command: 'sync', now: new Date(stage.app.now().getTime() + n) });
    }
    await one.tick();
    expect(one.jobs).toHaveLength(1);
  });

  test('a done slot stays done, however often the schedule tried other slots since', async () => {
    stage = await openStage();
    const { db } = stage.app.database;
    const began = { holder: 'gone', fromDay: null, toDay: null };
    const weekly = { job: 'weekly', when: '0 3 * * 1' };
    const done = await startRun(db, {
      ...began,
      command: 'weekly',
      slot: '2026-03-02 03:00',
      now: new Date('2026-03-02T03:00:00+08:00'),
    });
    await finishRun(db, done, { exitCode: 3, figures: {}, now: new Date('2026-03-02T03:01:00+08:00') });
    const retries = Array.from(
      { length: 600 },
      (_, n) => new Date(Date.parse('2026-03-02T04:00:00+08:00') + n * 600_000),
    );
    await db
      .insertInto('run')
      .values(
        retries.map((now) => ({
          command: 'nightly',
          slot: '2026-03-06 01:30',
          holder: 'gone',
          started_at: now,
          finished_at: now,
          exit_code: 4,
        })),
      )
      .execute();
    const asked: string[] = [];
    const one = scheduler({
      jobs: [NIGHTLY, weekly],
      runJob: ({ job }) => Promise.resolve(void asked.push(job)),
    });
    stage.setNow('2026-03-06T12:00:00+08:00');
    await one.tick();
    expect(asked).toEqual(['nightly']);
    // Every try of the slot is read, as one row for each kind of end.
    expect(
      await slotEnds(
        db,
        [{ job: 'nightly', slot: '2026-03-06 01:30' }],
        new Date('2026-03-06T12:00:00+08:00'),
      ),
    ).toEqual([
      {
        command: 'nightly',
        awaitsPerson: false,
        slot: '2026-03-06 01:30',
        exitCode: 4,
        interrupted: false,
        finishedAt: retries.at(-1),
      },
    ]);
  });

  test('a failure of one job is reported, and the other jobs still run', async () => {
    stage = await openStage();
    const faults: unknown[] = [];
    const asked: string[] = [];
    const one = scheduler({
      jobs: [{ job: 'unreadable', when: '0 3 * * Monday' }, NIGHTLY, RESWEEP],
      runJob: ({ job }) => {
        asked.push(job);
        return job === 'nightly' ? Promise.reject(new TypeError('a slip')) : Promise.resolve();
      },
      onFault: (error, job) => faults.push([job, (error as Error).message]),
    });
    await one.tick();
    expect(asked).toEqual(['nightly', 'resweep']);
    expect(faults).toEqual([
      ['unreadable', expect.stringContaining('Monday')],
      ['nightly', 'a slip'],
    ]);
  });

  test('the night in which two o’clock comes twice has one run, and its day of 25 hours is complete', async () => {
    const when = '30 2 * * *';
    stage = await openStage({
      scenario: scenario({
        timeZone: 'Europe/Berlin',
        from: '2026-10-23',
        to: '2026-10-26',
        entriesPerDay: 30,
        now: '2026-10-24T12:00:00Z',
      }),
      settings: {
        schedule: { nightly: when, resweep: when, reference: when, zone: 'Europe/Berlin' },
        resweepDays: 2,
      },
    });
    const one = scheduler({ jobs: [{ job: 'nightly', when }] });
    // 02:30 comes at 00:30Z and again at 01:30Z.
    for (const now of ['25T00:29', '25T00:30', '25T00:59', '25T01:30', '25T02:30', '26T01:30', '27T01:30']) {
      stage.setNow(`2026-10-${now}:00Z`);
      await one.tick();
    }
    expect((await runs()).map(({ slot }) => slot)).toEqual([
      '2026-10-24 02:30',
      '2026-10-25 02:30',
      '2026-10-26 02:30',
      '2026-10-27 02:30',
    ]);
    // This includes both passes of the repeated hour.
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    expect(truthOf(stage).some(({ booked_at }) => booked_at.startsWith('2026-10-25 02:'))).toBe(true);
  });
});

describe('the loop', () => {
  test('checks every minute, never during a job, and ends when the running job has ended', async () => {
    stage = await openStage();
    vi.useFakeTimers({ now: Date.parse('2026-03-06T01:29:30+08:00') });
    try {
      const stop = new AbortController();
      const asked: string[] = [];
      const { promise: jobEnds, resolve: endJob } = Promise.withResolvers<undefined>();
      let looks = 0;
      const kept = keepSchedule({
        jobs: [NIGHTLY],
        zone: 'Asia/Shanghai',
        now: () => new Date(),
        signal: stop.signal,
        slotEnds: () => {
          looks += 1;
          return Promise.resolve([]);
        },
        runJob: async ({ slot }) => {
          asked.push(slot);
          if (slot.startsWith('2026-03-06')) await jobEnds;
        },
        onFault: (error) => expect.unreachable(String(error)),
      });
      await vi.advanceTimersByTimeAsync(10);
      expect(asked).toEqual(['2026-03-05 01:30']);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(asked).toEqual(['2026-03-05 01:30', '2026-03-06 01:30']);
      const looksWhileWorking = looks;
      await vi.advanceTimersByTimeAsync(5 * 60_000);
      expect(looks).toBe(looksWhileWorking);
      stop.abort();
      let ended = false;
      void kept.then(() => (ended = true));
      await vi.advanceTimersByTimeAsync(60_000);
      expect(ended).toBe(false);
      endJob(undefined);
      await kept;
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([3 * 3_600_000, 36 * 3_600_000, -5 * 3_600_000])(
    'continues to check if the clock is set back by %d ms, and stops when asked',
    async (byMs) => {
      stage = await openStage();
      vi.useFakeTimers({ now: Date.parse('2026-03-06T12:00:30+08:00') });
      try {
        const stop = new AbortController();
        let looks = 0;
        const kept = keepSchedule({
          jobs: [NIGHTLY],
          zone: 'Asia/Shanghai',
          now: () => new Date(),
          signal: stop.signal,
          slotEnds: () => {
            looks += 1;
            return Promise.resolve([]);
          },
          runJob: () => Promise.resolve(),
          onFault: (error) => expect.unreachable(String(error)),
        });
        await vi.advanceTimersByTimeAsync(2 * 60_000);
        const before = looks;
        expect(before).toBeGreaterThanOrEqual(3);
        vi.setSystemTime(Date.now() - byMs);
        await vi.advanceTimersByTimeAsync(30 * 60_000);
        // One check a minute, or one every 75 seconds while node-cron waits for a time that has passed already.
        expect(looks - before).toBeGreaterThanOrEqual(24);
        expect(looks - before).toBeLessThanOrEqual(31);
        stop.abort();
        await kept;
        const atEnd = looks;
        await vi.advanceTimersByTimeAsync(10 * 60_000);
        expect(looks).toBe(atEnd);
        expect(vi.getTimerCount()).toBe(0);
      } finally {
        vi.useRealTimers();
      }
    },
  );

  test('a check that fails is reported, and the next one checks again', async () => {
    stage = await openStage();
    vi.useFakeTimers({ now: Date.parse('2026-03-06T01:30:00+08:00') });
    try {
      const stop = new AbortController();
      const faults: unknown[] = [];
      const kept = keepSchedule({
        jobs: [NIGHTLY],
        zone: 'Asia/Shanghai',
        now: () => new Date(),
        signal: stop.signal,
        slotEnds: () => Promise.reject(new Error(`no database for ${MERCHANT.merchantNo}`)),
        runJob: () => Promise.resolve(),
        onFault: (error) => faults.push(error),
      });
      await vi.advanceTimersByTimeAsync(2 * 60_000 + 10);
      expect(faults).toHaveLength(3);
      stop.abort();
      await kept;
    } finally {
      vi.useRealTimers();
    }
  });
});
