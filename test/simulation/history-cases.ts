/** Draws histories: a ledger over a few days, what the platform does to it, and what is run in the meantime. */
import fc from 'fast-check';
import { KILLED_AT, type Kill } from './kill-switch.ts';

export interface Seedling {
  readonly day: number;
  /** Seconds since the day began. A value past the day's end means its last second. */
  readonly second: number;
  readonly net: number;
  readonly account: number;
  /** By how many seconds its timestamp is off. */
  readonly drift: number;
}

/** What happens to the ledger. `pick`, modulo the number of entries, chooses one. */
export type Change =
  | {
      readonly what: 'hide' | 'show' | 'retype' | 'flip' | 'wreck' | 'mend' | 'recurrency';
      readonly pick: number;
    }
  | {
      readonly what: 'rebalance' | 'shift' | 'amount' | 'seconds' | 'days';
      readonly pick: number;
      readonly by: number;
    }
  | { readonly what: 'hideDay' | 'showDay'; readonly day: number }
  | { readonly what: 'insert'; readonly entry: Seedling };

export type Act =
  | { readonly what: 'night'; readonly later: number; readonly account: number | null }
  | {
      readonly what: 'run' | 'sync' | 'reconcile' | 'publish';
      /** The number of the first day, and how many days. Null for the command's default. */
      readonly range: { readonly from: number; readonly days: number } | null;
      readonly account: number | null;
    };

export type Fault =
  | { readonly what: 'kill'; readonly kill: Kill }
  | { readonly what: 'failDay' | 'wrongTotalDay'; readonly day: number }
  | { readonly what: 'failFrom' | 'emptyOnce'; readonly call: number };

export interface Step {
  readonly changes: readonly Change[];
  readonly act: Act;
  readonly fault: Fault | null;
}

export interface HistoryCase {
  /** Index in `PLACES`. */
  readonly place: number;
  readonly order: 'ascending' | 'descending';
  readonly resweepDays: number;
  readonly toleranceS: number;
  readonly entries: readonly Seedling[];
  readonly steps: readonly Step[];
}

export const DAYS = 5;
/** Zones, each with the first of five days around a change of its clock. */
export const PLACES = [
  { zone: 'Asia/Shanghai', firstDay: '2026-03-02' },
  { zone: 'Europe/Berlin', firstDay: '2026-03-27' },
  { zone: 'Europe/Berlin', firstDay: '2026-10-23' },
  { zone: 'America/Santiago', firstDay: '2026-04-02' },
  { zone: 'America/Santiago', firstDay: '2026-09-04' },
  { zone: 'Australia/Lord_Howe', firstDay: '2026-04-03' },
  { zone: 'Australia/Lord_Howe', firstDay: '2026-10-02' },
] as const;

const days = fc.nat(DAYS - 1);
const accounts = fc.constantFrom(0, 0, 0, 1);
const picks = fc.nat(30);
const amounts = fc.constantFrom(-10, -5, -1, 1, 5, 10);
/** Seconds on both sides of midnight, in the hours in which clocks change, and one second with many entries. */
const seconds = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.constantFrom(43_200, 43_200, 43_201),
  fc.integer({ min: 3_600, max: 14_400 }),
  fc.integer({ min: 82_798, max: 82_802 }),
  fc.integer({ min: 86_395, max: 90_000 }),
);
const seedlings: fc.Arbitrary<Seedling> = fc.record({
  day: days,
  second: seconds,
  net: amounts,
  account: accounts,
  drift: fc.constantFrom(0, 0, 0, 0, -1, 1),
});

const changes: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      what: fc.constantFrom('hide', 'hide', 'show', 'show', 'retype', 'flip', 'wreck', 'mend', 'recurrency'),
      pick: picks,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constantFrom('rebalance', 'shift', 'amount', 'seconds', 'days'),
      pick: picks,
      by: fc.constantFrom(-10, -2, -1, 1, 2, 10),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('hideDay', 'showDay'), day: days }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('insert'), entry: seedlings }) },
);

const whichAccount = fc.constantFrom(null, null, null, 0, 1);
const ranges = fc.oneof(
  fc.constant(null),
  fc.record({ from: fc.integer({ min: 0, max: DAYS - 1 }), days: fc.integer({ min: 1, max: DAYS }) }),
);
const acts: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('night'),
      later: fc.constantFrom(1, 1, 1, 2, 3),
      account: fc.constantFrom(null, null, null, null, 0),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom('run', 'run', 'run', 'sync', 'sync', 'reconcile', 'publish', 'publish'),
      range: ranges,
      account: whichAccount,
    }),
  },
);

const faults: fc.Arbitrary<Fault | null> = fc.oneof(
  { weight: 10, arbitrary: fc.constant(null) },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('kill'),
      kill: fc.record({
        on: fc.constantFrom(...KILLED_AT),
        at: fc.oneof(fc.nat(8), fc.nat(60)),
        done: fc.boolean(),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('failDay', 'wrongTotalDay'), day: days }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('failFrom', 'emptyOnce'), call: fc.nat(9) }) },
);

export const historyCases: fc.Arbitrary<HistoryCase> = fc.record({
  place: fc.nat(PLACES.length - 1),
  order: fc.constantFrom('ascending', 'descending'),
  resweepDays: fc.nat(4),
  toleranceS: fc.constantFrom(2, 2, 0),
  entries: fc.array(seedlings, { minLength: 1, maxLength: 16, size: 'max' }),
  steps: fc.array(fc.record({ changes: fc.array(changes, { maxLength: 3 }), act: acts, fault: faults }), {
    minLength: 1,
    maxLength: 9,
    size: 'max',
  }),
});
