/** What becomes of a notification. Pure words: each operation judges by its own states. */

export const OUTCOMES = [
  'applied',
  'duplicate',
  'unknown',
  'contradiction',
  'second-token',
  'malformed',
  'waiting',
] as const;

/**
 * `applied`: it moved what its path belongs to. `waiting`: our own request has no reply stored yet. All others change
 * nothing: a replay, a path nobody was told, something else than is known, another token than the one delivered,
 * nothing the document describes.
 */
export type Outcome = (typeof OUTCOMES)[number];

/** Outcomes a person has to look at. A path nobody was told is noise, and a replay is the platform's good right. */
export const NEEDS_PERSON: readonly Outcome[] = ['contradiction', 'second-token', 'malformed'];

export interface Verdict<Change> {
  readonly outcome: Outcome;
  /** A sentence for a person, without anything that came with the post. */
  readonly reason: string | null;
  /** What `applied` does. */
  readonly change: Change | null;
}

export const applies = <Change>(change: Change): Verdict<Change> => ({
  outcome: 'applied',
  reason: null,
  change,
});

export const changesNothing = (outcome: Exclude<Outcome, 'applied'>, reason: string): Verdict<never> => ({
  outcome,
  reason,
  change: null,
});
