/** Publishes what is due in each merchant's days. */
import { publishDays, type PublishReport } from '../statements/publish.ts';
import type { RunWork, StageOutcome } from './work.ts';

/** Publishes the range, or without one everything due: a day the cascade moved outside the range is due as well. */
export async function publishStage(work: RunWork, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId, from, to } = work;
  let ended: PublishReport = { published: [], unchanged: 0, withheld: [], unlinked: [] };
  outcome.publish = ended;
  for (const { merchantNo } of request.merchants) {
    const report = await publishDays({
      ...deps,
      lease,
      merchantNo,
      ...(request.currencies === null ? {} : { currenciesAsked: request.currencies }),
      ...(request.command === 'publish' && request.range !== null ? { fromDay: from, toDay: to } : {}),
      runId,
      onProgress: (progress) => deps.onProgress({ stage: 'publish', ...progress }),
      onDay: (soFar) => (outcome.publish = joined(ended, soFar)),
    });
    ended = joined(ended, report);
    outcome.publish = ended;
  }
}

const joined = (a: PublishReport, b: PublishReport): PublishReport => ({
  published: [...a.published, ...b.published],
  unchanged: a.unchanged + b.unchanged,
  withheld: [...a.withheld, ...b.withheld],
  unlinked: [...a.unlinked, ...b.unlinked],
});
