/** What is to become of a notification: the types that all operations share. */
import type { NotificationOutcome } from '../store/notifications/notification-outcomes.ts';
import type { SecretKey } from '../store/secrets/secrets.ts';

export interface Verdict<Change> {
  readonly outcome: NotificationOutcome;
  /** A sentence for a person. It repeats nothing of the post. */
  readonly reason: string | null;
  /** What is changed if the outcome is `applied`, else null. */
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

/** Context of processing. */
export interface ProcessContext {
  readonly secretKeys: readonly SecretKey[];
  /** Key of the digests by which a repeated result is found. */
  readonly digestKey: Buffer;
  readonly now: Date;
}

/** The record of a processed notification. */
export interface Settlement {
  readonly outcome: NotificationOutcome;
  readonly reason: string | null;
  /** The order number of the application or registration. Null if the path belongs to none. */
  readonly merOrderNo: string | null;
  /** Digest of a result that was applied, to find it when it comes again; else null. */
  readonly resultDigest: string | null;
}

export const settled = (
  { outcome, reason }: Verdict<unknown>,
  merOrderNo: string | null,
  resultDigest: string | null = null,
): Settlement => ({ outcome, reason, merOrderNo, resultDigest: outcome === 'applied' ? resultDigest : null });
