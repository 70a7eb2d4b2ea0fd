/** Publishes what is due in each merchant's days. */
import { publishDays, type PublishReport } from '../statements/publish.ts';
import type { RunWork, StageOutcome } from './run.ts';

/** Publishes the range, or without one everything due: a day the cascade moved outside the range is due as well. */
export async function publishStage(work: RunWork, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId, from, to } = work;
  let total: PublishReport = { published: [], unchanged: 0, withheld: [] };
  for (const { merchantNo } of request.merchants) {
    const report = await publishDays({
      ...deps,
      lease,
      merchantNo,
      ...(request.currencies === null ? {} : { currenciesAsked: request.currencies }),
      ...(request.command === 'publish' && request.range !== null ? { fromDay: from, toDay: to } : {}),
      runId,
      onProgress: (progress) => deps.onProgress({ stage: 'publish', ...progress }),
    });
    total = {
      published: [...total.published, ...report.published],
      unchanged: total.unchanged + report.unchanged,
      withheld: [...total.withheld, ...report.withheld],
    };
    outcome.publish = total;
  }
}
