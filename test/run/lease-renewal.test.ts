/** A holder that cannot renew its lease stops by its own monotonic clock, whether the database answers or not. */
import { describe, expect, it } from 'vitest';
import { createRenewal, LEASE_TTL_MS } from '../../src/run/leases.ts';
import { StoreUnreachable } from '../../src/store/engine/errors.ts';

const AWAY = new StoreUnreachable('away');

/** A holder since time 0. Its renewals end one after the other as in `ends`; further ones never end. */
function holder(ends: (Error | 'renewed')[]) {
  const lost: number[] = [];
  let nowMs = 0;
  let asked = 0;
  const renew = () => {
    const end = ends[asked];
    asked += 1;
    if (end === undefined) return new Promise<void>(() => undefined);
    return end === 'renewed' ? Promise.resolve() : Promise.reject(end);
  };
  const renewal = createRenewal({
    ttlMs: LEASE_TTL_MS,
    heldSinceMs: 0,
    monotonicMs: () => nowMs,
    renew,
    onSilence: (ageS) => lost.push(ageS),
  });
  const at = (ms: number): Promise<void> => {
    nowMs = ms;
    return renewal();
  };
  return { at, lost, asked: () => asked };
}

describe('a lease is renewed', () => {
  it('and held as long as renewals succeed', async () => {
    const { at, lost } = holder(Array<'renewed'>(10).fill('renewed'));
    for (let beat = 1; beat <= 10; beat += 1) await at(beat * 50_000);
    expect(lost).toEqual([]);
  });

  it('and held if the database is away for less than its duration', async () => {
    const { at, lost } = holder(['renewed', AWAY, AWAY, AWAY, 'renewed']);
    for (const ms of [15_000, 30_000, 45_000, 60_000, 74_000]) await at(ms);
    expect(lost).toEqual([]);
  });

  it('and given up if the database is away for its duration, counted from the last success', async () => {
    const { at, lost } = holder(['renewed', AWAY, AWAY, AWAY]);
    for (const ms of [15_000, 30_000, 74_999]) await at(ms);
    expect(lost).toEqual([]);
    await at(75_000);
    expect(lost).toEqual([60]);
  });

  it('and given up if no answer comes; only one renewal is under way at a time', async () => {
    const { at, lost, asked } = holder([]);
    void at(15_000);
    for (const ms of [30_000, 45_000]) await at(ms);
    expect(lost).toEqual([]);
    await at(60_000);
    expect(lost).toHaveLength(1);
    expect(asked()).toBe(1);
  });

  it('first of all after a process was stopped, as perhaps nobody has taken it', async () => {
    const { at, lost } = holder(['renewed', 'renewed']);
    await at(15_000);
    await at(600_000);
    expect(lost).toEqual([]);
  });
});
