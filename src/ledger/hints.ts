/** What a break may come from, for the reader: hints by figures alone, and the sentence that tells a break. */
import type { ContinuityBreak } from './entry.ts';
import { compareAmounts, subtractAmounts } from './money.ts';

/** A break with the amounts of the entries on both sides of it, signed: credits above zero. */
export interface NeighbouredBreak {
  readonly found: ContinuityBreak;
  readonly netBefore: string | null;
  readonly netAfter: string;
}

const negated = (amount: string): string => subtractAmounts('0', amount);
const equal = (a: string, b: string): boolean => compareAmounts(a, b) === 0;

/**
 * Sets each break's hint. In order of worth: a later break takes back exactly what this one is short of (a hold placed
 * and released, as the balance is the available one); what its neighbours' amounts tell.
 */
export function annotateBreaks(breaks: readonly NeighbouredBreak[]): ContinuityBreak[] {
  const partner = offsetPartners(breaks.map(({ found }) => found.missingNet));
  return breaks.map(({ found, netBefore, netAfter }, index) => {
    const later = partner.get(index);
    if (later !== undefined) {
      return { ...found, hint: 'offset-by-later-break', hintBatchNo: breaks[later]!.found.beforeBatchNo };
    }
    const before = { net: netBefore, batchNo: found.afterBatchNo };
    const after = { net: netAfter, batchNo: found.beforeBatchNo };
    return { ...found, ...neighbourHint(found.missingNet, before, after) };
  });
}

/** An entry beside a break. */
export interface Neighbour {
  /** Its signed amount, credits above zero; null where it is not known or there is none. */
  readonly net: string | null;
  readonly batchNo: string | null;
}

/**
 * What the entries on both sides tell of a break: it equals the amount of one (an entry missing twice or counted twice),
 * or is twice that (credit and debit swapped).
 */
export function neighbourHint(
  missingNet: string,
  before: Neighbour,
  after: Neighbour,
): Pick<ContinuityBreak, 'hint' | 'hintBatchNo'> {
  const either = (amount: string): boolean => equal(missingNet, amount) || equal(missingNet, negated(amount));
  for (const { net, batchNo } of [before, after]) {
    if (net !== null && either(net)) return { hint: 'equals-neighbour', hintBatchNo: batchNo };
  }
  for (const { net, batchNo } of [before, after]) {
    if (net !== null && either(subtractAmounts(net, negated(net)))) {
      return { hint: 'twice-neighbour', hintBatchNo: batchNo };
    }
  }
  return { hint: 'unexplained', hintBatchNo: null };
}

/** Which later break takes an earlier one back exactly, by index, each used once; oldest first. */
export function offsetPartners(missingNets: readonly string[]): ReadonlyMap<number, number> {
  const partner = new Map<number, number>();
  const waiting = new Map<string, number[]>();
  missingNets.forEach((missingNet, index) => {
    const earlier = waiting.get(plain(negated(missingNet)))?.shift();
    if (earlier !== undefined) {
      partner.set(earlier, index);
      return;
    }
    const key = plain(missingNet);
    const same = waiting.get(key);
    if (same === undefined) waiting.set(key, [index]);
    else same.push(index);
  });
  return partner;
}

/** Amounts of one value share one spelling. */
const plain = (amount: string): string =>
  amount.includes('.') ? amount.replace(/0+$/, '').replace(/\.$/, '') : amount;

const HINT_SENTENCES: Readonly<Record<ContinuityBreak['hint'], (batchNo: string | null) => string>> = {
  'offset-by-later-break': (batchNo) =>
    `A later break before ${batchNo ?? 'another entry'} takes it back exactly: perhaps a hold that was placed and released.`,
  'equals-neighbour': (batchNo) =>
    `It equals the amount of ${batchNo ?? 'a neighbour'}: perhaps that entry is there twice, or its twin is missing.`,
  'twice-neighbour': (batchNo) =>
    `It is twice the amount of ${batchNo ?? 'a neighbour'}: perhaps credit and debit are swapped there.`,
  unexplained: () => 'Most likely one or more entries are missing on the platform in that span.',
};

/** A break as a person tells it. */
export function explain(found: ContinuityBreak, currency: string): string {
  const after = found.afterBatchNo === null ? 'the start' : found.afterBatchNo;
  const spelled = found.missingNet.startsWith('-')
    ? `a net debit of ${negated(found.missingNet)}`
    : `a net credit of ${found.missingNet}`;
  return (
    `After ${after} the balance is ${found.expectedBalance} ${currency}, but ${found.beforeBatchNo} starts from ` +
    `${found.foundBalance}: ${spelled} is missing between them. ${HINT_SENTENCES[found.hint](found.hintBatchNo)}`
  );
}
