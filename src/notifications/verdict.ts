/** What is to become of a notification. Pure words: each operation judges by its own states. */
import type { NotificationOutcome } from '../store/notifications/notification-outcomes.ts';
import type { SecretKey } from '../store/secrets/secrets.ts';

export interface Verdict<Change> {
  readonly outcome: NotificationOutcome;
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

export const changesNothing = (
  outcome: Exclude<NotificationOutcome, 'applied'>,
  reason: string,
): Verdict<never> => ({ outcome, reason, change: null });

/** What an operation's processing works with. */
export interface ProcessContext {
  readonly secretKeys: readonly SecretKey[];
  /** Key of the digests by which a result that comes again is told. */
  readonly digestKey: Buffer;
  readonly now: Date;
}

/** What is recorded of a notification that was looked at. */
export interface Settlement {
  readonly outcome: NotificationOutcome;
  readonly reason: string | null;
  /** Of the application or registration its path belongs to. */
  readonly merOrderNo: string | null;
  /** Of a result that was applied: tells it when it comes again. */
  readonly resultDigest: string | null;
}

export const settled = (
  { outcome, reason }: Verdict<unknown>,
  merOrderNo: string | null,
  resultDigest: string | null = null,
): Settlement => ({ outcome, reason, merOrderNo, resultDigest: outcome === 'applied' ? resultDigest : null });
