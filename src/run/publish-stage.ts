/** Publishes what is due in each merchant's days. */
import { publishDays, type PublishReport } from '../statements/publish.ts';
import { alone } from './isolation.ts';
import type { RunWork, StageOutcome } from './work.ts';

/**
 * Publishes the range, or without one everything due: a day the cascade moved outside the range is due as well. A
 * merchant that could not be reconciled is left out; one that cannot be published is told, and the others go on.
 */
export async function publishStage(work: RunWork, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId, from, to } = work;
  let ended: PublishReport = { published: [], unchanged: 0, withheld: [] };
  outcome.publish = ended;
  const left = new Set(outcome.failures.map(({ merchantNo }) => merchantNo));
  for (const { merchantNo } of request.merchants) {
    if (left.has(merchantNo)) continue;
    const failure = await alone(merchantNo, 'publish', deps.signal, async () => {
      outcome.publish = joined(
        ended,
        await publishDays({
          ...deps,
          lease,
          merchantNo,
          ...(request.currencies === null ? {} : { currenciesAsked: request.currencies }),
          ...(request.command === 'publish' && request.range !== null ? { fromDay: from, toDay: to } : {}),
          runId,
          onProgress: (progress) => deps.onProgress({ stage: 'publish', ...progress }),
          onDay: (soFar) => (outcome.publish = joined(ended, soFar)),
        }),
      );
    });
    if (failure !== null) outcome.failures = [...outcome.failures, failure];
    ended = outcome.publish;
  }
}

const joined = (a: PublishReport, b: PublishReport): PublishReport => ({
  published: [...a.published, ...b.published],
  unchanged: a.unchanged + b.unchanged,
  withheld: [...a.withheld, ...b.withheld],
});
