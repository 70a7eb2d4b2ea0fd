import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRequestQueue, type RequestQueue } from '../../src/platform/request-queue.ts';
import type { TimeSource } from '../../src/platform/rate-limiter.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const TIMEOUT_MS = 30_000;
const BEGIN_MS = 1_000_000;

/** A merchant with `calls` calls, of which it wants `width` at a time, and how the platform treats each. */
interface Merchant {
  readonly kind: 'fine' | 'slow' | 'hangs' | 'hangs after ten' | '429';
  readonly calls: number;
  readonly width: number;
  /** After each call the merchant works on its own for this long and wants no call. */
  readonly pauseMs: number;
}
const LATENCY_MS = 50;
const SLOW_MS = 2_000;

async function call(
  queue: RequestQueue,
  time: TimeSource,
  owner: string,
  merchant: Merchant,
  number: number,
): Promise<void> {
  const hangs = merchant.kind === 'hangs' || (merchant.kind === 'hangs after ten' && number >= 10);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const leave = await queue.enter({ owner, rank: number });
    await time.sleep(hangs ? TIMEOUT_MS : merchant.kind === 'slow' ? SLOW_MS : LATENCY_MS);
    leave(!hangs);
    if (merchant.kind === '429') queue.hold(owner, 5_000);
    else if (!hangs) return;
  }
}

/** When each merchant's last call ended, in ms since the start. */
async function night(
  merchants: readonly Merchant[],
  concurrency: number,
  ratePerS: number | null = null,
): Promise<{ ends: number[]; most: number }> {
  const time = virtualTime(BEGIN_MS);
  const queue = createRequestQueue(concurrency, ratePerS, time);
  let inFlight = 0;
  let most = 0;
  const counted: RequestQueue = {
    ...queue,
    enter: async (caller) => {
      const leave = await queue.enter(caller);
      most = Math.max(most, (inFlight += 1));
      return (answered) => {
        inFlight -= 1;
        leave(answered);
      };
    },
  };
  const ends = await Promise.all(
    merchants.map(async (merchant, index) => {
      let number = 0;
      const work = async (): Promise<void> => {
        while (number < merchant.calls) {
          await call(counted, time, `M${index}`, merchant, number++);
          if (merchant.pauseMs > 0) await time.sleep(merchant.pauseMs);
        }
      };
      await Promise.all(Array.from({ length: merchant.width }, work));
      return time.clock() - BEGIN_MS;
    }),
  );
  return { ends, most };
}

const FINE: Merchant = { kind: 'fine', calls: 40, width: 8, pauseMs: 0 };
const aloneMs = async (merchant: Merchant, concurrency: number, ratePerS: number | null = null) =>
  (await night([merchant], concurrency, ratePerS)).ends[0]!;

describe('one merchant that', () => {
  for (const { options, cases } of shortAndLong([
    ['never answers', { ...FINE, kind: 'hangs', width: 32 } as const],
    ['stops answering', { ...FINE, kind: 'hangs after ten', width: 32 } as const],
    ['is told to wait', { ...FINE, kind: '429', width: 32 } as const],
    ['is slow', { ...FINE, kind: 'slow', width: 32 } as const],
  ]))
    test.each(cases)(
      '%s takes at most half of the slots from the other, even if that one pauses between its calls',
      options,
      async (_, bad) => {
        for (const other of [FINE, { ...FINE, width: 1 }, { ...FINE, width: 1, pauseMs: 700 }]) {
          for (const order of ['first', 'last'] as const) {
            const alone = await aloneMs(other, 8);
            const { ends, most } = await night(order === 'first' ? [bad, other] : [other, bad], 8);
            expect(order === 'first' ? ends[1]! : ends[0]!).toBeLessThanOrEqual(2 * alone + LATENCY_MS);
            expect(most).toBeLessThanOrEqual(8);
          }
        }
      },
    );
});

test('a merchant alone gets every slot after its first reply, and the complete rate', async () => {
  expect(await aloneMs({ ...FINE, calls: 160, width: 32 }, 16)).toBeLessThanOrEqual(11 * LATENCY_MS);
  expect(await aloneMs({ ...FINE, calls: 41, width: 32 }, 16, 10)).toBe(4_000 + LATENCY_MS);
});

test('merchants take turns under a rate limit, whatever each wants and however slow it is', async () => {
  const time = virtualTime(BEGIN_MS);
  const queue = createRequestQueue(8, 10, time);
  const served: string[] = [];
  const make = async (owner: string, calls: number, latencyMs: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: calls }, async (_, rank) => {
        const leave = await queue.enter({ owner, rank });
        served.push(owner);
        await time.sleep(latencyMs);
        leave(true);
      }),
    );
  };
  await Promise.all([make('many', 100, 20), make('slow', 10, 390), make('few', 10, 20)]);
  expect(served.slice(0, 30).filter((owner) => owner === 'few')).toHaveLength(10);
  expect(served.slice(0, 30).filter((owner) => owner === 'slow').length).toBeGreaterThanOrEqual(9);
  expect(time.clock() - BEGIN_MS).toBeLessThanOrEqual(119 * 100 + 390);
});

test('a hold stops only its owner, and of one owner the call with the lowest rank goes first', async () => {
  const time = virtualTime(BEGIN_MS);
  const queue = createRequestQueue(1, null, time);
  const begun: string[] = [];
  queue.hold('held', 5_000);
  const make = async (owner: string, rank: number) => {
    const leave = await queue.enter({ owner, rank });
    begun.push(`${owner} ${rank} at ${time.clock() - BEGIN_MS}`);
    await time.sleep(10);
    leave(true);
  };
  await Promise.all([make('held', 1), make('free', 7), make('free', 3), make('free', 3), make('free', 9)]);
  expect(begun).toEqual(['free 7 at 0', 'free 3 at 10', 'free 3 at 20', 'free 9 at 30', 'held 1 at 5000']);
});

test('a caller that gives up while waiting leaves at once, and takes no slot', async () => {
  const time = virtualTime(BEGIN_MS);
  const queue = createRequestQueue(1, null, time);
  const leave = await queue.enter({ owner: 'a', rank: 0 });
  const stop = new AbortController();
  const given = queue.enter({ owner: 'b', rank: 0 }, stop.signal).catch((error: unknown) => error);
  const reason = new Error('enough');
  stop.abort(reason);
  expect(await given).toBe(reason);
  const after = queue.enter({ owner: 'c', rank: 0 });
  leave(null);
  (await after)(true);
  expect(
    await queue.enter({ owner: 'd', rank: 0 }, AbortSignal.abort(reason)).catch((error: unknown) => error),
  ).toBe(reason);
  (await queue.enter({ owner: 'e', rank: 0 }))(true);
});

const kinds = fc.constantFrom<Merchant['kind']>('fine', 'slow', 'hangs', 'hangs after ten', '429');
const anyMerchant = fc.record({
  kind: kinds,
  calls: fc.integer({ min: 1, max: 60 }),
  width: fc.integer({ min: 1, max: 32 }),
  pauseMs: fc.constantFrom<number>(0, 0, 20, 700),
});

test(
  'whatever the others do, a well-behaved merchant needs little longer than it would alone',
  { tags: ['long'] },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyMerchant, { maxLength: 6 }),
        anyMerchant,
        fc.nat(6),
        fc.constantFrom(2, 4, 8, 16),
        async (others, some, place, concurrency) => {
          const fine: Merchant = { ...some, kind: 'fine' };
          const at = Math.min(place, others.length);
          const { ends, most } = await night(others.toSpliced(at, 0, fine), concurrency);
          expect(most).toBeLessThanOrEqual(concurrency);
          const alone = await aloneMs(fine, concurrency);
          const count = others.length + 1;
          // A slow merchant keeps a slot for a while. Calls that hang can only take as many slots as there are tries.
          const slow = others.filter(({ kind }) => kind === 'slow').length;
          const hanging = others.filter(({ kind }) => kind.startsWith('hangs')).length;
          const waits = Math.ceil((3 * hanging) / Math.max(1, Math.floor(concurrency / 2)));
          const behindSlow = slow === 0 || count < concurrency ? slow * SLOW_MS : slow * SLOW_MS * fine.calls;
          expect(ends[at]!).toBeLessThanOrEqual(2 * count * alone + behindSlow + waits * TIMEOUT_MS);
        },
      ),
      { numRuns: 12 },
    );
  },
);
