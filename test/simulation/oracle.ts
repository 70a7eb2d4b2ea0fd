/** What every oracle looks like to the runner: cases of plain data, and the laws a case is held against. */
import type fc from 'fast-check';

export const KINDS = ['chains', 'windows', 'histories'] as const;
export type Kind = (typeof KINDS)[number];

/** A case is JSON and nothing else, so that a failing one can be kept and run again whatever draws them later. */
export interface Oracle<Case> {
  readonly kind: Kind;
  readonly cases: fc.Arbitrary<Case>;
  /** Runs the case and returns a sentence for each law it breaks; none where all hold. */
  readonly check: (drawn: Case) => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** A case that broke a law, as kept in `kept-seeds.json`. */
export interface Kept {
  readonly kind: Kind;
  readonly seed: number;
  readonly law: string;
  readonly case: unknown;
}
