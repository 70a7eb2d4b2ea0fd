/** Finds breaks of one account that have one cause in common, from their balances alone. */
import { addAmounts, compareAmounts, subtractAmounts, decimalsOf, fromScaled, toScaled } from '../money.ts';
import type { ContinuityBreak } from '../entry.ts';

/** Longest row of breaks that is blamed on entries of another account. Longer rows stay without an explanation. */
const BREAKS_IN_A_ROW_MAX = 20;

/**
 * An account that is emptied again and again keeps returning to this balance, so equal balances prove nothing there.
 */
const SWEPT = '0';
/** How many breaks with the same two balances are compared with one entry; there is nearly always just one. */
const GAPS_CHECKED_MAX = 20;

/**
 * Explains breaks that belong together: all breaks of one cause get the same hint. The result maps the index of a
 * break to its explanation. A break whose balances show nothing is not in the result.
 *
 * `breaks` are all breaks of one account, in order. `closing` is the balance after the account's last entry, null if
 * unknown. `known` are breaks already explained by better evidence than balances: they keep their explanation and are
 * not combined with others.
 *
 * Between two breaks the entries chain. So the balances before and after any stretch of entries are those of the
 * breaks at its two ends. Each cause is therefore an equation between the balances of a few breaks, and no entry is
 * needed.
 */
export function explainTogether(
  breaks: readonly BreakFigures[],
  {
    minorUnits,
    closing,
    known = new Map(),
  }: {
    readonly minorUnits: number | null;
    readonly closing: string | null;
    readonly known?: ReadonlyMap<number, Explanation>;
  },
): Map<number, Explanation> {
  const scene = sceneOf(breaks, closing, known);
  takeNoise(scene, minorUnits);
  takeSameBalances(scene);
  takeBalancesBefore(scene);
  takeScaledAmounts(scene);
  takeScaledBalances(scene);
  takeMoved(scene);
  takeLast(scene);
  takeSwappedBalances(scene);
  takeSingleBalances(scene);
  takeOutOfScope(scene);
  takeOffsets(scene);
  return scene.explained;
}

/** Breaks smaller than one minor unit: the number went through floating-point arithmetic. */
function takeNoise(scene: Scene, minorUnits: number | null): void {
  if (minorUnits === null) return;
  const unit = minorUnits === 0 ? '1' : `0.${'0'.repeat(minorUnits - 1)}1`;
  scene.jumps.forEach(({ missing }, index) => {
    const isNoise = compareAmounts(missing.replace('-', ''), unit) < 0;
    if (isNoise && isFree(scene, [index])) explain(scene, [index], 'below-minor-unit', null);
  });
}

/** Three or more entries in a row that show one and the same balance, though each of them has an amount. */
function takeSameBalances(scene: Scene): void {
  const { jumps, joined, into } = scene;
  jumps.forEach(({ after, expected }, index) => {
    const entrance = into(after);
    if (expected === SWEPT) return;
    // The row of breaks is explained from its first one.
    if (entrance !== undefined && jumps[entrance]!.expected === expected) return;
    const run = [index];
    for (let at = joined(index); at !== undefined && jumps[at]!.expected === expected; at = joined(at)) {
      run.push(at);
    }
    const isEntered = entrance !== undefined && isFree(scene, [entrance]);
    const all = isEntered ? [entrance, ...run] : run;
    // Two entries with one balance may be one entry that came twice, unless the breaks around them sum to zero.
    const isRun = run.length > 2 || (run.length === 2 && isEntered && isNothing(all.map((at) => jumps[at]!)));
    if (isRun && isFree(scene, run)) explain(scene, all, 'same-balance', after);
  });
}

/**
 * Entries that are stamped with the wrong time: the chain holds without them here, and with them at another break.
 *
 * ### Example
 *
 * The chain stands at 100. X leads from 250 to 260, and the next entry starts from 100 again: two breaks. Elsewhere a
 * break expects 250 and finds 260. There X fits exactly, so the three breaks have one cause.
 */
function takeMoved(scene: Scene): void {
  const { jumps, next } = scene;
  const gaps = new Map<string, number[]>();
  const ends = (from: string, to: string): string => `${from} ${to}`;
  jumps.forEach(({ expected, found }, index) => {
    const key = ends(expected, found);
    const same = gaps.get(key);
    if (same === undefined) gaps.set(key, [index]);
    else same.push(index);
  });
  jumps.forEach((jump, index) => {
    const out = next(index);
    if (out === undefined || jump.expected !== jumps[out]!.found) return;
    const gap = (gaps.get(ends(jump.found, jumps[out]!.expected)) ?? [])
      .slice(0, GAPS_CHECKED_MAX)
      .filter((at) => isFree(scene, [index, out, at]))
      .sort((a, b) => Math.abs(a - index) - Math.abs(b - index))[0];
    if (gap === undefined) return;
    const last = next(out);
    const both = [index, out, gap];
    if (gap !== last) explain(scene, both, 'entry-out-of-place', jump.before);
    else if (!isAlone(scene, index, out)) {
      const isSecondAlone = isAlone(scene, out, gap);
      explain(scene, both, 'entry-out-of-place', isSecondAlone ? jumps[out]!.before : jump.before);
    } else if (isAlone(scene, out, gap)) explain(scene, both, 'entries-trade-places', jump.before);
    else explain(scene, both, 'entry-out-of-place', jump.before);
  });
}

const isNothing = (jumps: readonly Jump[]): boolean =>
  compareAmounts(
    jumps.reduce((sum, { missing }) => addAmounts(sum, missing), '0'),
    '0',
  ) === 0;

/**
 * Like `takeMoved`, for the last entries of the account. There is no break after them, so `closing` takes its place.
 */
function takeLast(scene: Scene): void {
  const { jumps, closing } = scene;
  const [gap, into] = [jumps.length - 2, jumps.length - 1];
  if (gap < 0 || !isFree(scene, [gap, into])) return;
  const [first, last] = [jumps[gap]!, jumps[into]!];
  if (first.expected !== last.found || first.found !== closing) return;
  // If that is one entry, the other reading fits as well: it and the entries after it trade places.
  const hint = isAlone(scene, gap, into) ? 'entries-trade-places' : 'entry-out-of-place';
  explain(scene, [gap, into], hint, hint === 'entries-trade-places' ? first.before : last.before);
}

const isAlone = ({ jumps }: Scene, first: number, second: number): boolean =>
  jumps[first]!.before === jumps[second]!.after;

/**
 * Two neighbours that show each other's balance.
 *
 * ### Example
 *
 * The chain stands at 100. A credit of 10 and a credit of 5 should end on 110 and 115, but show 115 and 110. Three
 * breaks follow: 5, -10, 5.
 */
function takeSwappedBalances(scene: Scene): void {
  const { jumps, joined } = scene;
  jumps.forEach(({ before, missing }, first) => {
    const second = joined(first);
    const third = second === undefined ? undefined : joined(second);
    if (third === undefined || !isFree(scene, [first, second!, third])) return;
    const twiceBack = negated(subtractAmounts(missing, negated(missing)));
    if (jumps[third]!.missing !== missing || jumps[second!]!.missing !== plain(twiceBack)) return;
    explain(scene, [first, second!, third], 'balances-swapped', before);
  });
}

/** A single entry with a wrong balance: the break before it and the break after it cancel each other out. */
function takeSingleBalances(scene: Scene): void {
  const { jumps, joined } = scene;
  jumps.forEach(({ before, missing }, index) => {
    const back = joined(index);
    if (back === undefined || !isFree(scene, [index, back])) return;
    if (jumps[back]!.missing === plain(negated(missing))) {
      explain(scene, [index, back], 'balance-off', before);
    }
  });
}

/** Entries that belong elsewhere: the chain holds without them, and they fit nowhere else in this account. */
function takeOutOfScope(scene: Scene): void {
  const { jumps, next } = scene;
  jumps.forEach((jump, index) => {
    const row = [index];
    for (let at = next(index); at !== undefined && row.length < BREAKS_IN_A_ROW_MAX; at = next(at)) {
      row.push(at);
      if (!isFree(scene, row)) return;
      if (jumps[at]!.found !== jump.expected) continue;
      const isTelling = jump.expected !== SWEPT && jumps[at]!.missing !== plain(negated(jump.missing));
      if (isTelling) explain(scene, row, 'entry-does-not-belong', jump.before);
      return;
    }
  });
}

/** Pairs of breaks with opposite amounts, the earliest first. Each break is used once. */
function takeOffsets(scene: Scene): void {
  const { jumps } = scene;
  const waiting = new Map<string, number[]>();
  jumps.forEach(({ before, missing }, index) => {
    if (!isFree(scene, [index])) return;
    const earlier = waiting.get(plain(negated(missing)))?.shift();
    if (earlier !== undefined) {
      explain(scene, [earlier], 'offset-by-later-break', before);
      explain(scene, [index], 'offsets-earlier-break', jumps[earlier]!.before);
      return;
    }
    const same = waiting.get(missing);
    if (same === undefined) waiting.set(missing, [index]);
    else same.push(index);
  });
}

const ROW_MIN = 3;
const POWERS = [2, 3, 1] as const;
/** A balance of fewer digits may be the multiple of another one by chance. */
const DIGITS_MIN = 4;

/** `is` is so many times `was`, a power of ten; below zero if it is that part of it. Null if it is neither. */
export function factorBetween(was: string, is: string): number | null {
  if (plain(was) === '0') return null;
  for (const power of POWERS) {
    if (timesTen(was, power) === plain(is)) return 10 ** power;
    if (timesTen(is, power) === plain(was)) return -(10 ** power);
  }
  return null;
}

function timesTen(amount: string, power: number): string {
  const decimals = decimalsOf(amount);
  return plain(fromScaled(toScaled(amount, decimals) * 10n ** BigInt(power), decimals));
}

/** The factor between what the entry after the break moved the balance by and its amount; null if the next break is not right behind it. */
function amountFactor({ jumps, joined }: Scene, index: number): number | null {
  const next = joined(index);
  if (next === undefined) return null;
  const { expected, found } = jumps[index]!;
  const balance = jumps[next]!.expected;
  return factorBetween(subtractAmounts(balance, expected), subtractAmounts(balance, found));
}

function takeScaledAmounts(scene: Scene): void {
  const { jumps, joined } = scene;
  jumps.forEach(({ before }, index) => {
    const factor = amountFactor(scene, index);
    if (factor === null) return;
    const row = [index];
    // The last entry is followed by no break that shows its balance, and is judged by its own break alone.
    for (let at = joined(index); at !== undefined; at = joined(at)) {
      const own = amountFactor(scene, at);
      if (own !== factor && (own !== null || !mayHave(jumps[at]!.missing, factor))) break;
      row.push(at);
      if (own === null) break;
    }
    if (row.length >= ROW_MIN && isFree(scene, row)) explain(scene, row, 'amounts-in-other-unit', before);
  });
}

/** Whether an amount that is off by this factor can leave a break of that size. */
function mayHave(missing: string, factor: number): boolean {
  return toScaled(missing, decimalsOf(missing)) % BigInt(Math.abs(factor) - 1) === 0n;
}

/** Balances that go on many times as large, and perhaps come back. As the chain holds in between, amounts went along. */
function takeScaledBalances(scene: Scene): void {
  let open: { readonly index: number; readonly factor: number } | null = null;
  scene.jumps.forEach(({ before, expected, found }, index) => {
    const factor = hasDigits(expected) || hasDigits(found) ? factorBetween(expected, found) : null;
    if (factor === null || !isFree(scene, [index])) return;
    const isBack = open !== null && factor === -open.factor;
    explain(scene, [index], 'figures-in-other-unit', isBack ? scene.jumps[open!.index]!.before : before);
    open = isBack ? null : { index, factor };
  });
}

const hasDigits = (amount: string): boolean =>
  plain(amount).replace(/\D/g, '').replace(/^0+/, '').replace(/0+$/, '').length >= DIGITS_MIN;

/**
 * Entries in a row that show the balance before them in place of the one after them.
 *
 * ### Example
 *
 * The chain stands at 100. Credits of 10, 5 and 20 should end on 110, 115 and 135, but show 100, 110 and 115. Each shows
 * the balance of the entry before it, plus that entry's amount.
 */
function takeBalancesBefore(scene: Scene): void {
  const { jumps, joined } = scene;
  jumps.forEach(({ before, expected }, index) => {
    const second = joined(index);
    if (second === undefined || jumps[second]!.expected !== expected) return;
    const row = [index, second];
    for (let at = joined(second); at !== undefined; at = joined(at)) {
      const [earlier, last] = row.slice(-2).map((own) => jumps[own]!);
      const amountBefore = subtractAmounts(last!.expected, earlier!.found);
      if (plain(subtractAmounts(jumps[at]!.expected, last!.expected)) !== plain(amountBefore)) break;
      row.push(at);
    }
    if (row.length >= ROW_MIN && isFree(scene, row)) explain(scene, row, 'balances-before', before);
  });
}

export type BreakFigures = Pick<
  ContinuityBreak,
  'afterBatchNo' | 'beforeBatchNo' | 'expectedBalance' | 'foundBalance' | 'missingNet'
>;

export type Explanation = Pick<ContinuityBreak, 'hint' | 'hintBatchNo'>;

/** A break whose amounts are written without trailing zeros, so that equal amounts are equal texts. */
export interface Jump {
  readonly after: string | null;
  readonly before: string;
  readonly expected: string;
  readonly found: string;
  readonly missing: string;
}

export interface Scene {
  readonly jumps: readonly Jump[];
  readonly closing: string | null;
  readonly explained: Map<number, Explanation>;
  /** The next break, if just one entry lies between it and this one. */
  readonly joined: (index: number) => number | undefined;
  /** The break right before an entry. */
  readonly into: (batchNo: string | null) => number | undefined;
  readonly next: (index: number) => number | undefined;
}

function sceneOf(
  breaks: readonly BreakFigures[],
  closing: string | null,
  known: ReadonlyMap<number, Explanation>,
): Scene {
  const jumps = breaks.map((one) => ({
    after: one.afterBatchNo,
    before: one.beforeBatchNo,
    expected: plain(one.expectedBalance),
    found: plain(one.foundBalance),
    missing: plain(one.missingNet),
  }));
  const behind = new Map(jumps.map(({ after }, index) => [after, index]));
  const ahead = new Map(jumps.map(({ before }, index) => [before, index]));
  const joined = (index: number): number | undefined => behind.get(jumps[index]!.before);
  return {
    jumps,
    closing: closing === null ? null : plain(closing),
    explained: new Map(known),
    joined,
    into: (batchNo) => (batchNo === null ? undefined : ahead.get(batchNo)),
    next: (index) => joined(index) ?? (index + 1 < jumps.length ? index + 1 : undefined),
  };
}

const isFree = ({ explained }: Scene, indexes: readonly number[]): boolean =>
  new Set(indexes).size === indexes.length && indexes.every((index) => !explained.has(index));

function explain(
  { explained }: Scene,
  indexes: readonly number[],
  hint: ContinuityBreak['hint'],
  hintBatchNo: string | null,
): void {
  for (const index of indexes) explained.set(index, { hint, hintBatchNo });
}

const negated = (amount: string): string => subtractAmounts('0', amount);

/** The amount without trailing zeros, so that equal amounts are equal texts: `1.50` gives `1.5`. */
export const plain = (amount: string): string => {
  const short = amount.includes('.') ? amount.replace(/0+$/, '').replace(/\.$/, '') : amount;
  return short === '-0' ? '0' : short;
};
