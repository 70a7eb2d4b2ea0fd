/** Publishes what is due in each merchant's days. */
import { publishDays, type PublishReport } from '../statements/publish.ts';
import { eachMerchant } from './merchant-by-merchant.ts';
import type { RunWork, StageOutcome } from './work.ts';

/**
 * Publishes the range, or without one everything due: a day the cascade moved outside the range is due as well. What
 * fails for one merchant leaves the others published.
 */
export async function publishStage(work: RunWork, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId, from, to } = work;
  outcome.publish = { published: [], unchanged: 0, withheld: [], unlinked: [] };
  await eachMerchant(work, outcome, 'publish', async (merchantNo) => {
    const before = outcome.publish!;
    const report = await publishDays({
      ...deps,
      lease,
      merchantNo,
      ...(request.currencies === null ? {} : { currenciesAsked: request.currencies }),
      ...(request.command === 'publish' && request.range !== null ? { fromDay: from, toDay: to } : {}),
      runId,
      onProgress: (progress) => deps.onProgress({ stage: 'publish', ...progress }),
      onDay: (soFar) => (outcome.publish = joined(before, soFar)),
    });
    outcome.publish = joined(before, report);
  });
}

const joined = (a: PublishReport, b: PublishReport): PublishReport => ({
  published: [...a.published, ...b.published],
  unchanged: a.unchanged + b.unchanged,
  withheld: [...a.withheld, ...b.withheld],
  unlinked: [...a.unlinked, ...b.unlinked],
});
