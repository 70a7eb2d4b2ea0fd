/** Explains breaks by what is known of entries: they vanished, were amended, or came and could not be read. */
import type { Explanation } from './break-scene.ts';
import type { BreakHint } from '../entry.ts';
import { addAmounts, compareAmounts } from '../money.ts';

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

/** Null if one of the amounts is not known. */
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

/** The hint of a break that this evidence explains. */
export const explainedBy = (explanation: readonly Evidence[]): Explanation =>
  explanation.every(({ kind }) => kind === explanation[0]!.kind)
    ? { hint: EXPLAINS[explanation[0]!.kind], hintBatchNo: onlyName(explanation) }
    : { hint: 'several-changes', hintBatchNo: null };

/** The hint of a break that is not explained, while evidence lies in its span. */
export function perhapsBy(within: readonly Evidence[]): Explanation {
  const own = within.filter(({ kind }) => kind === within[0]!.kind);
  return { hint: IN_SPAN[within[0]!.kind], hintBatchNo: onlyName(own) };
}

const onlyName = (all: readonly Evidence[]): string | null => (all.length === 1 ? all[0]!.batchNo : null);

/** Hints that rest on known changes rather than on balances. */
export const isEvidence = (hint: BreakHint): boolean =>
  hint === 'several-changes' ||
  [...Object.values(EXPLAINS), ...Object.values(IN_SPAN)].some((one) => one === hint);
