/** The scheduler decides as the plain rules do, and costs the same with many owners. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Owner, type Waiting, FairScheduler } from '../../src/platform/fair-scheduler.ts';
import { PlainScheduler } from './plain-scheduler.ts';

const idle = (): Waiting => ({ rank: 0, go: () => undefined, fail: () => undefined, held: () => undefined });

type Step =
  | { readonly kind: 'call'; readonly name: string }
  | { readonly kind: 'give up'; readonly name: string }
  | { readonly kind: 'hold'; readonly name: string; readonly ms: number }
  | { readonly kind: 'end'; readonly pick: number; readonly answered: boolean | null }
  | { readonly kind: 'wait'; readonly ms: number };

// Mostly few, as shares and the last slot matter then.
const name = fc.oneof(fc.nat(3), fc.nat(14)).map((number) => `M${number}`);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('call' as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('give up' as const), name }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('hold' as const),
      name,
      ms: fc.constantFrom(100, 3_000, 20_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      pick: fc.nat(63),
      answered: fc.constantFrom(true, true, false, null),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 400, 4_000) }),
  },
);

/** Takes the same steps with both, and compares whom they let through, and when the next one may go. */
function compare(slots: number, steps: readonly Step[]): void {
  const scheduler = new FairScheduler(slots);
  const plain = new PlainScheduler(slots);
  const waiting = new Map<string, Waiting[]>();
  const owners = new Map<string, Owner>();
  const inFlight: string[] = [];
  let nowMs = 1_000_000;

  const take = (taken: Step): void => {
    if (taken.kind === 'wait') nowMs += taken.ms;
    else if (taken.kind === 'hold') {
      scheduler.hold(taken.name, nowMs + taken.ms);
      plain.hold(taken.name, nowMs + taken.ms);
    } else if (taken.kind === 'call') {
      const list = waiting.get(taken.name) ?? [];
      const call: Waiting = { ...idle(), go: () => list.splice(list.indexOf(call), 1) };
      waiting.set(taken.name, list);
      list.push(call);
      owners.set(taken.name, scheduler.add(taken.name, call, nowMs));
      plain.add(taken.name, nowMs);
    } else if (taken.kind === 'give up') {
      const call = waiting.get(taken.name)?.pop();
      if (call === undefined) return;
      scheduler.remove(owners.get(taken.name)!, call);
      plain.remove(taken.name);
    } else {
      if (inFlight.length === 0) return;
      const [ended] = inFlight.splice(taken.pick % inFlight.length, 1);
      scheduler.release(owners.get(ended!)!, taken.answered, nowMs);
      plain.release(plain.ownerOf(ended!), taken.answered, nowMs);
    }
  };

  for (const taken of steps) {
    take(taken);
    while (scheduler.hasFreeSlot) {
      const next = scheduler.next(nowMs);
      const wanted = plain.next(nowMs);
      expect([next.owner?.name, next.atMs]).toEqual([wanted.owner?.name, wanted.atMs]);
      if (next.owner === null) break;
      inFlight.push(next.owner.name);
      scheduler.start(next.owner);
      plain.start(wanted.owner!);
    }
    expect(scheduler.hasFreeSlot).toBe(plain.hasFreeSlot);
  }
}

test('whoever is next, and when, is as by the plain rules', () => {
  fc.assert(
    fc.property(fc.constantFrom(1, 2, 3, 8, 16), fc.array(step, { maxLength: 140, size: 'max' }), compare),
    {
      numRuns: 500,
    },
  );
});

describe('an owner that has not called for ten minutes', () => {
  const MINUTES_MS = 60_000;
  /** Lets M1 call once, and says with which owner it is known ten minutes later. */
  const isKnownLater = (answered: boolean | null, heldMs = 0): boolean => {
    const scheduler = new FairScheduler(4);
    const owner = scheduler.add('M1', idle(), 0);
    scheduler.start(owner);
    scheduler.release(owner, answered, 0);
    if (heldMs > 0) scheduler.hold('M1', heldMs);
    scheduler.add('M2', idle(), 10 * MINUTES_MS);
    return scheduler.add('M1', idle(), 10 * MINUTES_MS) === owner;
  };

  test('is forgotten', () => {
    expect([isKnownLater(true), isKnownLater(null)]).toEqual([false, false]);
  });

  test('is remembered if its last call was not answered, or if it is held', () => {
    expect([isKnownLater(false), isKnownLater(true, 11 * MINUTES_MS)]).toEqual([true, true]);
  });
});

test('a turn costs about the same, whether ten owners are known or ten thousand', () => {
  /** Microseconds a call of one of eight owners that take turns while `others` wait, held, or are idle. */
  const costUs = (others: number): number => {
    const scheduler = new FairScheduler(8);
    for (let number = 0; number < others; number += 1) {
      if (number % 3 === 0) scheduler.hold(`held ${number}`, 1e9 + number);
      const owner = scheduler.add(number % 3 === 0 ? `held ${number}` : `idle ${number}`, idle(), number);
      if (number % 3 === 0) continue;
      scheduler.start(owner);
      scheduler.release(owner, true, number);
    }
    const CALLS = 4_000;
    const beginMs = performance.now();
    for (let call = 0; call < CALLS; call += 1) {
      scheduler.add(`M${call % 8}`, idle(), 1e6 + call);
      const { owner } = scheduler.next(1e6 + call);
      scheduler.start(owner!);
      scheduler.release(owner!, true, 1e6 + call);
    }
    return ((performance.now() - beginMs) * 1_000) / CALLS;
  };
  const best = (others: number): number => Math.min(...[1, 2, 3, 4, 5].map(() => costUs(others)));
  const [few, many] = [best(10), best(10_000)];
  expect(many).toBeLessThan(few * 10 + 20);
});
