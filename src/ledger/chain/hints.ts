/** Explains a single break by the amounts of the entries next to it. */
import type { Explanation } from './break-scene.ts';
import { compareAmounts, decimalsOf, fromScaled, subtractAmounts, toScaled } from '../money.ts';

/** An entry next to a break. */
export interface Neighbour {
  /** Its signed amount, credits above zero; null where it is not known or there is none. */
  readonly net: string | null;
  readonly batchNo: string | null;
}

/**
 * If the missing amount is at most one part in this many of the amount next to it, a wrong amount is more likely than a
 * missing entry.
 */
const SMALL_PART = 100n;

/**
 * Compares the missing amount of a break with the amounts of the entries before and after it. The first match wins:
 *
 * - It equals one of them: that entry is there twice, or a second one like it is missing (`equals-neighbour`).
 * - It is twice one of them: credit and debit are swapped (`twice-neighbour`).
 * - The amount of the entry after the break is 0, is off by a little, or is too large by a factor of 10 to the power of
 *   the currency's minor units, such as 100 in USD (`amount-off`). A wrong amount only ever breaks the chain right
 *   before its own entry.
 */
export function neighbourHint(
  missingNet: string,
  before: Neighbour,
  after: Neighbour,
  minorUnits: number | null = null,
): Explanation {
  const either = (amount: string): boolean => equal(missingNet, amount) || equal(missingNet, negated(amount));
  for (const { net, batchNo } of [before, after]) {
    if (net !== null && either(net)) return { hint: 'equals-neighbour', hintBatchNo: batchNo };
  }
  for (const { net, batchNo } of [before, after]) {
    if (net !== null && either(subtractAmounts(net, negated(net)))) {
      return { hint: 'twice-neighbour', hintBatchNo: batchNo };
    }
  }
  if (after.net !== null && isImplausible(after.net, missingNet, minorUnits)) {
    return { hint: 'amount-off', hintBatchNo: after.batchNo };
  }
  return { hint: 'unexplained', hintBatchNo: null };
}

function isImplausible(net: string, missingNet: string, minorUnits: number | null): boolean {
  if (equal(net, '0')) return true;
  const due = subtractAmounts(net, negated(missingNet));
  if (minorUnits !== null && minorUnits > 0 && equal(net, timesPowerOfTen(due, minorUnits))) return true;
  return compareAmounts(times(absolute(missingNet), SMALL_PART), absolute(net)) <= 0;
}

/** Whether the two entries around the second of two breaks show each other's amounts. */
export const isAmountsSwapped = (missingNet: string, before: string | null, after: string | null): boolean =>
  before !== null && after !== null && equal(missingNet, subtractAmounts(before, after));

const negated = (amount: string): string => subtractAmounts('0', amount);
const equal = (a: string, b: string): boolean => compareAmounts(a, b) === 0;
const absolute = (amount: string): string => amount.replace('-', '');

function times(amount: string, factor: bigint): string {
  const decimals = decimalsOf(amount);
  return fromScaled(toScaled(amount, decimals) * factor, decimals);
}

const timesPowerOfTen = (amount: string, power: number): string => times(amount, 10n ** BigInt(power));
