/** Ticks, places and lines of the chart against d3's. */
import { scaleLinear } from 'd3-scale';
import { area, curveStepAfter, line } from 'd3-shape';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  linear,
  stepArea,
  stepLine,
  ticksIn,
  widenedToTicks,
} from '../../../../src/plugins/pages/html/chart-lines.ts';

const amount = fc.oneof(
  fc
    .tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 0, max: 12 }))
    .map(([digits, places]) => Number(`${digits}e-${places}`)),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, min: 1e-30, max: 1e30 }),
  fc.double({ noNaN: true, min: -1e30, max: -1e-30 }),
  fc.constantFrom(0, 1, -1, 0.1, 100),
);
const extent = fc
  .oneof(
    fc.tuple(amount, amount),
    fc.tuple(amount, fc.constantFrom(0, 0.01, 1, 5, 1e-6)).map(([from, more]) => [from, from + more]),
  )
  .map(([from, to]): [number, number] => [Math.min(from, to), Math.max(from, to)]);
const count = fc.integer({ min: 2, max: 12 });
const point = fc.tuple(
  fc.double({ noNaN: true, min: -2_000, max: 2_000 }),
  fc.double({ noNaN: true, min: -2_000, max: 2_000 }),
);

test('balances between 1 and 9.7 have ticks at each second unit, and the chart ends at ticks', () => {
  expect(widenedToTicks([1, 9.7], 5)).toEqual([0, 10]);
  expect(ticksIn([1, 9.7], 5)).toEqual([2, 4, 6, 8]);
});

test('a balance that never changes has one tick, in the middle', () => {
  expect(widenedToTicks([7, 7], 5)).toEqual([7, 7]);
  expect(ticksIn([7, 7], 5)).toEqual([7]);
  expect(linear([7, 7], [254, 26])(7)).toBe(140);
});

test('of any balances the extent, the ticks and the places are those of d3', () => {
  fc.assert(
    fc.property(extent, count, fc.double({ noNaN: true, min: 0, max: 1 }), (given, ticks, share) => {
      const theirs = scaleLinear(given, [254, 26]);
      expect(ticksIn(given, ticks)).toEqual(theirs.ticks(ticks));
      theirs.nice(ticks);
      const wide = widenedToTicks(given, ticks);
      expect(wide).toEqual(theirs.domain());
      expect(ticksIn(wide, ticks)).toEqual(theirs.ticks(ticks));
      const value = given[0] + share * (given[1] - given[0]);
      expect(linear(wide, [254, 26])(value)).toBe(theirs(value));
    }),
    { numRuns: 5_000 },
  );
});

test('the line and the area below it have the bytes of d3’s', () => {
  fc.assert(
    fc.property(fc.array(point, { minLength: 2, maxLength: 30 }), fc.nat(300), (points, base) => {
      expect(stepLine(points)).toBe(line().curve(curveStepAfter).digits(1)(points));
      expect(stepArea(points, base)).toBe(area().y0(base).curve(curveStepAfter).digits(1)(points));
    }),
    { numRuns: 1_000 },
  );
});
