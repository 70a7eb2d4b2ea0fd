/** Publishes what is due in a merchant's days, then compares what lies in the store and repairs it. */
import { accountsOf } from '../../ledger/account-filter.ts';
import { addDays, dayOf, dayWindow } from '../../ledger/business-day.ts';
import type { Account, BusinessDay, Window } from '../../ledger/entry.ts';
import { covers } from '../../ledger/window.ts';
import { part } from '../../options/all.ts';
import { NOTHING_REPAIRED, repairFiles } from '../../statements/repair-files.ts';
import { publishDays, type PublishReport } from '../../statements/publish.ts';
import type { ForeignManifest } from '../../statements/publish-options.ts';
import { publishedSpan } from '../../store/statements/stored-files.ts';
import { heldDaysOf } from '../../store/absent-entries.ts';
import type { DayRange } from '../range.ts';
import { type MerchantOutcome, accountDayKey, NOTHING_PUBLISHED } from '../report.ts';
import { sharedDays } from './notice-stage.ts';
import type { MerchantWork } from '../active-run.ts';

/** Publishes the days of the range; without a range everything that is due, as the cascade may have changed days outside it. */
export async function publishStage(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { request, deps, lease, merchantNo, runId, days, from, to, checked } = work;
  const foreign: ForeignManifest[] = [];
  outcome.publish = { ...NOTHING_PUBLISHED, foreign };
  await work.ownsStore?.();
  const options = {
    ...{ ...deps, lease, merchantNo, runId, checked, lateness: days.lateness },
    publishedNow: outcome.publishedNow,
    onForeign: (found: ForeignManifest): void => void foreign.push(found),
    sharedFrom: await sharedDays(work, outcome),
    holdsEntries: await holdsEntries(work, outcome),
  };
  const accounts = accountsOf(merchantNo, request.currencies);
  const report = await publishDays({
    ...options,
    comesLate: lateDays(outcome, days.knownBefore, deps.zone),
    accounts,
    likelyDue: days,
    ...(request.command === 'publish' && request.range !== null
      ? { fromDay: from, toDay: to }
      : { toDay: lastDay(work) }),
    // A run with dates also checks the openings of every published day in its range. A nightly run does not: a gap of
    // months that no one asked for is normal there.
    ...(request.range === null ? {} : { answersFor: { ...accounts, from: days.from, to: days.to } }),
    onProgress: (progress) => deps.onProgress({ stage: 'publish', merchantNo, ...progress }),
    onDay: (soFar) => (outcome.publish = { ...soFar, ...NOTHING_REPAIRED, foreign }),
  });
  outcome.publish = { ...report, ...NOTHING_REPAIRED, foreign };
  const compared =
    request.repairs === true
      ? ((await publishedSpan(deps.db, merchantNo, request.range)) ?? days)
      : daysToCompare(days, report);
  const span = { fromDay: compared.from, toDay: compared.to };
  const repair = await repairFiles({
    ...{ ...options, ...span },
    readsAll: request.repairs ?? false,
    onFile: (soFar) => (outcome.publish = { ...report, ...soFar, foreign }),
  });
  const closes = request.repairs === true ? await part('closes')?.repair({ ...options, ...span }) : undefined;
  outcome.publish = { ...report, ...repair, repaired: [...repair.repaired, ...(closes ?? [])], foreign };
}

/** A run that read the ledger knows it; another one asks. */
async function holdsEntries({ deps, merchantNo }: MerchantWork, { sync }: MerchantOutcome): Promise<boolean> {
  if (sync !== null) return sync.report.uncertified.some(({ isHeld }) => isHeld === true);
  const held = await heldDaysOf(deps.db, [merchantNo]);
  return held.some(({ acceptedAt }) => acceptedAt === null);
}

/** Days on which this run found the first entries, although they had been proven before to hold none. */
function lateDays({ reconcile }: MerchantOutcome, knownBefore: readonly Window[], zone: string) {
  const found = new Set(
    reconcile?.daysChanged
      .filter(({ oldClosing, entries }) => oldClosing === null && entries > 0)
      .map(accountDayKey),
  );
  return (account: Account, day: BusinessDay): boolean =>
    found.has(accountDayKey({ account, day })) && covers(knownBefore, dayWindow(day, zone));
}

/** A day that is not over is included if it was asked for by date, to report that it is not over. */
function lastDay({ request: { range }, deps: { now, zone } }: MerchantWork): BusinessDay {
  const yesterday = addDays(dayOf(now().getTime(), zone), -1);
  return range !== null && range.to > yesterday ? range.to : yesterday;
}

/** The merchant's range, extended to every published day outside it. */
function daysToCompare({ from, to }: DayRange, { published }: PublishReport): DayRange {
  const days = [from, to, ...published.map(({ day }) => day)].sort();
  return { from: days[0]!, to: days.at(-1)! };
}
