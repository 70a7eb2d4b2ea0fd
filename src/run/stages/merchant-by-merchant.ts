/** Does the work of a stage for one merchant after the other, so that a failure for one does not stop the others. */
import { concernsAll, ownExitCode } from './isolation.ts';
import type { MerchantTrouble } from '../report.ts';
import type { ActiveRun, StageOutcome } from '../active-run.ts';

/**
 * Calls the work for each merchant of the run that had no trouble yet. A failure for one merchant is added to
 * `outcome.troubles`. Throws errors that concern all merchants, and the signal's reason.
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
