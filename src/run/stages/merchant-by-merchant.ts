/** Does a stage's work for one merchant after the other, so that one's failure leaves the others done. */
import { concernsAll, ownExitCode } from './isolation.ts';
import type { MerchantTrouble } from '../report.ts';
import type { ActiveRun, StageOutcome } from '../active-run.ts';

/**
 * Works on each merchant of the run that had no trouble yet; what fails for one is noted in `outcome.troubles`. Throws
 * what concerns all, and the signal's reason.
 */
export async function eachMerchant(
  { request, deps }: ActiveRun,
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
      if (concernsAll(error, deps.signal)) throw error;
      deps.onTrouble?.(merchantNo, error);
      const message = error instanceof Error ? error.message : String(error);
      outcome.troubles = [...outcome.troubles, { merchantNo, stage, exitCode: ownExitCode(error), message }];
    }
  }
}
