/** Shares of a pool: what is reserved is found free, the rest is for who comes first, and no place is lost. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { createShares } from '../../src/store/engine/shares.ts';

const REFUSED = new Error('no connection of this process became free within 5 s');

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A pool that hands out as many clients as are asked for, and counts those in use. */
function countedPool() {
  const state = { used: 0, most: 0, failNext: false };
  const pool: PostgresPool = {
    options: {},
    end: () => Promise.resolve(),
    connect: () => {
      if (state.failNext) {
        state.failNext = false;
        return Promise.reject(new Error('away'));
      }
      state.used += 1;
      state.most = Math.max(state.most, state.used);
      const release = () => void (state.used -= 1);
      return Promise.resolve({ release, query: () => Promise.reject(new Error('none')) } as never);
    },
  };
  return { pool, state };
}

const sharesOf = (connectionsMax: number) => {
  const { pool, state } = countedPool();
  return { state, ...createShares(pool, { connectionsMax, waitMs: 5_000, givenUp: () => REFUSED }) };
};

/** Clients that came so far. */
function asking(pool: PostgresPool, count: number): PostgresPoolClient[] {
  const came: PostgresPoolClient[] = [];
  for (let nth = 0; nth < count; nth += 1) void pool.connect().then((client) => came.push(client));
  return came;
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('what is reserved stays free, however many ask for the rest', async () => {
  const { common, reserve, state } = sharesOf(7);
  const [posts, health] = [reserve(1), reserve(2)];
  const pages = asking(common, 20);
  await settled();
  expect(pages).toHaveLength(4);
  const [ofPosts, ofHealth] = [asking(posts, 3), asking(health, 3)];
  await settled();
  expect([ofPosts.length, ofHealth.length, state.used]).toEqual([1, 2, 7]);
  // A common one goes to who waited for longest, whoever that is.
  pages[0]!.release();
  await settled();
  expect([pages.length, ofPosts.length]).toEqual([5, 1]);
  ofPosts[0]!.release();
  await settled();
  expect([pages.length, ofPosts.length]).toEqual([5, 2]);
});

test('who has connections reserved takes free common ones, too', async () => {
  const { common, reserve } = sharesOf(5);
  const posts = reserve(1);
  const came = asking(posts, 9);
  await settled();
  expect(came).toHaveLength(5);
  const pages = asking(common, 1);
  came[1]!.release();
  await settled();
  // Of those who wait for a common one, the posts came first.
  expect([came.length, pages.length]).toEqual([6, 0]);
});

test('a small pool reserves what it can, and one stays common', async () => {
  const { common, reserve } = sharesOf(2);
  const [posts, health] = [reserve(1), reserve(2)];
  const pages = asking(common, 3);
  const ofHealth = asking(health, 1);
  const ofPosts = asking(posts, 1);
  await settled();
  expect([pages.length, ofHealth.length, ofPosts.length]).toEqual([1, 0, 1]);
  pages[0]!.release();
  await settled();
  pages[1]!.release();
  await settled();
  pages[2]!.release();
  await settled();
  expect([pages.length, ofHealth.length]).toEqual([3, 1]);
});

test('who waits too long is refused, and takes nothing any more', async () => {
  const { common, state } = sharesOf(1);
  const held = await common.connect();
  const refused = expect(common.connect()).rejects.toBe(REFUSED);
  vi.advanceTimersByTime(5_000);
  await refused;
  held.release();
  const next = await common.connect();
  next.release();
  expect(state).toMatchObject({ used: 0, most: 1 });
  expect(vi.getTimerCount()).toBe(0);
});

test('however work comes, fails and goes, no more are in use than there are, and all come back', async () => {
  const step = fc.record({
    by: fc.nat({ max: 2 }),
    does: fc.constantFrom('ask', 'leave', 'fail'),
    nth: fc.nat({ max: 9 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 9 }),
      fc.array(step, { maxLength: 60 }),
      async (max, steps) => {
        const { common, reserve, state } = sharesOf(max);
        const pools = [common, reserve(1), reserve(2)];
        const came: PostgresPoolClient[] = [];
        let [asked, failed] = [0, 0];
        for (const { by, does, nth } of steps) {
          if (does === 'leave') came.splice(nth, 1)[0]?.release();
          else {
            asked += 1;
            state.failNext = does === 'fail' && state.used < max;
            pools[by]!.connect().then(
              (client) => came.push(client),
              () => (failed += 1),
            );
            await settled();
            state.failNext = false;
          }
          await settled();
          expect(state.used).toBeLessThanOrEqual(max);
        }
        let done = 0;
        for (let one = came.pop(); one !== undefined; one = came.pop()) {
          one.release();
          done += 1;
          await settled();
        }
        const left = steps.filter(({ does }) => does === 'leave').length;
        expect(state.used).toBe(0);
        expect(done + failed).toBeGreaterThanOrEqual(asked - left);
      },
    ),
    { numRuns: 60 },
  );
});
