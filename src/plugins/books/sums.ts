/**
 * The search of the rule `sum`: which entries of the other side add up to one entry. Pure. Every solution is found or none is
 * given, so that whoever asks knows whether there is another one.
 */
import { decimalsOf, fromScaled, toScaled } from '../../ledger/money.ts';

/** Most entries that may be candidates of one sum. Beyond it nothing is searched. */
export const SUM_CANDIDATES_MAX = 30;
/** Most solutions of one sum. Beyond it the search ends without a result. */
const SOLUTIONS_MAX = 200;
/** A sum is believed if fewer than one in so many searches would find one by chance. */
const CHANCE = 10_000n;
/** A pair is given up for a sum if fewer than one in so many searches would find one by chance. */
const COMPLETION_CHANCE = 10n;
/** Most sums that are tried to give up pairs, of one entry or day. */
const COMPLETIONS_MAX = 20_000;

export interface Solution {
  /** Places of the candidates that add up to the target, ascending. */
  readonly places: readonly number[];
  /** Whether so many subsets were searched that one of them may agree by chance. */
  readonly mayBeChance: boolean;
}

/**
 * All subsets of 2 to `entriesMax` of the amounts that add up to the target. Amounts are exact decimals other than zero. Null
 * where there are too many amounts or solutions to find all.
 */
export function sumsOf(
  target: string,
  amounts: readonly string[],
  entriesMax: number,
): readonly Solution[] | null {
  if (amounts.length > SUM_CANDIDATES_MAX) return null;
  const scale = Math.max(...[target, ...amounts].map(decimalsOf));
  const goal = toScaled(target, scale);
  const values = amounts.map((amount) => toScaled(amount, scale));
  const found = subsetsThatAddUpTo(goal, values, entriesMax);
  return found?.map((places) => ({ places, mayBeChance: mayBeChance(goal, values, places.length) })) ?? null;
}

/** Subsets of one size: the places of each, and their sum. */
type Subsets = readonly { readonly places: readonly number[]; readonly sum: bigint }[];

function subsetsThatAddUpTo(
  goal: bigint,
  values: readonly bigint[],
  entriesMax: number,
): readonly number[][] | null {
  const ofSize: Subsets[] = [[{ places: [], sum: 0n }]];
  for (let size = 1; size <= Math.ceil(entriesMax / 2); size++)
    ofSize.push(larger(ofSize[size - 1]!, values));
  const found: number[][] = [];
  for (let size = 2; size <= Math.min(entriesMax, values.length); size++) {
    // The first half of a subset lies before its second one, so each subset is met once.
    const second = Map.groupBy(ofSize[Math.floor(size / 2)]!, ({ sum }) => sum);
    for (const { places, sum } of ofSize[Math.ceil(size / 2)]!) {
      for (const rest of second.get(goal - sum) ?? [])
        if (rest.places[0]! > places.at(-1)!) found.push([...places, ...rest.places]);
      if (found.length > SOLUTIONS_MAX) return null;
    }
  }
  return found;
}

const larger = (subsets: Subsets, values: readonly bigint[]): Subsets =>
  subsets.flatMap(({ places, sum }) =>
    values.flatMap((value, place) =>
      place > (places.at(-1) ?? -1) ? [{ places: [...places, place], sum: sum + value }] : [],
    ),
  );

/**
 * The amounts that would make a sum with several of these, all of one sign: the sum itself (`target` is null), or what the target still
 * lacks. The smallest amounts are tried first, and no more than chance allows among the `among` entries that are compared.
 */
export function completions(
  target: string | null,
  amounts: readonly string[],
  { entriesMax, among }: { readonly entriesMax: number; readonly among: number },
): string[] {
  if (among === 0) return [];
  const scale = Math.max(...[target ?? '0', ...amounts].map(decimalsOf));
  const goal = toScaled(target ?? '0', scale);
  const values = amounts.map((amount) => toScaled(amount, scale));
  const found = [1n, -1n].flatMap((sign) => {
    const ofSign = values.filter(
      (value) => value * sign > 0n && (target === null || value * sign < goal * sign),
    );
    const [least, most] = target === null ? [2, entriesMax] : [1, entriesMax - 1];
    const ascending = ofSign.toSorted((a, b) => Number((a - b) * sign));
    return sumsOfSome(ascending, goal, { least, most, among });
  });
  return found.map((sum) => fromScaled(target === null ? sum : goal - sum, scale));
}

/** The sums of some of these values, which ascend, for as long as less of them are tried than chance allows. */
function sumsOfSome(
  values: readonly bigint[],
  goal: bigint,
  { least, most, among }: Readonly<Record<'least' | 'most' | 'among', number>>,
): bigint[] {
  const sums: bigint[] = [];
  values.forEach((largest, place) => {
    const smaller = values.slice(0, place);
    const possible = possibleSums(goal, [...smaller, largest]);
    let subsets: Subsets = [{ places: [], sum: 0n }];
    for (let size = 1; size <= most && subsets.length > 0; size++) {
      if (size >= least) {
        const tried = sums.length + subsets.length;
        if (tried > COMPLETIONS_MAX || BigInt(tried * among) * COMPLETION_CHANCE > possible) return;
        sums.push(...subsets.map(({ sum }) => sum + largest));
      }
      subsets = larger(subsets, smaller);
    }
  });
  return sums;
}

/** As many sums are possible as the amounts have steps, of the largest step that divides them and the target. */
const possibleSums = (goal: bigint, values: readonly bigint[]): bigint =>
  values.reduce((sum, value) => sum + absolute(value), 0n) / values.reduce(greatestDivisor, absolute(goal));

/** The subsets that are no larger than the solution are those that it was found among. */
function mayBeChance(goal: bigint, values: readonly bigint[], size: number): boolean {
  let searched = 0n;
  let ofSize = 1n;
  for (let one = 1; one <= size; one++) {
    ofSize = (ofSize * BigInt(values.length - one + 1)) / BigInt(one);
    if (one > 1) searched += ofSize;
  }
  return searched * CHANCE > possibleSums(goal, values);
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [large, small] = [absolute(a), absolute(b)];
  while (small > 0n) [large, small] = [small, large % small];
  return large;
}
