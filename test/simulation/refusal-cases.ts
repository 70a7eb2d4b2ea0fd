/** Draws histories of a platform that refuses: in which form, which calls, from which night on and for how long. */
import fc from 'fast-check';
import type { Books } from './books.ts';

/** How a refusal comes. All of them say that the call failed; most resemble data as well. */
const FORMS = [
  'code',
  'codeInData',
  'status',
  'flag',
  'honestList',
  'cutList',
  'othersBody',
  'errorDocument',
  'http500',
  'unavailable',
  'wordsAlone',
  'paddedCode',
  'nullList',
  'errorObject',
] as const;
export type Form = (typeof FORMS)[number];

/** Around an honest reply. */
const ENVELOPES = ['none', 'code', 'data'] as const;

/** Which calls are refused. Of `share` and `byQuery` a hundredth of `n` is the chance. */
const PATTERNS = [
  'every',
  'nth',
  'from',
  'laterPages',
  'filtered',
  'unfiltered',
  'long',
  'share',
  'byQuery',
] as const;

export interface RefusalCase extends Books {
  readonly envelope: (typeof ENVELOPES)[number];
  readonly form: Form;
  readonly pattern: (typeof PATTERNS)[number];
  readonly n: number;
  readonly retriesMax: number;
  /** The first night that is refused, and how many follow. */
  readonly first: number;
  readonly nights: number;
  readonly runsANight: number;
  readonly hasLists: boolean;
}

export const refusalCases: fc.Arbitrary<RefusalCase> = fc.record({
  envelope: fc.constantFrom(...ENVELOPES),
  form: fc.constantFrom(...FORMS),
  pattern: fc.constantFrom(...PATTERNS, 'every', 'byQuery'),
  n: fc.integer({ min: 1, max: 90 }),
  retriesMax: fc.constantFrom(0, 1, 2),
  first: fc.constantFrom(0, 1, 1, 2),
  nights: fc.integer({ min: 1, max: 6 }),
  runsANight: fc.constantFrom(1, 1, 2),
  counts: fc.array(fc.constantFrom(0, 1, 2, 3, 5, 8, 13, 130), { minLength: 1, maxLength: 6 }),
  salt: fc.nat(1_000_000),
  hasLists: fc.boolean(),
});
