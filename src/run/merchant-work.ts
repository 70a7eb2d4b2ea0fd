/** The unit of work: one merchant, from reading its ledger to its published statements, under its own lease. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../objects/object-store.ts';
import { isChecked } from '../ledger/checks.ts';
import { PublishedNow } from '../statements/publish-options.ts';
import { noticeFigures, noticeOddEntries, noticeShared } from './stages/notice-stage.ts';
import { publishStage } from './stages/publish-stage.ts';
import { reconcileStage } from './stages/reconcile-stage.ts';
import { UNOBSERVED } from './observer.ts';
import { type Stage, concernsAll, ownExitCode } from './stages/stages-of.ts';
import { syncStage } from './stages/sync-stage.ts';
import type { MerchantWork } from './active-run.ts';
import type { MerchantOutcome } from './report.ts';

/** What the merchants of a run learn from each other. */
export interface StoreTrouble {
  /** Why the object store failed one of them. The others do not try it again: each try would take minutes. */
  error: Error | null;
}

export interface MerchantWorkOptions {
  readonly stages: readonly Stage[];
  /** Aborts if the entire run stops. */
  readonly runSignal: AbortSignal;
  readonly storeTrouble: StoreTrouble;
  /**
   * Where its days are to be compared with those of other merchants before they are published: whether that is done, is
   * to be done at once, or publishing is put off until the caller has done it.
   */
  readonly comparing: 'done' | 'at-once' | 'put-off';
}

/** The outcome before the first stage. */
export const nothingDoneFor = (merchantNo: string): MerchantOutcome => ({
  merchantNo,
  sync: null,
  reconcile: null,
  healingReads: [],
  isToCompare: false,
  publish: null,
  trouble: null,
  historicalCompared: null,
  monthsHeld: null,
  publishedNow: new PublishedNow(),
});

const WORK: Readonly<Record<Stage, (work: MerchantWork, outcome: MerchantOutcome) => Promise<void>>> = {
  sync: async (work, outcome) => {
    await syncStage(work, outcome);
    await noticeOddEntries(work, outcome);
  },
  reconcile: async (work, outcome) => {
    await noticeFigures(work, outcome, await reconcileStage(work, outcome));
  },
  publish: publishStage,
};

/**
 * Does these stages for one merchant, each into `outcome`. What is this merchant's own trouble ends up in `outcome`, and
 * later stages are left out. Throws what concerns every merchant, and the signal's reason if the entire run stops. If the
 * object store fails, that is noted in `storeTrouble`; nothing more is published then, but all is still read and chained.
 * Returns whether publishing was put off.
 */
export async function workOnMerchant(
  work: MerchantWork,
  outcome: MerchantOutcome,
  { stages, runSignal, storeTrouble, comparing }: MerchantWorkOptions,
): Promise<boolean> {
  const { deps, merchantNo } = work;
  const { trace, onStage } = deps.observer ?? UNOBSERVED;
  for (const stage of stages) {
    if (stage === 'publish' && storeTrouble.error !== null) return false;
    const comparesFirst = stage === 'publish' && outcome.isToCompare && isChecked('shared', deps.checks);
    if (comparesFirst && comparing === 'put-off') return true;
    try {
      deps.signal.throwIfAborted();
      if (comparesFirst && comparing === 'at-once')
        await noticeShared(deps, { runId: work.runId, merchants: [merchantNo] });
      const beganMs = performance.now();
      await trace(stage, {}, () => WORK[stage](work, outcome)).finally(() =>
        onStage(stage, performance.now() - beganMs),
      );
    } catch (error) {
      runSignal.throwIfAborted();
      if (error instanceof ObjectStoreUnreachable || error instanceof ObjectStoreRefused) {
        storeTrouble.error ??= error;
        return false;
      }
      if (concernsAll(error, runSignal)) throw error;
      deps.onTrouble?.(merchantNo, error);
      const message = error instanceof Error ? error.message : String(error);
      outcome.trouble = { merchantNo, stage, exitCode: ownExitCode(error), message };
      return false;
    }
  }
  return false;
}
