import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Window } from '../../src/ledger/entry.ts';
import { covers, lengthMs, mergeWindows, splitWindow, subtractWindows } from '../../src/ledger/window.ts';

/** Windows on a short stretch of time, so that they often touch and overlap. */
const windows = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.nat(12))
  .map(([beginMs, length]): Window => ({ beginMs, endMs: beginMs + length }));
const instantsIn = (all: readonly Window[]): Set<number> =>
  new Set(
    all.flatMap(({ beginMs, endMs }) => Array.from({ length: endMs - beginMs + 1 }, (_, n) => beginMs + n)),
  );

describe('splitWindow', () => {
  test('cuts on whole seconds', () => {
    expect(splitWindow({ beginMs: 0, endMs: 9_999 }, 3)).toEqual([
      { beginMs: 0, endMs: 2_999 },
      { beginMs: 3_000, endMs: 6_999 },
      { beginMs: 7_000, endMs: 9_999 },
    ]);
  });

  test('cuts below a second if needed, and leaves one millisecond whole', () => {
    expect(splitWindow({ beginMs: 5_000, endMs: 5_999 }, 2)).toEqual([
      { beginMs: 5_000, endMs: 5_499 },
      { beginMs: 5_500, endMs: 5_999 },
    ]);
    expect(splitWindow({ beginMs: 5_000, endMs: 5_000 }, 2)).toEqual([{ beginMs: 5_000, endMs: 5_000 }]);
  });

  test('covers the window exactly, without gap or overlap', () => {
    fc.assert(
      fc.property(
        fc.nat(2_000_000_000),
        fc.nat(90_000_000),
        fc.integer({ min: 1, max: 20 }),
        (beginMs, length, parts) => {
          const pieces = splitWindow({ beginMs, endMs: beginMs + length }, parts);
          expect(pieces[0]!.beginMs).toBe(beginMs);
          expect(pieces.at(-1)!.endMs).toBe(beginMs + length);
          pieces.slice(1).forEach((piece, index) => expect(piece.beginMs).toBe(pieces[index]!.endMs + 1));
          expect(pieces.every((piece) => lengthMs(piece) >= 1)).toBe(true);
          expect(pieces.length).toBeLessThanOrEqual(parts);
        },
      ),
    );
  });

  test('always cuts a window of two or more in two', () => {
    fc.assert(
      fc.property(fc.nat(2_000_000_000), fc.integer({ min: 1, max: 90_000_000 }), (beginMs, length) => {
        expect(splitWindow({ beginMs, endMs: beginMs + length }, 2)).toHaveLength(2);
      }),
    );
  });
});

describe('sets of windows', () => {
  test('are joined if they touch', () => {
    expect(
      mergeWindows([
        { beginMs: 10, endMs: 19 },
        { beginMs: 0, endMs: 9 },
        { beginMs: 21, endMs: 22 },
      ]),
    ).toEqual([
      { beginMs: 0, endMs: 19 },
      { beginMs: 21, endMs: 22 },
    ]);
  });

  test('behave like sets of instants', () => {
    fc.assert(
      fc.property(fc.array(windows), fc.array(windows), windows, (some, others, window) => {
        const left = instantsIn(some);
        const right = instantsIn(others);
        const merged = mergeWindows(some);
        expect(instantsIn(merged)).toEqual(left);
        merged
          .slice(1)
          .forEach((next, index) => expect(next.beginMs).toBeGreaterThan(merged[index]!.endMs + 1));
        expect(instantsIn(subtractWindows(some, others))).toEqual(
          new Set([...left].filter((instant) => !right.has(instant))),
        );
        expect(covers(some, window)).toBe([...instantsIn([window])].every((instant) => left.has(instant)));
      }),
    );
  });
});
