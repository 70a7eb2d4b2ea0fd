/** Several lines on one limit, by a virtual clock: never too many calls, hardly ever too few, and equal parts. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRequestQueue } from '../../src/platform/request-queue.ts';
import { type SharedLimit, Slices } from '../../src/platform/rate-limiter.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { virtualLimit } from './virtual-limit.ts';

const BEGIN_MS = 1_000_000;

/** A process: its merchants call one after the other, and pause between two calls. */
interface Process {
  readonly concurrency: number;
  readonly merchants: number;
  readonly callsEach: number;
  readonly callMs: number;
  readonly pauseMs: number;
  readonly startMs: number;
}

interface Night {
  /** When each call began, in ms since the start, by process. */
  readonly begun: readonly (readonly number[])[];
  readonly trips: readonly number[];
}

async function night(ratePerS: number, processes: readonly Process[], latencyMs = 2): Promise<Night> {
  const time = virtualTime(BEGIN_MS, setImmediate);
  const limitOf = virtualLimit(time, latencyMs);
  const limits = processes.map(limitOf);
  const begun = await Promise.all(
    processes.map(async ({ concurrency, merchants, callsEach, callMs, pauseMs, startMs }, index) => {
      await time.sleep(startMs);
      const queue = createRequestQueue(concurrency, ratePerS, time, limits[index]);
      const instants: number[] = [];
      const work = async (_: unknown, merchant: number): Promise<void> => {
        for (let call = 0; call < callsEach; call += 1) {
          const leave = await queue.enter({ owner: `M${merchant}`, rank: 0 });
          instants.push(time.clock() - BEGIN_MS);
          await time.sleep(callMs);
          leave(true);
          if (pauseMs > 0) await time.sleep(pauseMs);
        }
      };
      await Promise.all(Array.from({ length: merchants }, work));
      return instants;
    }),
  );
  return { begun, trips: limits.map(({ trips }) => trips()) };
}

const inOrder = ({ begun }: Night): number[] => begun.flat().toSorted((one, other) => one - other);

/** Expects that no span of time holds more calls than the rate allows, and those of a slice of half a second. */
function expectWithin(ratePerS: number, latencyMs: number, calls: readonly number[]): void {
  let tooMany = 0;
  for (const [first, beginMs] of calls.entries()) {
    for (const [after, endMs] of calls.slice(first).entries()) {
      // A process counts from when the answer came, so its calls are later by up to a question's time.
      const most = 1 + (ratePerS * (endMs - beginMs + 500 + latencyMs)) / 1_000;
      tooMany = Math.max(tooMany, after + 1 - Math.ceil(most));
    }
  }
  expect(tooMany).toBe(0);
}

const busy: Process = {
  concurrency: 8,
  merchants: 16,
  callsEach: 25,
  callMs: 50,
  pauseMs: 0,
  startMs: 0,
};

describe('four processes that have more to call than the rate allows', () => {
  test('call as often as it allows, each as often as the others, for few questions', async () => {
    const result = await night(100, [busy, busy, busy, busy]);
    const calls = inOrder(result);
    expectWithin(100, 2, calls);
    expect(calls).toHaveLength(1_600);
    expect(calls.at(-1)! - calls[0]!).toBeLessThanOrEqual(16_000 * 1.03);
    const half = result.begun.map((own) => own.filter((ms) => ms < 8_000).length);
    for (const own of half) expect(Math.abs(own - 200)).toBeLessThanOrEqual(20);
    expect(result.trips.reduce((sum, trips) => sum + trips)).toBeLessThanOrEqual(1_600 / 3);
  });

  test('and one that comes later gets its part at once', async () => {
    const late: Process = { ...busy, startMs: 5_000, merchants: 8 };
    const { begun } = await night(100, [{ ...busy, callsEach: 60 }, late]);
    const [earlier, later] = begun.map((own) => own.filter((ms) => ms >= 5_500 && ms < 7_500).length);
    expect(Math.abs(earlier! - later!)).toBeLessThanOrEqual(16);
  });
});

test('a process alone calls as often as the rate allows', async () => {
  const calls = inOrder(await night(50, [busy]));
  expect(calls.at(-1)!).toBeLessThanOrEqual(8_000 * 1.03);
});

test('a process whose slots are the limit loses nothing to the rate', async () => {
  const slow: Process = { ...busy, callsEach: 10, callMs: 2_000 };
  const { begun } = await night(100, [slow]);
  expect(begun[0]!.at(-1)).toBeLessThanOrEqual((160 / 8) * 2_000 * 1.05);
});

test('a slow database costs some of the rate, and never more calls than it allows', async () => {
  const calls = inOrder(await night(100, [busy, busy, busy, busy], 200));
  expectWithin(100, 200, calls);
  expect(calls.at(-1)!).toBeLessThanOrEqual(16_000 * 1.5);
});

test('whatever the processes do, no span of time holds more calls than the rate and one slice', async () => {
  const anyProcess: fc.Arbitrary<Process> = fc.record({
    concurrency: fc.constantFrom(1, 4, 8, 32),
    merchants: fc.integer({ min: 1, max: 12 }),
    callsEach: fc.integer({ min: 1, max: 12 }),
    callMs: fc.constantFrom(10, 50, 900, 3_000),
    pauseMs: fc.constantFrom(0, 0, 30, 1_500),
    startMs: fc.nat(3_000),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0.5, 3, 20, 100, 1_000),
      fc.array(anyProcess, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(0, 2, 100),
      async (ratePerS, processes, latencyMs) => {
        const result = await night(ratePerS, processes, latencyMs);
        expectWithin(ratePerS, latencyMs, inOrder(result));
        expect(result.begun.map(({ length }) => length)).toEqual(
          processes.map(({ merchants, callsEach }) => merchants * callsEach),
        );
      },
    ),
    { numRuns: 25 },
  );
});

test('a call that was reserved is lost half a second after its instant, so that those of an idle process do not pile up', () => {
  const slices = new Slices(10, 8);
  slices.add(3, 0);
  expect([slices.dueMs(0), slices.dueMs(500), slices.dueMs(501), slices.dueMs(650)]).toEqual([
    0, 0, 100, 200,
  ]);
  expect(slices.dueMs(701)).toBe(Number.POSITIVE_INFINITY);
});

describe('a hold', () => {
  test.each([null, 100])(
    'is kept by a process that comes later, from its first call on (rate %s)',
    async (rate) => {
      const time = virtualTime(BEGIN_MS, setImmediate);
      const limitOf = virtualLimit(time, 2);
      await limitOf().sendHolds([{ owner: 'held', forMs: 9_000 }]);
      const queue = createRequestQueue(4, rate, time, limitOf());
      const endOf = async (owner: string): Promise<number> => {
        (await queue.enter({ owner, rank: 0 }))(true);
        return time.clock() - BEGIN_MS;
      };
      const [held, free] = await Promise.all([endOf('held'), endOf('free')]);
      expect(free).toBeLessThan(100);
      expect(held).toBeGreaterThanOrEqual(9_000);
    },
  );

  test('added while a process works reaches it within five seconds, also without a rate', async () => {
    const time = virtualTime(BEGIN_MS, setImmediate);
    const limitOf = virtualLimit(time, 2);
    const queue = createRequestQueue(4, null, time, limitOf());
    (await queue.enter({ owner: 'M1', rank: 0 }))(true);
    await limitOf().sendHolds([{ owner: 'M1', forMs: 60_000 }]);
    await time.sleep(5_000);
    (await queue.enter({ owner: 'M2', rank: 0 }))(true);
    await time.sleep(10);
    (await queue.enter({ owner: 'M1', rank: 0 }))(true);
    expect(time.clock() - BEGIN_MS).toBeGreaterThanOrEqual(60_000);
  });
});

describe('a limit that gives no answer', () => {
  const lost = new Error('the database was lost');
  const silent: SharedLimit = {
    take: () => Promise.reject(lost),
    holds: () => Promise.reject(lost),
    sendHolds: () => Promise.reject(lost),
  };

  test('ends the calls that wait for their part of a rate, and later ones are asked for again', async () => {
    const time = virtualTime(BEGIN_MS, setImmediate);
    let isBack = false;
    const limit: SharedLimit = {
      ...silent,
      take: () => (isBack ? Promise.resolve({ afterMs: 0, holds: [] }) : Promise.reject(lost)),
    };
    const queue = createRequestQueue(4, 10, time, limit);
    const enter = () => queue.enter({ owner: 'M1', rank: 0 }).catch((error: unknown) => error);
    expect(await Promise.all([enter(), enter()])).toEqual([lost, lost]);
    isBack = true;
    expect(await enter()).toBeTypeOf('function');
  });

  test('stops nothing where there is no rate', async () => {
    const queue = createRequestQueue(4, null, virtualTime(BEGIN_MS, setImmediate), silent);
    expect(await queue.enter({ owner: 'M1', rank: 0 })).toBeTypeOf('function');
  });
});
