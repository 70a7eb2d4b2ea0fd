/** The common type of all oracles: they draw cases of plain data and check each case against laws. */
import type fc from 'fast-check';

export const KINDS = [
  'chains',
  'windows',
  'histories',
  'proofs',
  'refusals',
  'absences',
  'orders',
  'stretches',
] as const;
export type Kind = (typeof KINDS)[number];

/** A case is plain JSON. So a failing one can be kept and run again, even if cases are drawn differently later. */
export interface Oracle<Case> {
  readonly kind: Kind;
  readonly cases: fc.Arbitrary<Case>;
  /** Runs the case. Returns a sentence for each law that it breaks; none if all hold. */
  readonly check: (drawn: Case) => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** A case that broke a law, as in `kept-seeds.json`. */
export interface Kept {
  readonly kind: Kind;
  readonly seed: number;
  readonly law: string;
  readonly case: unknown;
}
