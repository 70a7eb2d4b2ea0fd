/** Reads every merchant's windows at once; the reader's own limit keeps the calls in flight bounded. */
import { planWindows } from '../sync/plan.ts';
import { NOTHING_SYNCED, syncMerchant } from '../sync/sync.ts';
import { createZoneGate } from '../sync/zone-gate.ts';
import { createJoining } from './join-merchants.ts';
import type { RunWork, StageOutcome } from './work.ts';

/**
 * Syncs the range of each merchant asked for, each into `outcome` as it ends; one that is known only has to join first.
 * One merchant's refusal leaves the others going; what concerns all (`TimeZoneWrong`, `LeaseLost`, a database away) stops them and is thrown.
 */
export async function syncStage(work: RunWork, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId, ranges } = work;
  const stop = new AbortController();
  const signal = AbortSignal.any([deps.signal, stop.signal]);
  const zoneGate = createZoneGate(deps.zone);
  const latestMs = deps.now().getTime() - deps.settleDelayMs;
  const join = await createJoining(request.merchants, { ...deps, signal });
  const ended = await Promise.allSettled(
    request.merchants.map(async (merchant) => {
      const range = ranges.get(merchant.merchantNo)!;
      const windows = [range, ...range.takenUp].flatMap(({ from, to }) =>
        planWindows({ fromDay: from, toDay: to, zone: deps.zone, latestMs }),
      );
      try {
        const notJoined = await join(merchant);
        if (notJoined !== null) {
          const { merchantNo } = merchant;
          outcome.sync = [...outcome.sync, { merchantNo, ...range, report: NOTHING_SYNCED, notJoined }];
          return;
        }
        const report = await syncMerchant({
          reader: deps.reader,
          db: deps.db,
          lease,
          merchant,
          windows,
          zone: deps.zone,
          zoneGate,
          currencies: request.currencies,
          runId,
          now: deps.now,
          signal,
          onProgress: (progress) => deps.onProgress({ stage: 'sync', ...progress }),
        });
        outcome.sync = [...outcome.sync, { merchantNo: merchant.merchantNo, ...range, report }];
      } catch (error) {
        stop.abort(error);
        throw error;
      }
    }),
  );
  outcome.sync = [...outcome.sync].sort((a, b) => (a.merchantNo < b.merchantNo ? -1 : 1));
  if (stop.signal.aborted) throw stop.signal.reason;
  const failed = ended.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
