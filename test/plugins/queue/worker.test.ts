/**
 * Workers on a real server, in this process: what they take, what they give back, and what comes of failures.
 *
 * @module-tag long
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  deadLetters,
  isEmpty,
  laneCounts,
  redrive,
  type ClaimedJob,
} from '../../../src/plugins/queue/jobs.ts';
import { RETRY_LIMIT } from '../../../src/plugins/queue/queue.ts';
import {
  type JobEnd,
  keepWorking,
  maintenancePauseMs,
  type WorkerOptions,
} from '../../../src/plugins/queue/worker.ts';
import { LeaseHeld } from '../../../src/store/engine/lease.ts';
import { merchantsOf, queueStage, type QueueStage } from './support.ts';

let stage: QueueStage;
afterEach(() => stage.close());

/** A worker with `work`; it stops by itself when the queue is empty. */
function worker(work: (job: ClaimedJob, signal: AbortSignal) => Promise<unknown>, more = {}) {
  const ends: JobEnd<unknown>[] = [];
  const stopping = new AbortController();
  const options: WorkerOptions<unknown> = {
    atOnce: 4,
    work,
    endAbandoned: () => Promise.resolve(),
    onEnd: (end) => ends.push(end),
    onProblem: (error) => stage.problems.push(error),
    signal: stopping.signal,
    untilEmpty: true,
    ...more,
  };
  const ended = keepWorking(stage.queue, options);
  const reported = (): string[] => ends.map(({ job, outcome }) => `${job.merchantNo} ${outcome}`);
  return { ended, ends, reported, stop: () => stopping.abort() };
}

/** Work that goes on until it is let go, or its signal aborts. */
function held() {
  const begun: string[] = [];
  const gates: (() => void)[] = [];
  const work = async ({ merchantNo }: ClaimedJob, signal: AbortSignal): Promise<void> => {
    begun.push(merchantNo);
    await new Promise<void>((resolve, reject) => {
      gates.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
  return { work, begun, letGo: () => gates.splice(0).forEach((open) => open()) };
}

describe('a worker', () => {
  it('does each job once, no more than so many side by side, and ends when the queue is empty', async () => {
    stage = await queueStage();
    const merchants = merchantsOf(30);
    await stage.send(merchants);
    const done: string[] = [];
    let atWork = 0;
    let most = 0;
    const work = async ({ merchantNo }: ClaimedJob): Promise<void> => {
      most = Math.max(most, ++atWork);
      await stage.database.db.selectFrom('run').select('id').execute();
      done.push(merchantNo);
      atWork -= 1;
    };
    await Promise.all([worker(work).ended, worker(work).ended]);
    expect(done.sort()).toEqual(merchants);
    expect(most).toBeLessThanOrEqual(8);
    expect(stage.problems).toEqual([]);
  });

  it('comes back to a merchant on whom another process is at work, and uses up no attempt', async () => {
    stage = await queueStage();
    await stage.send(['M1']);
    let tries = 0;
    const { ended, reported } = worker(async () => {
      tries += 1;
      if (tries <= RETRY_LIMIT + 2) throw new LeaseHeld('other', 'another process has it');
      return Promise.resolve();
    });
    await vi.waitFor(
      async () => {
        await stage.hurry();
        expect(tries).toBe(RETRY_LIMIT + 3);
      },
      { timeout: 30_000 },
    );
    await ended;
    expect(reported()).toEqual([...Array<string>(RETRY_LIMIT + 2).fill('M1 busy'), 'M1 done']);
    expect(await deadLetters(stage.database.db, { limit: 9 })).toEqual([]);
  });

  it('finishes what it has begun when it is told to stop, and takes nothing more', async () => {
    stage = await queueStage();
    await stage.send(['M1', 'M2', 'M3']);
    const { work, begun, letGo } = held();
    const { ended, reported, stop } = worker(work, { atOnce: 2 });
    await expect.poll(() => begun.length).toBe(2);
    stop();
    letGo();
    await ended;
    expect(reported().map((text) => text.slice(3))).toEqual(['done', 'done']);
    expect((await laneCounts(stage.database.db))[0]).toMatchObject({ waiting: 1, active: 0 });
  });

  it('gives back at its end what does not finish in time; another worker takes it at once', async () => {
    stage = await queueStage();
    await stage.send(['M1', 'M2']);
    const { work, begun } = held();
    const { ended, reported, stop } = worker(work, { finishWithinMs: 0 });
    await expect.poll(() => begun.length).toBe(2);
    stop();
    await ended;
    expect(reported().sort()).toEqual(['M1 given-back', 'M2 given-back']);
    expect((await laneCounts(stage.database.db))[0]).toMatchObject({ waiting: 2, active: 0 });
    const other = worker(() => Promise.resolve());
    await other.ended;
    expect(other.reported().sort()).toEqual(['M1 done', 'M2 done']);
  });

  it('goes on where a job could not be told to the queue: the job comes back', async () => {
    stage = await queueStage();
    await stage.send(['M1']);
    const complete = vi.spyOn(stage.queue.boss, 'complete').mockRejectedValueOnce(new Error('cut'));
    vi.spyOn(stage.queue.boss, 'fail').mockRejectedValueOnce(new Error('cut as well'));
    let tries = 0;
    const { ended } = worker(() => Promise.resolve((tries += 1)));
    await expect.poll(() => stage.problems.length).toBe(1);
    await stage.silence();
    await stage.hurry();
    await ended;
    expect(tries).toBe(2);
    expect(complete).toHaveBeenCalledTimes(2);
  });
});

describe('a worker that is gone', () => {
  it('loses its jobs to another one, is told so by its next heartbeat, and ends nothing of them', async () => {
    stage = await queueStage();
    await stage.send(['M1']);
    const { work, begun, letGo } = held();
    const frozen = worker(work, { untilEmpty: false });
    await expect.poll(() => begun.length).toBe(1);
    await stage.silence();
    await stage.hurry();
    const second = held();
    const other = worker(second.work);
    await expect.poll(() => second.begun.length + begun.length).toBe(2);
    await expect.poll(() => frozen.reported(), { timeout: 20_000 }).toEqual(['M1 lost']);
    second.letGo();
    letGo();
    frozen.stop();
    await Promise.all([frozen.ended, other.ended]);
    expect([...other.reported(), ...frozen.reported()].filter((text) => text.endsWith('done'))).toEqual([
      'M1 done',
    ]);
    expect(await isEmpty(stage.database.db)).toBe(true);
  });
});

describe('a job that always fails', () => {
  it('is tried again a few times, then is a dead letter with its reason, and can be sent back', async () => {
    stage = await queueStage();
    const { db } = stage.database;
    await stage.send(['M1', 'M2'], { runId: 7 });
    let tries = 0;
    let isFixed = false;
    let looks = 0;
    const failing = worker(
      ({ merchantNo }) => {
        if (merchantNo === 'M2' || isFixed) return Promise.resolve();
        tries += 1;
        return Promise.reject(new Error('a fault of its own'));
      },
      { endAbandoned: () => Promise.resolve(void (looks += 1)) },
    );
    const hurried = setInterval(() => void stage.hurry(), 50);
    await failing.ended;
    clearInterval(hurried);
    expect(tries).toBe(RETRY_LIMIT + 1);
    expect(looks).toBeGreaterThanOrEqual(RETRY_LIMIT + 1);
    expect(await deadLetters(db, { limit: 9 })).toEqual([
      {
        id: expect.any(String),
        runId: 7,
        merchantNo: 'M1',
        problem: 'a fault of its own',
        exitCode: 70,
        attempts: RETRY_LIMIT + 1,
        givenUpAt: expect.any(Date),
      },
    ]);

    isFixed = true;
    const sent = await db.transaction().execute((trx) => redrive(stage.queue, trx));
    expect(sent).toMatchObject({ sent: [{ merchantNo: 'M1', runId: 7 }], kept: [] });
    const mended = worker(() => Promise.resolve());
    await mended.ended;
    expect(mended.reported()).toEqual(['M1 done']);
    expect(await deadLetters(db, { limit: 9 })).toEqual([]);
  });

  it('is sent back one at a time for each merchant, and not beside a job that is open', async () => {
    stage = await queueStage();
    const { db } = stage.database;
    const dies = async (merchantNo: string, runId: number): Promise<void> => {
      await stage.send([merchantNo], { runId });
      for (let failed = 0; failed <= RETRY_LIMIT; failed += 1) {
        await stage.hurry();
        const [job] = await stage.queue.boss.fetch('night');
        await stage.queue.boss.fail('night', job!, { message: 'no' });
      }
    };
    await dies('M1', 1);
    await dies('M1', 2);
    await dies('M2', 1);
    await dies('M3', 1);
    await stage.send(['M2'], { runId: 2 });
    const again = (merchantNo?: string) =>
      db
        .transaction()
        .execute((trx) => redrive(stage.queue, trx, merchantNo === undefined ? undefined : [merchantNo]));
    expect(await again('M3')).toMatchObject({ sent: [{ merchantNo: 'M3' }], kept: [] });
    expect(await again()).toMatchObject({
      sent: [{ merchantNo: 'M1', runId: 1 }],
      kept: [
        { merchantNo: 'M1', runId: 2 },
        { merchantNo: 'M2', runId: 1 },
      ],
    });
    await worker(() => Promise.resolve()).ended;
    const rest = await again();
    expect(rest.sent.map(({ merchantNo, runId }) => `${merchantNo} ${runId}`)).toEqual(['M1 2', 'M2 1']);
    expect(rest.kept).toEqual([]);
  });
});

it('a worker checks what waits every ten seconds, and less often where that takes long', () => {
  expect([0, 500, 501, 10_000].map(maintenancePauseMs)).toEqual([10_000, 10_000, 10_020, 200_000]);
});
