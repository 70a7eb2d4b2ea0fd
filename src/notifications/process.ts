/** Works through the inbox: each notification once, in a transaction of its own. Taking in is separate (inbox.ts). */
import type { Kysely, Transaction } from 'kysely';
import { markBrokenOff } from '../store/onboarding/application-calls.ts';
import { codeOf, isConnectionError } from '../store/engine/errors.ts';
import { fingerprintKey } from '../store/secrets/fingerprint-key.ts';
import {
  claimNotification,
  openInTurns,
  settleNotification,
  type NotificationOutcome,
  type OpenNotification,
} from '../store/notifications/notification-outcomes.ts';
import type { DB } from '../store/engine/schema.ts';
import {
  dropOldUnknown,
  settleUnknownPaths,
  type UnknownKept,
} from '../store/notifications/unknown-notifications.ts';
import { SecretUnreadable, UnknownSecretKey, type SecretKey } from '../store/secrets/secrets.ts';
import { processBeneficiaryResult } from './process-beneficiary.ts';
import { processOnboardingResult } from './process-onboarding.ts';
import { changesNothing, settled, type Settlement } from './verdict.ts';

/** How much is kept of posts to unknown paths; the newest stay. See `INBOX_LIMITS`. */
export const UNKNOWN_KEPT: UnknownKept = { posts: 20_000, bytes: 128 * 1_024 * 1_024, days: 30 };
/**
 * How many are looked at before the order is asked for again. A path that has just come in waits for at most so many.
 */
const TURNS_MAX = 32;

export interface ProcessDeps {
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly unknownKept?: UnknownKept;
  /** Whether old posts to unknown paths are deleted in this pass; true unless set. */
  readonly sweeps?: boolean;
  /** Called after such posts were deleted, for a database that does not reuse the space by itself. */
  readonly freeSpace?: () => Promise<void>;
}

export interface ProcessReport {
  /** How many notifications had each outcome. */
  readonly outcomes: Readonly<Partial<Record<NotificationOutcome, number>>>;
  /** Those left for the next pass, each with the reason: a missing key or a fault. Nothing of their content is told. */
  readonly left: readonly { readonly number: number; readonly problem: string }[];
  /** How many old posts to unknown paths were deleted. */
  readonly dropped: number;
}

const OPERATIONS = {
  onboarding: processOnboardingResult,
  beneficiary: processBeneficiaryResult,
} as const;

/**
 * One pass over everything that is not settled yet. Several processes may do so at once, and each may be killed at any
 * moment: a notification and what it changes are one commit. Throws when the database is lost.
 */
export async function processNotifications(deps: ProcessDeps): Promise<ProcessReport> {
  const { db, secretKeys, now, signal, unknownKept = UNKNOWN_KEPT, sweeps = true, freeSpace } = deps;
  const outcomes: Partial<Record<NotificationOutcome, number>> = {};
  const count = (outcome: NotificationOutcome, more = 1): void => {
    if (more > 0) outcomes[outcome] = (outcomes[outcome] ?? 0) + more;
  };
  const left: { number: number; problem: string }[] = [];

  const unknown = await settleUnknownPaths(db, now());
  count('unknown', unknown);
  const dropped = sweeps ? await dropOldUnknown(db, unknownKept, now()) : 0;
  if (dropped > 0) await freeSpace?.();
  // A submission whose process died never stores its reply. Its result must not wait for that.
  await markBrokenOff(db, now());
  let key: Promise<Buffer> | undefined;
  const digestKey = () => (key ??= fingerprintKey(db, 'result', secretKeys));
  // Still open after a look, here or in another process: they are not looked at again in this pass.
  const passed: number[] = [];
  const isStopped = (): boolean => signal.aborted;
  while (!isStopped()) {
    const turns = await openInTurns(db, { passed, limit: TURNS_MAX });
    if (turns.length === 0) break;
    for (const number of turns) {
      if (isStopped()) break;
      const { outcome, problem } = await lookAt(number, deps, digestKey);
      if (problem !== null) left.push({ number, problem });
      if (outcome !== null) count(outcome);
      if (outcome === null || outcome === 'waiting') passed.push(number);
    }
  }
  return { outcomes, left, dropped };
}

/** Both are null if another process has the notification. */
interface Looked {
  readonly outcome: NotificationOutcome | null;
  readonly problem: string | null;
}

async function lookAt(
  number: number,
  { db, secretKeys, now }: ProcessDeps,
  digestKeyOf: () => Promise<Buffer>,
): Promise<Looked> {
  const settle = (look: (trx: Transaction<DB>, claimed: OpenNotification) => Promise<Settlement>) =>
    db.transaction().execute(async (trx): Promise<Looked> => {
      const claimed = await claimNotification(trx, number);
      if (claimed === undefined) return { outcome: null, problem: null };
      const settlement = await look(trx, claimed);
      await settleNotification(trx, { ...settlement, id: claimed.id, now: now() });
      return { outcome: settlement.outcome, problem: null };
    });
  try {
    // Before the transaction: the embedded database has no second connection.
    const digestKey = await digestKeyOf();
    return await settle((trx, claimed) =>
      OPERATIONS[claimed.kind](trx, claimed, { secretKeys, digestKey, now: now() }),
    );
  } catch (error) {
    if (isConnectionError(error)) throw error;
    // A value that no column can hold would fail at every pass.
    if (codeOf(error).startsWith(DATA_EXCEPTION))
      return await settle(() => Promise.resolve(settled(changesNothing('malformed', UNSTORABLE), null)));
    return { outcome: null, problem: problemOf(error) };
  }
}

/** PostgreSQL's class of errors about values. */
const DATA_EXCEPTION = '22';
const UNSTORABLE = 'it holds a value that cannot be stored';

/** Our own errors never quote a value. Any other error might, so only its name is told. */
const problemOf = (error: unknown): string => {
  if (error instanceof UnknownSecretKey || error instanceof SecretUnreadable) return error.message;
  return error instanceof Error ? `a fault in daybook (${error.name})` : 'a fault in daybook';
};
