/** Does a stage's work for one merchant after the other, so that one's failure leaves the others done. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../objects/object-store.ts';
import { DatabaseUnreachable, isConnectionError, StoreUnreachable } from '../store/errors.ts';
import { LeaseLost } from '../store/lease.ts';
import { exitCodeOf } from './exit-codes.ts';
import type { MerchantTrouble } from './report.ts';
import type { RunWork, StageOutcome } from './work.ts';

/** What concerns every merchant: the next one would fail of it as well. */
const ALL_CONCERNED = [
  LeaseLost,
  StoreUnreachable,
  DatabaseUnreachable,
  ObjectStoreUnreachable,
  ObjectStoreRefused,
];

const concernsAll = (error: unknown): boolean =>
  ALL_CONCERNED.some((kind) => error instanceof kind) || isConnectionError(error);

/**
 * Works on each merchant of the run that had no trouble yet; what fails for one is noted in `outcome.troubles`. Throws
 * what concerns all, and the signal's reason.
 */
export async function eachMerchant(
  { request, deps }: RunWork,
  outcome: StageOutcome,
  stage: MerchantTrouble['stage'],
  workOn: (merchantNo: string) => Promise<void>,
): Promise<void> {
  for (const { merchantNo } of request.merchants) {
    if (outcome.troubles.some((trouble) => trouble.merchantNo === merchantNo)) continue;
    deps.signal.throwIfAborted();
    try {
      await workOn(merchantNo);
    } catch (error) {
      deps.signal.throwIfAborted();
      if (concernsAll(error)) throw error;
      deps.onTrouble?.(merchantNo, error);
      const message = error instanceof Error ? error.message : String(error);
      outcome.troubles = [...outcome.troubles, { merchantNo, stage, exitCode: exitCodeOf(error), message }];
    }
  }
}
