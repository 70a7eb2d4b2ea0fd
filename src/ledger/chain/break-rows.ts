/** Finds what many entries in a row have wrong in the same way: another unit, or balances of before the entry. */
import { decimalsOf, fromScaled, subtractAmounts, toScaled } from '../money.ts';
import { explain, isFree, plain, type Scene } from './break-scene.ts';

/** Fewer breaks in a row prove nothing. */
const ROW_MIN = 3;
/** Powers of ten by which units differ. */
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

/** Entries in a row whose amounts are in another unit than their balances. */
export function takeScaledAmounts(scene: Scene): void {
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
export function takeScaledBalances(scene: Scene): void {
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
export function takeBalancesBefore(scene: Scene): void {
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
