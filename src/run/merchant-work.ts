/** The unit of work: one merchant, from reading its ledger to its published statements, under its own lease. */
import { messageOf } from '../ledger/text.ts';
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../objects/object-store.ts';
import { isChecked } from '../ledger/checks.ts';
import { PublishedNow } from '../statements/publish-options.ts';
import { noteEndOfSilences, noticeFigures, noticeOddEntries, noticeShared } from './stages/notice-stage.ts';
import { publishStage } from './stages/publish-stage.ts';
import { reconcileStage } from './stages/reconcile-stage.ts';
import { UNOBSERVED, type MerchantWork, type ActiveRun, type Stage, concernsAll } from './active-run.ts';
import { ownExitCode } from './verdict/exit-codes.ts';
import { syncStage } from './stages/sync-stage.ts';
import type { MerchantOutcome } from './report.ts';
import { dayOf } from '../ledger/business-day.ts';
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { createJoining, knownAhead, type KnownAhead } from './known-ahead.ts';
import type { HeldLeases } from './leases.ts';
import type { MerchantDays } from './range.ts';
import { sideBySide, tellingStore } from './side-by-side.ts';

/** What the merchants of a run learn from each other. */
interface StoreTrouble {
  /** Why the object store failed one of them. The others do not try it again: each try would take minutes. */
  error: Error | null;
}

export interface MerchantWorkOptions {
  readonly stages: readonly Stage[];
  readonly runSignal: AbortSignal;
  readonly storeTrouble: StoreTrouble;
  /**
   * Where its days are to be compared with those of other merchants before they are published: whether that is done, is
   * to be done at once, or publishing is put off until the caller has done it.
   */
  readonly comparing: 'done' | 'at-once' | 'put-off';
}

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
  sync: (work, outcome) => syncStage(work, outcome).then(() => noticeOddEntries(work, outcome)),
  reconcile: async (work, outcome) => {
    await noteEndOfSilences(work);
    await reconcileStage(work, outcome);
    await noticeFigures(work, outcome);
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
      if (error instanceof ObjectStoreUnreachable || error instanceof ObjectStoreRefused)
        storeTrouble.error ??= error;
      else if (concernsAll(error, runSignal)) throw error;
      else {
        deps.onTrouble?.(merchantNo, error);
        const message = messageOf(error);
        outcome.trouble = { merchantNo, stage, exitCode: ownExitCode(error), message };
      }
      return false;
    }
  }
  return false;
}

/** How many merchants are worked on side by side, unless a setting says otherwise. */
const MERCHANTS_AT_ONCE = 8;

export interface WorkOnAllOptions {
  readonly held: HeldLeases;
  readonly ranges: ReadonlyMap<string, MerchantDays>;
  readonly stages: readonly Stage[];
  /** What is done for each merchant. If left out, the stages. */
  readonly work?: typeof workOnMerchant;
  /** Gets the outcome of each merchant that is begun. If left out, a new map. */
  readonly outcomes?: Map<string, MerchantOutcome>;
  /** Called when the work on a merchant is over. What it throws ends the work on all. */
  readonly onDone?: (outcome: MerchantOutcome) => Promise<void>;
}

/**
 * Does the stages for each merchant of the run. A merchant whose days may hold another one's entries is published after
 * all are read and compared, so that it does not matter who is read first; no one else waits. Returns the outcomes, by merchant. Throws what concerns all merchants:
 * the signal's reason, a database or an object store in trouble, `TimeZoneWrong`; the outcomes then hold what was done.
 */
export async function workOnAll(
  run: ActiveRun,
  { held, ranges, stages, work = workOnMerchant, outcomes = new Map(), onDone }: WorkOnAllOptions,
): Promise<ReadonlyMap<string, MerchantOutcome>> {
  const { request, deps } = run;
  const { trace, onMerchant } = deps.observer ?? UNOBSERVED;
  const storeTrouble: StoreTrouble = { error: null };
  const join = createJoining(deps);
  const numbers = request.merchants.map(({ merchantNo }) => merchantNo);
  const merchants = request.merchants.length;
  let merchantsDone = 0;
  deps.onProgress({ stage: 'merchants', merchantsDone, merchants });
  const putOff: MerchantAccess[] = [];
  const knownBefore = new Map<string, KnownAhead>();
  const { signal, waits, merchantsAtOnce: atOnce = MERCHANTS_AT_ONCE } = deps;
  const atWork = { atOnce, signal, waits, nameOf: ({ merchantNo }: MerchantAccess) => merchantNo };
  const doAll = (some: readonly MerchantAccess[], how: Pick<MerchantWorkOptions, 'stages' | 'comparing'>) =>
    sideBySide(some, atWork, async (merchant, runSignal) => {
      const { merchantNo } = merchant;
      const outcome = outcomes.get(merchantNo) ?? nothingDoneFor(merchantNo);
      outcomes.set(merchantNo, outcome);
      const lease = held.leaseOf(merchantNo);
      const ownSignal = AbortSignal.any([runSignal, held.lossOf(merchantNo)]);
      // One that is put off keeps what was known before it was read.
      const known =
        knownBefore.get(merchantNo) ??
        (await knownAhead(deps.db, merchantNo, dayOf(deps.now().getTime(), deps.zone)));
      knownBefore.set(merchantNo, known);
      const facts = { days: ranges.get(merchantNo)!, known };
      const own = { merchant, merchantNo, ...facts, lease, join };
      const { objects, onWaiting } = deps;
      const ownObjects = onWaiting ? tellingStore(objects, merchantNo, onWaiting) : objects;
      const ownRun = { ...run, deps: { ...deps, objects: ownObjects, signal: ownSignal } };
      const options = { ...how, runSignal, storeTrouble };
      let isPutOff = false;
      try {
        const attributes = { 'daybook.run': run.runId, 'daybook.merchant': merchantNo };
        isPutOff = await trace('merchant', attributes, () => work({ ...ownRun, ...own }, outcome, options));
      } finally {
        if (!isPutOff) onMerchant(outcome);
      }
      if (isPutOff) {
        putOff.push(merchant);
        return;
      }
      await onDone?.(outcome);
      merchantsDone += 1;
      deps.onProgress({ stage: 'merchants', merchantsDone, merchants });
    });
  await doAll(request.merchants, { stages, comparing: 'put-off' });
  if (putOff.length > 0) {
    await noticeShared(deps, { runId: run.runId, merchants: numbers });
    await doAll(putOff, { stages: ['publish'], comparing: 'done' });
  }
  if (storeTrouble.error !== null) throw storeTrouble.error;
  return outcomes;
}
