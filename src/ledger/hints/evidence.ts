/** Explains a single break: by the amounts of the entries next to it, or by entries that vanished, were amended or cannot be read. */
import type { Explanation } from './patterns.ts';
import { compareAmounts, decimalsOf, fromScaled, subtractAmounts, toScaled, addAmounts } from '../money.ts';
import type { BreakHint, ContinuityBreak, Window } from '../entry.ts';

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

/** A known change of one entry, or an unreadable entry. */
export interface Evidence {
  readonly kind: 'vanished' | 'amended' | 'quarantined';
  readonly batchNo: string | null;
  /** By how much it may move the balance across the break, signed, the likeliest first. Empty if that is not known. */
  readonly nets: readonly string[];
}

/** What adds up to the missing amount: a single one, all of one kind, or all of them. Empty if none does. */
export function explaining<Known extends Evidence>(
  missingNet: string,
  within: readonly Known[],
): readonly Known[] {
  const isMissing = (amount: string): boolean => compareAmounts(amount, missingNet) === 0;
  const one = within.find(({ nets }) => nets.some(isMissing));
  if (one !== undefined) return [one];
  const sets = [...Map.groupBy(within, ({ kind }) => kind).values(), within];
  return sets.find((own) => own.length > 1 && isMissing(sumOf(own) ?? '0')) ?? [];
}

const sumOf = (all: readonly Evidence[]): string | null =>
  all.reduce<string | null>((sum, { nets: [net] }) => {
    return sum === null || net === undefined ? null : addAmounts(sum, net);
  }, '0');

const EXPLAINS = {
  vanished: 'vanished-entry',
  amended: 'amended-entry',
  quarantined: 'quarantined-entry',
} as const satisfies Record<Evidence['kind'], BreakHint>;

const IN_SPAN = {
  vanished: 'vanished-in-span',
  amended: 'amended-in-span',
  quarantined: 'quarantined-in-span',
} as const satisfies Record<Evidence['kind'], BreakHint>;

export const explainedBy = (explanation: readonly Evidence[]): Explanation =>
  explanation.every(({ kind }) => kind === explanation[0]!.kind)
    ? { hint: EXPLAINS[explanation[0]!.kind], hintBatchNo: onlyName(explanation) }
    : { hint: 'several-changes', hintBatchNo: null };

export function perhapsBy(within: readonly Evidence[]): Explanation {
  const own = within.filter(({ kind }) => kind === within[0]!.kind);
  return { hint: IN_SPAN[within[0]!.kind], hintBatchNo: onlyName(own) };
}

const onlyName = (all: readonly Evidence[]): string | null => (all.length === 1 ? all[0]!.batchNo : null);

/** Hints that rest on known changes rather than on balances. */
export const isEvidence = (hint: BreakHint): boolean =>
  hint === 'several-changes' ||
  [...Object.values(EXPLAINS), ...Object.values(IN_SPAN)].some((one) => one === hint);

/** What can be read from the text of an unreadable entry. */
export interface QuarantinedReading {
  readonly currency: string | null;
  /** The amounts it may mean, signed, a credit above zero, the likeliest first. Empty if the text shows none. */
  readonly nets: readonly string[];
}

export type QuarantinedReader = (raw: string) => QuarantinedReading;

export interface Quarantined extends QuarantinedReading, Evidence {
  readonly kind: 'quarantined';
  readonly id: number;
  readonly spans: readonly Window[];
}

type Place = Pick<ContinuityBreak, 'span'> & { readonly currency: string };

/** The entries that can lie in the account and span, of a break for example. */
export const quarantinedIn = <Entry extends Quarantined>(found: Place, all: readonly Entry[]): Entry[] =>
  all.filter(
    ({ currency, spans }) =>
      (currency === null || currency === found.currency) &&
      spans.some(({ beginMs, endMs }) => beginMs <= found.span.endMs && endMs >= found.span.beginMs),
  );
