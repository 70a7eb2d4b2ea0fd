/** Whether entries that cannot be read as such explain a break all the same: by their place and their amounts. */
import type { Explanation } from './break-patterns.ts';
import type { ContinuityBreak, Window } from '../entry.ts';
import { addAmounts, compareAmounts } from '../money.ts';

/** What can be told of an unreadable entry's text. */
export interface QuarantinedReading {
  /** Null where it is none. */
  readonly currency: string | null;
  /** Signed amounts that it may stand for, credits above zero, likeliest first; empty where it shows none. */
  readonly nets: readonly string[];
}

/** Reads the raw text of an unreadable entry. Never throws. */
export type QuarantinedReader = (raw: string) => QuarantinedReading;

/** An unreadable entry, and where it can lie. */
export interface Quarantined extends QuarantinedReading {
  readonly id: number;
  readonly batchNo: string | null;
  readonly spans: readonly Window[];
}

type Broken = Pick<ContinuityBreak, 'missingNet' | 'span'> & { readonly currency: string };

/** Those that can lie in the break's span, in its account. */
export const quarantinedIn = <Entry extends Quarantined>(found: Broken, all: readonly Entry[]): Entry[] =>
  all.filter(
    ({ currency, spans }) =>
      (currency === null || currency === found.currency) &&
      spans.some(({ beginMs, endMs }) => beginMs <= found.span.endMs && endMs >= found.span.beginMs),
  );

/** Those of `within` that make up the break: one by itself, or all of them together; none where they do not. */
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

/** The hint of a break for which `explanation` speaks, an entry in quarantine. */
export const explainedBy = (explanation: readonly Quarantined[]): Explanation => ({
  hint: 'quarantined-entry',
  hintBatchNo: explanation.length === 1 ? explanation[0]!.batchNo : null,
});

/** The hint of a break that nothing explains, in whose span something is in quarantine. */
export const perhapsBy = (within: readonly Quarantined[]): Explanation => ({
  hint: 'quarantined-in-span',
  hintBatchNo: within.length === 1 ? within[0]!.batchNo : null,
});
