/** When a merchant is reported to have nothing but waits. */
import { expect, test } from 'vitest';
import type { Outcome, Reply } from '../../src/platform/attempt.ts';
import { PlatformUnreachable } from '../../src/platform/errors.ts';
import { createTransportOver } from '../../src/platform/transport.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { callOf, settingsOf } from './stranger.ts';

interface Answer {
  readonly afterMs: number;
  /** Retry-After of a 429; left out: the call succeeds. */
  readonly askedMs?: number;
}

const OK: Outcome<Reply> = { ok: true, value: { text: 'ok', clock: null } };
const tooMany = (askedMs: number): Outcome<Reply> => ({
  ok: false,
  failure: { error: new PlatformUnreachable('429', false), retry: 'yes', askedMs, answered: true },
});

/** A platform that answers the calls of each merchant in turn, the last answer for ever. Notes what is reported, and when. */
function watched(concurrency: number, answers: Readonly<Record<string, readonly Answer[]>>) {
  const time = virtualTime(0);
  const reported: string[] = [];
  const calls: Record<string, number> = {};
  const transport = createTransportOver(
    {
      attempt: async ({ headers }) => {
        const merchantNo = headers['merchantNo']!;
        const call = (calls[merchantNo] = (calls[merchantNo] ?? 0) + 1);
        const list = answers[merchantNo]!;
        const { afterMs, askedMs } = list[Math.min(call, list.length) - 1]!;
        await time.sleep(afterMs);
        return askedMs === undefined ? OK : tooMany(askedMs);
      },
      close: () => Promise.resolve(),
    },
    settingsOf('http://127.0.0.1:1', { concurrency }),
    {
      ...time,
      random: () => 0,
      onWaiting: (merchantNo, isWaiting) =>
        reported.push(`${merchantNo} ${isWaiting ? 'waits' : 'goes on'} at ${time.clock()}`),
    },
  );
  const post = (merchantNo: string) =>
    transport.post(callOf({ access: { kind: 'merchant', merchant: { merchantNo, token: 'made-up' } } }));
  return { reported, post };
}

test('a call that is not answered for a second, until it is', async () => {
  const { reported, post } = watched(4, { slow: [{ afterMs: 3_000 }], quick: [{ afterMs: 900 }] });
  await Promise.all([post('slow'), post('quick')]);
  expect(reported).toEqual(['slow waits at 1000', 'slow goes on at 3000']);
});

test('a merchant on hold, with its queued calls', async () => {
  const { reported, post } = watched(4, { M1: [{ afterMs: 50, askedMs: 9_000 }, { afterMs: 50 }] });
  await Promise.all([post('M1'), post('M1'), post('M1'), post('M1'), post('M1'), post('M1')]);
  expect(reported).toEqual(['M1 waits at 50', 'M1 goes on at 9050']);
});

test('not while another call of the same merchant moves on', async () => {
  const { reported, post } = watched(4, { M1: [{ afterMs: 4_000 }, { afterMs: 900 }, { afterMs: 900 }] });
  const slow = post('M1');
  await post('M1');
  await post('M1');
  await slow;
  expect(reported).toEqual(['M1 waits at 1800', 'M1 goes on at 4000']);
});

test('not for a short wait before the next try, and not while queued for a slot', async () => {
  const { reported, post } = watched(1, {
    M1: [{ afterMs: 50, askedMs: 0 }, { afterMs: 900 }],
    M2: [{ afterMs: 900 }],
  });
  await Promise.all([post('M1'), post('M2'), post('M2'), post('M2')]);
  expect(reported).toEqual([]);
});

test('a call that is given up is no wait any more', async () => {
  const { reported, post } = watched(4, { M1: [{ afterMs: 50, askedMs: 700_000 }] });
  await expect(post('M1')).rejects.toThrow('700 s');
  await expect(post('M1')).rejects.toThrow('700 s');
  expect(reported).toEqual(['M1 waits at 50', 'M1 goes on at 600050']);
});
