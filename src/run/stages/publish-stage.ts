/** Publishes what is due in a merchant's days, then compares what lies in the store and repairs it. */
import { repairCloses } from '../../months/files.ts';
import { accountsOf } from '../../ledger/account-filter.ts';
import { addDays, dayOf, dayWindow } from '../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { covers } from '../../ledger/window.ts';
import { NOTHING_REPAIRED, repairFiles } from '../../statements/repair-files.ts';
import { publishDays, type PublishReport } from '../../statements/publish.ts';
import type { ForeignManifest } from '../../statements/publish-options.ts';
import type { HeldEntries } from '../../statements/withheld.ts';
import type { AccountOnDay } from '../../store/statements/due-days.ts';
import { daysReadableNow } from '../../store/quarantine.ts';
import { publishedSpan } from '../../store/statements/stored-files.ts';
import { heldDaysOf } from '../../store/absent-entries.ts';
import type { DayRange } from '../range.ts';
import { type MerchantOutcome, accountDayKey, NOTHING_PUBLISHED } from '../report.ts';
import { sharedDays } from './notice-stage.ts';
import { isOfAnotherLedger } from '../verdict/merchant-reasons.ts';
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
    heldEntries: await heldEntriesOf(work, outcome),
  };
  const accounts = accountsOf(merchantNo, request.currencies);
  const report = await publishDays({
    ...options,
    comesLate: await lateDays(work, outcome),
    accounts,
    ...(request.command === 'publish' && request.range !== null
      ? { fromDay: from, toDay: to }
      : { toDay: lastDay(work) }),
    // A run with dates also checks the openings of every published day in its range. A nightly run does not: a gap of
    // months that no one asked for is normal there.
    ...(request.range === null ? {} : { answersFor: { ...accounts, from: days.from, to: days.to } }),
    onProgress: (progress) => deps.onProgress({ stage: 'publish', merchantNo, ...progress }),
    onDay: (soFar) => (outcome.publish = { ...NOTHING_PUBLISHED, ...soFar, foreign }),
  });
  const readableNow = await firstReadable(work, outcome, report);
  outcome.publish = { ...report, ...NOTHING_REPAIRED, readableNow, foreign };
  const compared =
    request.repairs === true
      ? ((await publishedSpan(deps.db, merchantNo, request.range)) ?? days)
      : daysToCompare(days, report);
  const span = { fromDay: compared.from, toDay: compared.to };
  const repair = await repairFiles({
    ...{ ...options, ...span },
    readsAll: request.repairs ?? false,
    onFile: (soFar) => (outcome.publish = { ...report, ...soFar, readableNow, foreign }),
  });
  const closes = request.repairs === true ? await repairCloses({ ...options, ...span }) : [];
  const repaired = [...repair.repaired, ...closes];
  outcome.publish = { ...report, ...repair, repaired, readableNow, foreign };
}

/** Null if nothing is held. A run that read all days of absent entries knows whether any are; another one asks. */
async function heldEntriesOf(
  { request, deps, merchantNo }: MerchantWork,
  { sync }: MerchantOutcome,
): Promise<HeldEntries | null> {
  if (sync !== null && isOfAnotherLedger(sync)) return { isHeld: () => true, isOfAnotherLedger: true };
  const holdsNone = sync?.report.uncertified.every(({ isHeld }) => isHeld !== true);
  if (holdsNone === true && request.range === null && request.currencies === null) return null;
  const days = await heldDaysOf(deps.db, [merchantNo]);
  const held = new Set([
    ...days.filter(({ acceptedAt }) => acceptedAt === null).map(({ currency }) => currency),
    ...(sync?.report.otherLedgers ?? []).map(({ currency }) => currency),
  ]);
  return held.size === 0 ? null : { isHeld: ({ currency }) => held.has(currency), isOfAnotherLedger: false };
}

/**
 * Days on which this run found the first entries, although they had been proven before to hold none. Of a day whose entries could not be
 * read before, the platform had stated them.
 */
async function lateDays(work: MerchantWork, { reconcile }: MerchantOutcome) {
  const { knownBefore } = work.days;
  const { zone } = work.deps;
  const found = (reconcile?.daysChanged ?? [])
    .filter(({ oldClosing, entries }) => oldClosing === null && entries > 0)
    .filter(({ day }) => covers(knownBefore, dayWindow(day, zone)));
  const readable = new Set((await readableNowOf(work, found)).map(accountDayKey));
  const late = new Set(found.map(accountDayKey).filter((key) => !readable.has(key)));
  return (account: Account, day: BusinessDay): boolean => late.has(accountDayKey({ account, day }));
}

/** Of these account days, those whose entries could not be read before and are readable now. */
async function readableNowOf<Day extends AccountOnDay>(
  { deps, merchantNo }: MerchantWork,
  days: readonly Day[],
): Promise<Day[]> {
  if (days.length === 0) return [];
  const asked = [...new Set(days.map(({ day }) => day))];
  const windows = asked.map((day) => ({ day, window: dayWindow(day, deps.zone) }));
  const found = await daysReadableNow(deps.db, merchantNo, windows);
  return days.filter(({ account, day }) =>
    found.some((one) => one.day === day && (one.currency ?? account.currency) === account.currency),
  );
}

/** Days that are published for the first time, as their entries can be read now. Asks nothing where none was unreadable when the run began. */
async function firstReadable(
  work: MerchantWork,
  { reconcile }: MerchantOutcome,
  { published }: PublishReport,
): Promise<readonly AccountOnDay[]> {
  if (!work.known.hasUnreadable) return [];
  const filled = new Set(
    reconcile?.daysChanged.filter(({ entries }) => entries > 0).map((one) => accountDayKey(one)),
  );
  const first = published.filter((one) => one.revision === 1 && filled.has(accountDayKey(one)));
  return (await readableNowOf(work, first)).map(({ account, day }) => ({ account, day }));
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
