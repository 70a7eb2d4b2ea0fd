/** Finds breaks of one account that have one cause in common, from their balances alone. */
import { addAmounts, compareAmounts, subtractAmounts } from '../money.ts';
import { takeBalancesBefore, takeScaledAmounts, takeScaledBalances } from './break-rows.ts';
import {
  explain,
  isFree,
  negated,
  plain,
  sceneOf,
  type BreakFigures,
  type Explanation,
  type Jump,
  type Scene,
} from './break-scene.ts';

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

/** Whether exactly one entry lies between two breaks. */
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
