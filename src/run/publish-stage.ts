/** Publishes what is due in each merchant's days, then compares what lies in the store and repairs it. */
import { NOTHING_REPAIRED, repairFiles, type RepairReport } from '../statements/repair-files.ts';
import { publishDays, type PublishReport } from '../statements/publish.ts';
import type { DayRange } from './range.ts';
import type { PublishOutcome } from './report.ts';
import type { RunWork, StageOutcome } from './work.ts';

/** Publishes the range, or without one everything due: a day the cascade moved outside the range is due as well. */
export async function publishStage(work: RunWork, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId, ranges, from, to } = work;
  let ended: PublishOutcome = { published: [], unchanged: 0, withheld: [], ...NOTHING_REPAIRED };
  outcome.publish = ended;
  for (const { merchantNo } of request.merchants) {
    const options = { ...deps, lease, merchantNo, runId };
    const report = await publishDays({
      ...options,
      ...(request.currencies === null ? {} : { currenciesAsked: request.currencies }),
      ...(request.command === 'publish' && request.range !== null ? { fromDay: from, toDay: to } : {}),
      onProgress: (progress) => deps.onProgress({ stage: 'publish', ...progress }),
      onDay: (soFar) => (outcome.publish = joined(ended, soFar, NOTHING_REPAIRED)),
    });
    outcome.publish = joined(ended, report, NOTHING_REPAIRED);
    const repair = await repairFiles({
      ...options,
      ...daysToCompare(ranges.get(merchantNo) ?? { from, to }, report),
      onFile: (soFar) => (outcome.publish = joined(ended, report, soFar)),
    });
    ended = joined(ended, report, repair);
    outcome.publish = ended;
  }
}

/** The merchant's range, and every day that was published outside of it. */
function daysToCompare({ from, to }: DayRange, { published }: PublishReport) {
  const days = [from, to, ...published.map(({ day }) => day)].sort();
  return { fromDay: days[0]!, toDay: days.at(-1)! };
}

const joined = (a: PublishOutcome, b: PublishReport, c: RepairReport): PublishOutcome => ({
  published: [...a.published, ...b.published],
  unchanged: a.unchanged + b.unchanged,
  withheld: [...a.withheld, ...b.withheld],
  repaired: [...a.repaired, ...c.repaired],
  unrepaired: [...a.unrepaired, ...c.unrepaired],
});
