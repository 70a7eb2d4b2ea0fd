/** Works through the inbox: each notification once, in a transaction of its own. Taking in is separate (inbox.ts). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { codeOf, isConnectionError } from '../../store/engine/errors.ts';
import type { DB } from '../../store/engine/schema.ts';
import {
  claimNotification,
  openInFairOrder,
  settleNotification,
  type NotificationOutcome,
  type OpenNotification,
  dropOldUnknown,
  settleUnknownPaths,
  type UnknownKept,
} from './notifications.ts';
import { markBrokenOff } from './applications.ts';
import { fingerprintKey } from '../../store/secrets/key-check.ts';
import { SecretUnreadable, UnknownSecretKey, type SecretKey } from '../../store/secrets/secrets.ts';
import { processBeneficiaryResult } from './registration-result.ts';
import { processOnboardingResult } from './application-result.ts';
import { changesNothing, settled, type Settlement } from './verdict.ts';

/** How much is kept of posts to unknown paths; the newest stay. See `INBOX_LIMITS`. */
export const UNKNOWN_KEPT: UnknownKept = { posts: 20_000, bytes: 128 * 1_024 * 1_024, days: 30 };
/**
 * How many are processed before the order is read again. A new path waits for at most this many.
 */
const BATCH_MAX = 32;

interface ProcessDeps {
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
  readonly outcomes: Readonly<Partial<Record<NotificationOutcome, number>>>;
  /** Notifications left for the next pass, each with the reason: a missing key or an error. Without their content. */
  readonly left: readonly { readonly number: number; readonly problem: string }[];
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
  // Still open after processing, here or in another process: not processed again in this pass.
  const passed: number[] = [];
  const isStopped = (): boolean => signal.aborted;
  while (!isStopped()) {
    const batch = await openInFairOrder(db, { passed, limit: BATCH_MAX });
    if (batch.length === 0) break;
    for (const number of batch) {
      if (isStopped()) break;
      const { outcome, problem } = await processOne(number, deps, digestKey);
      if (problem !== null) left.push({ number, problem });
      if (outcome !== null) count(outcome);
      if (outcome === null || outcome === 'waiting') passed.push(number);
    }
  }
  return { outcomes, left, dropped };
}

/** Both are null if another process has the notification. */
interface Processed {
  readonly outcome: NotificationOutcome | null;
  readonly problem: string | null;
}

async function processOne(
  number: number,
  { db, secretKeys, now }: ProcessDeps,
  digestKeyOf: () => Promise<Buffer>,
): Promise<Processed> {
  const settle = (judge: (trx: Transaction<DB>, claimed: OpenNotification) => Promise<Settlement>) =>
    db.transaction().execute(async (trx): Promise<Processed> => {
      const claimed = await claimNotification(trx, number);
      if (claimed === undefined) return { outcome: null, problem: null };
      const settlement = await judge(trx, claimed);
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

/** Our own errors never quote a value. Any other error might, so only its name is shown. */
const problemOf = (error: unknown): string => {
  if (error instanceof UnknownSecretKey || error instanceof SecretUnreadable) return error.message;
  return error instanceof Error ? `internal error (${error.name})` : 'internal error';
};

/** The time between passes when nothing comes in. */
const PASS_EVERY_MS = 10_000;
/** How often old posts to unknown paths are deleted, however often it is woken. */
const SWEEP_EVERY_MS = 60_000;

export interface KeepProcessingDeps extends ProcessDeps {
  /** Called for a pass that found something. What is left is reported once, and not for every pass. */
  readonly onReport: (report: ProcessReport) => void;
  /** Called with all that is left, whenever that changes, and after the first pass. */
  readonly onLeft?: (left: ProcessReport['left']) => void;
  /** Called when a pass failed. The next one comes after `everyMs`. */
  readonly onFault: (error: unknown) => void;
  readonly everyMs?: number;
}

/**
 * Starts at once, with what an earlier process left. `wake`: notifications arrived, so process now, or right after the
 * running pass. `ended` resolves after the signal, when the running pass has ended.
 */
export function keepProcessing(deps: KeepProcessingDeps) {
  const { signal, onReport, onLeft, onFault, everyMs = PASS_EVERY_MS } = deps;
  let woken = Promise.withResolvers<undefined>();
  let leftBefore = '';
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  const pass = async (): Promise<void> => {
    try {
      const sweeps = performance.now() - sweptAtMs >= SWEEP_EVERY_MS;
      if (sweeps) sweptAtMs = performance.now();
      const report = await processNotifications({ ...deps, sweeps });
      const left = JSON.stringify(report.left);
      const isNew = left !== leftBefore && report.left.length > 0;
      if (isNew || Object.keys(report.outcomes).length > 0)
        onReport(isNew ? report : { ...report, left: [] });
      if (left !== leftBefore) onLeft?.(report.left);
      leftBefore = left;
    } catch (error) {
      onFault(error);
      // Another pass at once would fail in the same way.
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      woken = Promise.withResolvers();
      await pass();
      const timer = new AbortController();
      const stop = AbortSignal.any([signal, timer.signal]);
      await Promise.race([woken.promise, sleep(everyMs, undefined, { signal: stop }).catch(() => undefined)]);
      timer.abort();
    }
  };
  return { wake: () => woken.resolve(undefined), ended: keep() };
}
