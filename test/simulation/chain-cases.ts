/**
 * Draws ledgers of one account: repeating or unique amounts, many entries in one second, timestamps that are off, one
 * flaw.
 */
import fc from 'fast-check';
import type { Move } from './chain-search.ts';

export interface ChainCase {
  readonly toleranceS: number;
  /** Null at the start of a history. */
  readonly opening: number | null;
  readonly moves: readonly Move[];
  /** Where the entries are cut into pushes, by their places in time order. */
  readonly cuts: readonly number[];
}

interface Recipe {
  readonly toleranceS: number;
  readonly opening: number | null;
  readonly steps: readonly { gap: number; net: number; drift: number; rank: number }[];
  readonly flaw: 'none' | 'missing' | 'doubled' | 'swapped';
  readonly flawAt: number;
  readonly cuts: readonly number[];
}

const START_SECOND = 100;

const gaps = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 2 }) },
  { weight: 2, arbitrary: fc.integer({ min: 3, max: 9 }) },
);
const drifts = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: -2, max: 2 }) },
  { weight: 1, arbitrary: fc.integer({ min: -5, max: 5 }) },
);
const repeating = fc.constantFrom(-10, -5, -1, 1, 5, 10);
const distinct = fc.integer({ min: -99_999, max: 99_999 }).filter((net) => net !== 0);

const recipeOf = (stepsMax: number, nets: fc.Arbitrary<number>): fc.Arbitrary<Recipe> =>
  fc.record({
    toleranceS: fc.constantFrom(0, 0, 1, 2, 2, 3),
    opening: fc.constantFrom(null, 0, 10),
    steps: fc.array(
      fc.record({ gap: gaps, net: nets, drift: drifts, rank: fc.integer({ min: 0, max: 9 }) }),
      { minLength: 1, maxLength: stepsMax, size: 'max' },
    ),
    flaw: fc.constantFrom('none', 'none', 'missing', 'doubled', 'swapped'),
    flawAt: fc.nat(stepsMax - 1),
    cuts: fc.array(fc.nat(stepsMax), { maxLength: 4 }),
  });

/** Makes the entries with their flaw. The balances show what truly happened. */
function build({ toleranceS, opening, steps, flaw, flawAt, cuts }: Recipe): ChainCase {
  let second = START_SECOND;
  let balance = opening ?? 0;
  const booked = steps.map(({ gap, net, drift, rank }, index): Move => {
    second += gap;
    balance += net;
    return { batchNo: `${rank}-${index}`, net, balance, second: second + drift };
  });
  const at = flawAt % booked.length;
  const flawed = booked[at]!;
  if (flaw === 'missing' && booked.length > 1) booked.splice(at, 1);
  else if (flaw === 'doubled') booked.splice(at, 0, { ...flawed, batchNo: `${flawed.batchNo}-again` });
  else if (flaw === 'swapped') booked[at] = { ...flawed, net: -flawed.net };
  return { toleranceS, opening, moves: booked, cuts };
}

/** Small ledgers of up to ten entries, all orders of which can be tried, and long ones. */
export const chainCases: fc.Arbitrary<ChainCase> = fc
  .oneof(
    { weight: 4, arbitrary: recipeOf(9, repeating) },
    { weight: 2, arbitrary: recipeOf(9, distinct) },
    { weight: 2, arbitrary: recipeOf(40, repeating) },
    { weight: 1, arbitrary: recipeOf(40, distinct) },
  )
  .map(build);
