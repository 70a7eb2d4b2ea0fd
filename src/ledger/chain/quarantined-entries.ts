/** Explains breaks by entries in quarantine: entries that could not be read, but whose place and amount fit. */
import type { Explanation } from './break-patterns.ts';
import type { ContinuityBreak, Window } from '../entry.ts';
import { addAmounts, compareAmounts } from '../money.ts';

/** What can be read from the text of an unreadable entry. */
export interface QuarantinedReading {
  /** Null if the text shows none. */
  readonly currency: string | null;
  /** The amounts it may mean, signed, a credit above zero, the likeliest first. Empty if the text shows none. */
  readonly nets: readonly string[];
}

/** Reads the raw text of an unreadable entry. Never throws. */
export type QuarantinedReader = (raw: string) => QuarantinedReading;

/** An entry in quarantine, and the spans of time it can lie in. */
export interface Quarantined extends QuarantinedReading {
  readonly id: number;
  readonly batchNo: string | null;
  readonly spans: readonly Window[];
}

type Broken = Pick<ContinuityBreak, 'missingNet' | 'span'> & { readonly currency: string };

/** The entries that can lie in the account and span, of a break for example. */
export const quarantinedIn = <Entry extends Quarantined>(
  found: Omit<Broken, 'missingNet'>,
  all: readonly Entry[],
): Entry[] =>
  all.filter(
    ({ currency, spans }) =>
      (currency === null || currency === found.currency) &&
      spans.some(({ beginMs, endMs }) => beginMs <= found.span.endMs && endMs >= found.span.beginMs),
  );

/** The entries of `within` that add up to the break: a single one, or all of them. Empty if neither does. */
export function explaining<Entry extends Quarantined>(
  { missingNet }: Pick<Broken, 'missingNet'>,
  within: readonly Entry[],
): readonly Entry[] {
  const isMissing = (amount: string): boolean => compareAmounts(amount, missingNet) === 0;
  const one = within.find(({ nets }) => nets.some(isMissing));
  if (one !== undefined) return [one];
  const likeliest = within.map(({ nets }) => nets[0]);
  if (within.length < 2 || likeliest.includes(undefined)) return [];
  return isMissing(likeliest.reduce<string>((sum, net) => addAmounts(sum, net!), '0')) ? within : [];
}

/** The hint of a break that these quarantined entries explain. */
export const explainedBy = (explanation: readonly Quarantined[]): Explanation => ({
  hint: 'quarantined-entry',
  hintBatchNo: explanation.length === 1 ? explanation[0]!.batchNo : null,
});

/** The hint of a break that is not explained, while something in quarantine lies in its span. */
export const perhapsBy = (within: readonly Quarantined[]): Explanation => ({
  hint: 'quarantined-in-span',
  hintBatchNo: within.length === 1 ? within[0]!.batchNo : null,
});
