/** Finds entries in quarantine that can lie in the span of a break. */
import type { Evidence } from '../hints/evidence.ts';
import type { ContinuityBreak, Window } from '../entry.ts';

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
