/** Looks at what the inbox holds, apart from taking it in: each notification once, in a transaction of its own. */
import type { Kysely } from 'kysely';
import { markBrokenOff } from '../store/applications.ts';
import { isConnectionError } from '../store/errors.ts';
import {
  claimNotification,
  dropOldUnknown,
  settleNotification,
  settleUnknownPaths,
  type NotificationOutcome,
  type OpenNotification,
} from '../store/notification-outcomes.ts';
import type { DB } from '../store/schema.ts';
import { SecretUnreadable, UnknownSecretKey, type SecretKey } from '../store/secrets.ts';
import { processBeneficiaryResult } from './process-beneficiary.ts';
import { processOnboardingResult } from './process-onboarding.ts';
import type { Settlement } from './verdict.ts';

/** Posts of paths nobody was told that are kept, the newest ones. */
export const UNKNOWN_KEPT_MAX = 20_000;

export interface ProcessDeps {
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly unknownKeptMax?: number;
}

export interface ProcessReport {
  /** Notifications by what became of them. */
  readonly outcomes: Readonly<Partial<Record<NotificationOutcome, number>>>;
  /** Left as they are for the next time, each with why: a key that is missing, a fault. Without anything they carried. */
  readonly left: readonly { readonly number: number; readonly problem: string }[];
  /** Old posts of paths nobody was told that were thrown away, as newer ones are more than enough. */
  readonly dropped: number;
}

const OPERATIONS = {
  onboarding: processOnboardingResult,
  beneficiary: processBeneficiaryResult,
} as const;

/**
 * One pass over everything not settled yet. Any number of processes may do so at once, and be killed at any instant:
 * what a notification changes and that it did is one commit. Rejects when the database is lost.
 */
export async function processNotifications(deps: ProcessDeps): Promise<ProcessReport> {
  const { db, now, signal, unknownKeptMax = UNKNOWN_KEPT_MAX } = deps;
  const outcomes: Partial<Record<NotificationOutcome, number>> = {};
  const count = (outcome: NotificationOutcome, more = 1): void => {
    if (more > 0) outcomes[outcome] = (outcomes[outcome] ?? 0) + more;
  };
  const left: { number: number; problem: string }[] = [];

  const unknown = await settleUnknownPaths(db, now());
  count('unknown', unknown);
  const dropped = unknown === 0 ? 0 : await dropOldUnknown(db, unknownKeptMax);
  // A submission whose process died will never store its reply: its result need not wait for that.
  await markBrokenOff(db, now());
  for (let after = 0; !signal.aborted;) {
    const looked = await processNext(deps, after);
    if (looked === null) break;
    after = looked.number;
    if (looked.problem === null) count(looked.outcome);
    else left.push({ number: looked.number, problem: looked.problem });
  }
  return { outcomes, left, dropped };
}

type Looked =
  | { readonly number: number; readonly outcome: NotificationOutcome; readonly problem: null }
  | { readonly number: number; readonly outcome: null; readonly problem: string };

async function processNext({ db, secretKeys, now }: ProcessDeps, after: number): Promise<Looked | null> {
  let claimed: OpenNotification | undefined;
  try {
    return await db.transaction().execute(async (trx) => {
      claimed = await claimNotification(trx, after);
      if (claimed === undefined) return null;
      const settlement: Settlement = await OPERATIONS[claimed.kind](trx, claimed, { secretKeys, now: now() });
      await settleNotification(trx, { ...settlement, id: claimed.id, now: now() });
      return { number: claimed.number, outcome: settlement.outcome, problem: null };
    });
  } catch (error) {
    if (claimed === undefined || isConnectionError(error)) throw error;
    return { number: claimed.number, outcome: null, problem: problemOf(error) };
  }
}

/** Errors of our own say nothing they should not; anything else might quote what it choked on. */
const problemOf = (error: unknown): string => {
  if (error instanceof UnknownSecretKey || error instanceof SecretUnreadable) return error.message;
  return error instanceof Error ? `a fault in daybook (${error.name})` : 'a fault in daybook';
};
