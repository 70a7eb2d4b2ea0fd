/**
 * Draws platforms that misbehave: what they hold, in which order they show it, and what happens while they are read.
 */
import fc from 'fast-check';

const WRECKS = ['none', 'named', 'identical'] as const;

/** Entries that are booked together. */
export interface Group {
  readonly day: 0 | 1;
  readonly second: number;
  readonly count: number;
  /** All in one millisecond, or spread over a second. */
  readonly together: boolean;
  /** The first `wrecked` of them cannot be read. */
  readonly wrecked: number;
  readonly wreck: (typeof WRECKS)[number];
}

/** Something that happens right before a call is answered. */
export interface Happening {
  readonly what: 'join' | 'leave' | 'amend' | 'wreck' | 'wreckNameless';
  readonly call: number;
  readonly pick: number;
}

/** Ways to misbehave that a reader can notice. Every `everyNth` call does so. */
export type Misdeed =
  | { readonly what: 'none' }
  | { readonly what: 'totals'; readonly everyNth: number; readonly by: number }
  | { readonly what: 'short' | 'doubled'; readonly everyNth: number }
  | { readonly what: 'fails' | 'emptyOnce'; readonly call: number }
  | { readonly what: 'ignoresBatchNo' | 'ignoresDates' | 'ignoresDatesWithBatchNo' };

export interface Reading {
  readonly happenings: readonly Happening[];
  readonly misdeed: Misdeed;
}

export interface WindowCase {
  readonly seed: number;
  readonly order: 'stable' | 'reversed' | 'shuffled' | 'restless';
  /** By how many minutes the platform's timestamps are off from the zone that daybook is set to. */
  readonly zoneOffMinutes: number;
  readonly groups: readonly Group[];
  readonly readings: readonly Reading[];
}

const groups: fc.Arbitrary<Group> = fc.record({
  day: fc.constantFrom(0, 1),
  second: fc.constantFrom(0, 1, 2, 3_600, 43_200, 43_201, 86_399),
  count: fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 6 }) },
    { weight: 2, arbitrary: fc.constantFrom(49, 50, 51, 99, 100, 101) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 130 }) },
  ),
  together: fc.boolean(),
  wrecked: fc.constantFrom(0, 0, 0, 0, 1, 2),
  wreck: fc.constantFrom(...WRECKS),
});

const happenings: fc.Arbitrary<Happening> = fc.record({
  what: fc.constantFrom('join', 'join', 'leave', 'leave', 'amend', 'wreck', 'wreckNameless'),
  call: fc.oneof(fc.nat(6), fc.nat(40)),
  pick: fc.nat(400),
});

const misdeeds: fc.Arbitrary<Misdeed> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ what: 'none' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('totals' as const),
      everyNth: fc.integer({ min: 2, max: 6 }),
      by: fc.constantFrom(-2, -1, 1, 2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('short' as const, 'doubled' as const),
      everyNth: fc.integer({ min: 2, max: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constantFrom('fails' as const, 'emptyOnce' as const), call: fc.nat(12) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constantFrom(
        'ignoresBatchNo' as const,
        'ignoresDates' as const,
        'ignoresDatesWithBatchNo' as const,
      ),
    }),
  },
);

export const windowCases: fc.Arbitrary<WindowCase> = fc.record({
  seed: fc.noShrink(fc.nat(1_000_000)),
  order: fc.constantFrom('stable', 'reversed', 'shuffled', 'restless'),
  zoneOffMinutes: fc.constantFrom(0, 0, 0, 0, 0, 0, 60, -480),
  groups: fc.array(groups, { minLength: 1, maxLength: 6, size: 'max' }),
  readings: fc.array(fc.record({ happenings: fc.array(happenings, { maxLength: 4 }), misdeed: misdeeds }), {
    minLength: 1,
    maxLength: 3,
  }),
});
