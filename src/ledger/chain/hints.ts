/** What a single break tells together with the entries beside it. */
import type { Explanation } from './break-patterns.ts';
import { compareAmounts, decimalsOf, fromScaled, subtractAmounts, toScaled } from '../money.ts';

/** An entry beside a break. */
export interface Neighbour {
  /** Its signed amount, credits above zero; null where it is not known or there is none. */
  readonly net: string | null;
  readonly batchNo: string | null;
}

/** A break of less than this part of the amount beside it is more likely that amount's fault than a missing entry's. */
const SMALL_PART = 100n;

/**
 * What the entries on both sides tell of a break: it equals the amount of one (an entry missing twice or counted twice),
 * or is twice that (credit and debit swapped); or the amount of the entry after it is 0, or off by a little, or so many
 * times too large as its currency has minor units. Only the amount after a break can make one.
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
  if (after.net !== null && looksOff(after.net, missingNet, minorUnits)) {
    return { hint: 'amount-off', hintBatchNo: after.batchNo };
  }
  return { hint: 'unexplained', hintBatchNo: null };
}

function looksOff(net: string, missingNet: string, minorUnits: number | null): boolean {
  if (equal(net, '0')) return true;
  const due = subtractAmounts(net, negated(missingNet));
  if (minorUnits !== null && minorUnits > 0 && equal(net, timesPowerOfTen(due, minorUnits))) return true;
  return compareAmounts(times(absolute(missingNet), SMALL_PART), absolute(net)) <= 0;
}

/** Whether the two entries on both sides of the second of two breaks hold each other's amounts. */
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
