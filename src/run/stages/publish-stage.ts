/** Publishes what is due in each merchant's days, then compares what lies in the store and repairs it. */
import { accountsOf } from '../../ledger/account-filter.ts';
import { addDays, dayOf, dayWindow } from '../../ledger/business-day.ts';
import type { Account, BusinessDay, Window } from '../../ledger/entry.ts';
import { covers } from '../../ledger/window.ts';
import { NOTHING_REPAIRED, repairFiles, type RepairReport } from '../../statements/repair-files.ts';
import { publishDays, type PublishReport } from '../../statements/publish.ts';
import { publishedSpan } from '../../store/statements/stored-files.ts';
import { eachMerchant } from './merchant-by-merchant.ts';
import type { DayRange } from '../range.ts';
import { accountDayKey, type PublishOutcome } from '../report.ts';
import type { ActiveRun, StageOutcome } from '../active-run.ts';

/**
 * Publishes the days of the range; without a range everything that is due, as the cascade may have changed days
 * outside it. A failure for one merchant does not stop the others.
 */
export async function publishStage(run: ActiveRun, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId, ranges, from, to, checked } = run;
  outcome.publish = { published: [], unchanged: 0, withheld: [], unlinked: [], ...NOTHING_REPAIRED };
  await eachMerchant(run, outcome, 'publish', async (merchantNo) => {
    const before = outcome.publish!;
    const options = { ...deps, lease, merchantNo, runId, checked };
    const accounts = accountsOf(merchantNo, request.currencies);
    const days = ranges.get(merchantNo);
    const range = days ?? { from, to };
    const report = await publishDays({
      ...options,
      comesLate: lateDays(outcome, days?.knownBefore ?? [], deps.zone),
      accounts,
      ...(request.command === 'publish' && request.range !== null
        ? { fromDay: from, toDay: to }
        : { toDay: lastDay(run) }),
      // A run with dates also checks the openings of every published day in its range. A nightly run does not: a gap of
      // months that nobody asked for is normal there.
      ...(request.range === null ? {} : { answersFor: { ...accounts, from: range.from, to: range.to } }),
      onProgress: (progress) => deps.onProgress({ stage: 'publish', ...progress }),
      onDay: (soFar) => (outcome.publish = joined(before, soFar, NOTHING_REPAIRED)),
    });
    outcome.publish = joined(before, report, NOTHING_REPAIRED);
    const compared =
      request.repairs === true
        ? ((await publishedSpan(deps.db, merchantNo, request.range)) ?? range)
        : daysToCompare(range, report);
    const repair = await repairFiles({
      ...options,
      fromDay: compared.from,
      toDay: compared.to,
      readsAll: request.repairs ?? false,
      onFile: (soFar) => (outcome.publish = joined(before, report, soFar)),
    });
    outcome.publish = joined(before, report, repair);
  });
}

/** Days on which this run found the first entries, although they had been proven before to hold none. */
function lateDays({ reconcile }: StageOutcome, knownBefore: readonly Window[], zone: string) {
  const keyOf = ({ merchantNo, currency }: Account, day: BusinessDay) =>
    accountDayKey(merchantNo, currency, day);
  const found = new Set(
    reconcile?.daysChanged
      .filter(({ oldClosing, entries }) => oldClosing === null && entries > 0)
      .map(({ account, day }) => keyOf(account, day)),
  );
  return (account: Account, day: BusinessDay): boolean =>
    found.has(keyOf(account, day)) && covers(knownBefore, dayWindow(day, zone));
}

/**
 * The last day to look at. A day that is not over is included if it was asked for by date, to report that it is not
 * over.
 */
function lastDay({ request: { range }, deps: { now, zone } }: ActiveRun): BusinessDay {
  const yesterday = addDays(dayOf(now().getTime(), zone), -1);
  return range !== null && range.to > yesterday ? range.to : yesterday;
}

/** The merchant's range, extended to every published day outside it. */
function daysToCompare({ from, to }: DayRange, { published }: PublishReport): DayRange {
  const days = [from, to, ...published.map(({ day }) => day)].sort();
  return { from: days[0]!, to: days.at(-1)! };
}

const joined = (a: PublishOutcome, b: PublishReport, c: RepairReport): PublishOutcome => ({
  published: [...a.published, ...b.published],
  unchanged: a.unchanged + b.unchanged,
  withheld: [...a.withheld, ...b.withheld],
  unlinked: [...a.unlinked, ...b.unlinked],
  repaired: [...a.repaired, ...c.repaired],
  unrepaired: [...a.unrepaired, ...c.unrepaired],
});
