/** Works on many merchants side by side. None waits for another one, and trouble of one is its own. */
import { dayOf } from '../ledger/business-day.ts';
import { workInSlices } from './backfill/long-run.ts';
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { ManifestPrefetch } from '../statements/compare-files.ts';
import { createJoining } from './join-merchants.ts';
import { knownAhead } from './known-ahead.ts';
import type { HeldLeases } from './leases.ts';
import { nothingDoneFor, type MerchantWorkOptions, type StoreTrouble } from './merchant-work.ts';
import type { MerchantDays } from './range.ts';
import { UNOBSERVED } from './observer.ts';
import { sideBySide } from './side-by-side.ts';
import { noticeShared } from './stages/notice-stage.ts';
import type { Stage } from './stages/stages-of.ts';
import type { ActiveRun } from './active-run.ts';
import type { MerchantOutcome } from './report.ts';

/** How many merchants are worked on side by side, unless a setting says otherwise. */
const MERCHANTS_AT_ONCE = 8;

export interface WorkOnAllOptions {
  readonly held: HeldLeases;
  readonly ranges: ReadonlyMap<string, MerchantDays>;
  readonly stages: readonly Stage[];
  /** Gets the outcome of each merchant that is begun. If left out, a new map. */
  readonly outcomes?: Map<string, MerchantOutcome>;
  /** Called when the work on a merchant is over. What it throws ends the work on all. */
  readonly onDone?: (outcome: MerchantOutcome) => void;
}

/**
 * Does the stages for each merchant of the run. A merchant whose days may hold another one's entries is published after
 * all are read and compared, so that it does not matter who is read first; no one else waits. Returns the outcomes, by merchant. Throws what concerns all merchants:
 * the signal's reason, a database or an object store in trouble, `TimeZoneWrong`; the outcomes then hold what was done.
 */
export async function workOnAll(
  run: ActiveRun,
  { held, ranges, stages, outcomes = new Map(), onDone }: WorkOnAllOptions,
): Promise<ReadonlyMap<string, MerchantOutcome>> {
  const { request, deps } = run;
  const { trace, onMerchant } = deps.observer ?? UNOBSERVED;
  const storeTrouble: StoreTrouble = { error: null };
  const join = await createJoining(request.merchants, deps);
  const numbers = request.merchants.map(({ merchantNo }) => merchantNo);
  const known = await knownAhead(deps.db, numbers, dayOf(deps.now().getTime(), deps.zone));
  const manifestPrefetch = new ManifestPrefetch(
    deps.db,
    numbers.map((merchantNo) => [merchantNo, ranges.get(merchantNo)!]),
  );
  const merchants = request.merchants.length;
  let merchantsDone = 0;
  deps.onProgress({ stage: 'merchants', merchantsDone, merchants });
  const putOff: MerchantAccess[] = [];
  const doAll = (some: readonly MerchantAccess[], own: Pick<MerchantWorkOptions, 'stages' | 'comparing'>) =>
    sideBySide(
      some,
      {
        atOnce: deps.merchantsAtOnce ?? MERCHANTS_AT_ONCE,
        signal: deps.signal,
        nameOf: ({ merchantNo }) => merchantNo,
        waits: deps.waits,
      },
      async (merchant, runSignal) => {
        const { merchantNo } = merchant;
        const outcome = outcomes.get(merchantNo) ?? nothingDoneFor(merchantNo);
        outcomes.set(merchantNo, outcome);
        const lease = held.leaseOf(merchantNo);
        const signal = AbortSignal.any([runSignal, held.lossOf(merchantNo)]);
        const facts = { days: ranges.get(merchantNo)!, known: known.get(merchantNo)! };
        const work = { ...run, deps: { ...deps, signal }, merchant, merchantNo, ...facts, lease, join };
        const isPutOff = await trace(
          'merchant',
          { 'daybook.run': run.runId, 'daybook.merchant': merchantNo },
          () => workInSlices({ ...work, manifestPrefetch }, outcome, { ...own, runSignal, storeTrouble }),
        ).catch((error: unknown) => {
          onMerchant(outcome);
          throw error;
        });
        if (isPutOff) {
          putOff.push(merchant);
          return;
        }
        onMerchant(outcome);
        manifestPrefetch.forget(merchantNo);
        onDone?.(outcome);
        merchantsDone += 1;
        deps.onProgress({ stage: 'merchants', merchantsDone, merchants });
      },
    );
  await doAll(request.merchants, { stages, comparing: 'put-off' });
  if (putOff.length > 0) {
    await noticeShared(deps, { runId: run.runId, merchants: numbers });
    await doAll(putOff, { stages: ['publish'], comparing: 'done' });
  }
  if (storeTrouble.error !== null) throw storeTrouble.error;
  return outcomes;
}
