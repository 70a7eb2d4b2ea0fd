/** What a run did, as one value: printed, stored with the run, and turned into the exit code. */
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { Check } from '../ledger/checks.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import type { ReconcileReport } from '../reconcile/reconcile.ts';
import type { PublishReport } from '../statements/publish.ts';
import type { PublishedNow, ForeignManifest } from '../statements/publish-options.ts';
import type { MonthsHeld } from '../store/lateness.ts';
import type { HistoricalComparison } from '../store/historical-days.ts';
import type { RepairReport } from '../statements/repair-files.ts';
import type { HeldDay } from '../store/absent-entries.ts';
import { type SyncReport, sumOfSync } from '../sync/sync-report.ts';
import type { KnownNotice } from '../store/notices.ts';
import type { Changes } from '../store/events.ts';
import type { RevisedDay } from '../store/statements/revisions.ts';
import type { CheckNotMade, HistoricalCheck } from '../sync/historical-days.ts';
import { isGoodEnd, type ExitCode, type Reason } from './verdict/exit-codes.ts';
import type { Discrepancy } from './discrepancies.ts';
import type { NotJoined } from './known-ahead.ts';
import type { Proven } from './proven.ts';
import type { DayRange, ExtendedLookback } from './range.ts';
import type { OpenRange } from './requested.ts';

/** The note on a run whose time zone was not proven. */
export const TIME_ZONE_ON_TRUST =
  'time zone taken on trust: PLATFORM_TIME_ZONE_PROOF is trusted, so PLATFORM_TIME_ZONE is not proven';

export type RunCommand = 'run' | 'sync' | 'reconcile' | 'publish';

/** A span that was read again because a break lies in it. */
export interface HealingRead {
  readonly merchantNo: string;
  readonly window: Window;
}

export type HistoricalReport =
  | {
      readonly kind: 'checked';
      readonly check: HistoricalCheck;
      /** The days that were read by this run and compared too; null if none were. */
      readonly recent: { readonly from: BusinessDay; readonly to: BusinessDay } | null;
      /** The report of the days that were read again; null if there were none. */
      readonly again: SyncReport | null;
      /** Numbers of the entries that reading them again brought. */
      readonly late: readonly string[];
      /** For how many nights the platform has refused to show some days. */
      readonly sinceNights: number;
      readonly zone: string;
    }
  /** `nights`: since the last comparison; null if there was none. */
  | ({ readonly kind: 'not made'; readonly nights: number | null } & CheckNotMade);

export interface MerchantSync {
  readonly merchantNo: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** Further days, from ranges that were asked for earlier and are not finished. */
  readonly backlogDays: readonly DayRange[];
  readonly report: SyncReport;
  /** How many nights in a row the platform contradicted itself, this one too; left out if it did not. */
  readonly nightsContradicted?: number;
  /** How far the lookback reached; left out if not further back than the settings ask for. */
  readonly widerSweep?: ExtendedLookback;
  /**
   * Ends of business days that are settled by this machine's clock and not yet by the platform's. If left out, none.
   */
  readonly unsettled?: readonly Window[];
  /** What the comparison of older days found; left out if it was not made. */
  readonly olderDays?: HistoricalReport;
  /** Set if the merchant has not joined yet, so its ledger was not read. */
  readonly notJoined?: NotJoined;
}

/** The failure of a stage for one merchant. The other merchants were not affected. */
export interface MerchantTrouble {
  readonly merchantNo: string;
  readonly stage: 'sync' | 'reconcile' | 'publish';
  readonly exitCode: ExitCode;
  readonly message: string;
}

/** What is open after a run, of all days, for the merchants and currencies it was asked for. */
export interface OpenItems {
  /** Open breaks that this run found. */
  readonly newBreaks: number;
  /** Open breaks that earlier runs found and that no one has resolved. */
  readonly knownBreaks: number;
  /** Amended and vanished entries that no earlier run has reported, whichever run stored them. */
  readonly unreported: Changes;
  /** Proven days whose statement changed and that no earlier run has reported. */
  readonly revised: readonly RevisedDay[];
  /** Unreadable entries that the platform still sends and that no one has acknowledged. */
  readonly quarantined: number;
  /** Notices that no earlier run has reported. */
  readonly notices: readonly KnownNotice[];
  /** Ranges that this run or an earlier one was asked for by date and that are not fully proven. */
  readonly requested: readonly OpenRange[];
  readonly proven: readonly Omit<Proven, 'unread'>[];
  /** Days by which proven days, days with figures and days with a current statement differ, as far as the run answers for them. */
  readonly discrepancies: readonly Discrepancy[];
  /** Account days that lost so many entries at the same time that a person has to confirm it. */
  readonly held: readonly HeldDay[];
}

/** What was published, which published files had to be written again, and what lay there instead of ours. */
export interface PublishOutcome extends PublishReport, RepairReport {
  readonly foreign: readonly ForeignManifest[];
}

export interface BusyMerchant {
  readonly merchantNo: string;
  /** 5 if it was asked for by name, 4 if the schedule has to come back to it, else 0. */
  readonly exitCode: ExitCode;
  /** A sentence that names the other process. */
  readonly message: string;
}

/** What was done for one merchant, gathered while it is done, so that a failure half-way still reports what is kept. */
export interface MerchantOutcome {
  readonly merchantNo: string;
  sync: MerchantSync | null;
  reconcile: ReconcileReport | null;
  healingReads: readonly HealingRead[];
  /** Its days may hold another merchant's entries: they are compared before they are published. */
  isToCompare: boolean;
  publish: PublishOutcome | null;
  trouble: MerchantTrouble | null;
  /** How older days compared with the platform, to be recorded with the merchant's end; null if they were not compared. */
  historicalCompared: HistoricalComparison | null;
  /** Months that were found to hold at a month end; null otherwise. */
  monthsHeld: MonthsHeld | null;
  /** What was published and is recorded as done together with the merchant's end. */
  readonly publishedNow: PublishedNow;
}

export interface StageOutcome {
  readonly sync: readonly MerchantSync[];
  readonly reconcile: ReconcileReport | null;
  /** Spans that were read again because breaks lie in them. */
  readonly healingReads: readonly HealingRead[];
  readonly publish: PublishOutcome | null;
  /** Merchants for whom a stage failed while the run went on for the others. */
  readonly troubles: readonly MerchantTrouble[];
  /** Merchants that were left out because another process is at work on them. */
  readonly busy: readonly BusyMerchant[];
}

export interface RunReport extends StageOutcome {
  readonly command: RunCommand;
  readonly runId: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly exitCode: ExitCode;
  readonly checked: readonly Check[];
  readonly standing: OpenItems;
  /** Why the run is not green, the most severe reason first, each with what to do. */
  readonly reasons: readonly Reason[];
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

export const accountDayKey = (merchantNo: string, currency: string, day: BusinessDay): string =>
  JSON.stringify([merchantNo, currency, day]);

/**
 * Account days that the run changed in some way, in order: new figures, a break found or healed, published, or
 * withheld.
 */
export function accountDaysTouched({ reconcile, publish }: Pick<RunReport, 'reconcile' | 'publish'>): {
  readonly keys: ReadonlySet<string>;
  /** A filter that every account of these days passes; it may let others pass. */
  readonly accounts: AccountFilter;
  readonly days: readonly BusinessDay[];
} {
  const touched = [
    ...(reconcile?.daysChanged ?? []),
    ...(publish?.published ?? []),
    ...(publish?.withheld ?? []),
    ...[...(reconcile?.opened ?? []), ...(reconcile?.healed ?? [])].map((row) => ({
      account: { merchantNo: row.merchant_no, currency: row.currency },
      day: row.day,
    })),
  ];
  return {
    keys: new Set(
      touched.map(({ account, day }) => accountDayKey(account.merchantNo, account.currency, day)),
    ),
    accounts: {
      merchants: [...new Set(touched.map(({ account }) => account.merchantNo))],
      currencies: [...new Set(touched.map(({ account }) => account.currency))],
    },
    days: [...new Set(touched.map(({ day }) => day))].sort(),
  };
}

/** The merchants that were read and for which nothing was left undone, whatever happened to the others. */
function merchantsDone(read: readonly string[], reasons: readonly Reason[]): string[] {
  const undone = reasons.filter(({ exitCode }) => !isGoodEnd(exitCode)).map(({ merchantNo }) => merchantNo);
  return undone.includes(undefined) ? [] : read.filter((merchantNo) => !undone.includes(merchantNo));
}

/** Most merchants whose numbers are stored with a run. Each merchant's end has a row of its own in any case. */
const NAMED_MAX = 500;

/** Which merchants a run read, and for which of them nothing was left undone; how many, if they are very many. */
export const merchantFigures = (
  merchants: readonly string[],
  done: readonly string[],
): Record<string, unknown> =>
  merchants.length <= NAMED_MAX
    ? { merchants, merchantsDone: done }
    : { merchantsRead: merchants.length, merchantsReadWell: done.length };

/** Merchants whose lookback lateness widened, with its days; nothing if there are none. */
function extendedLookbacksIn({ sync }: Pick<RunReport, 'sync'>): Record<string, unknown> {
  const widerSweeps = sync.flatMap(({ merchantNo, widerSweep }) =>
    widerSweep === undefined ? [] : [{ merchantNo, days: widerSweep.days, asked: widerSweep.asked }],
  );
  return widerSweeps.length === 0 ? {} : { widerSweeps: widerSweeps.slice(0, NAMED_MAX) };
}

/** The figures that are stored with the run: only counts, nothing from any entry. */
export function runFigures(report: RunReport): Record<string, unknown> {
  const { reconcile, publish, standing } = report;
  const read = sumOfSync(report.sync);
  const merchants = report.sync
    .filter(({ notJoined }) => notJoined === undefined)
    .map(({ merchantNo }) => merchantNo);
  return {
    ...merchantFigures(merchants, merchantsDone(merchants, report.reasons)),
    ...(report.busy.length === 0
      ? {}
      : { busy: report.busy.slice(0, NAMED_MAX).map((one) => one.merchantNo) }),
    requests: read.requests,
    windows: read.windows,
    contradictions: read.contradictions,
    uncertified: read.uncertified.length,
    inserted: read.inserted,
    amended: read.amended,
    vanished: read.vanished,
    returned: read.returned,
    quarantined: read.quarantined,
    unchanged: read.unchanged,
    platformBehindMs: read.platformBehindMs,
    platformAheadMs: read.platformAheadMs,
    backlogDays: report.sync.flatMap(({ merchantNo, backlogDays }) =>
      backlogDays.map((days) => ({ merchantNo, ...days })),
    ),
    ...extendedLookbacksIn(report),
    checked: report.checked,
    daysChained: reconcile?.daysChained ?? 0,
    breaksOpened: reconcile?.opened.length ?? 0,
    breaksHealed: reconcile?.healed.length ?? 0,
    breaksNew: standing.newBreaks,
    breaksKnown: standing.knownBreaks,
    quarantinedOpen: standing.quarantined,
    notices: standing.notices.length,
    published: publish?.published.length ?? 0,
    revised: standing.revised.filter(({ wasOpenAtClose }) => wasOpenAtClose !== true).length,
    withheld: publish?.withheld.length ?? 0,
    unlinked: publish?.unlinked.length ?? 0,
    repaired: publish?.repaired.length ?? 0,
    unrepaired: publish?.unrepaired.length ?? 0,
    elapsedMs: report.elapsedMs,
    reasons: report.reasons,
    notes: report.notes,
  };
}

export function outcomeOfAll(
  outcomes: readonly MerchantOutcome[],
  busy: readonly BusyMerchant[] = [],
): StageOutcome {
  const present = <Part>(part: (outcome: MerchantOutcome) => Part | null): Part[] =>
    outcomes.flatMap((outcome) => part(outcome) ?? []);
  return {
    sync: present(({ sync }) => sync),
    reconcile: reconciled(present(({ reconcile }) => reconcile)),
    healingReads: outcomes.flatMap(({ healingReads }) => healingReads),
    publish: published(present(({ publish }) => publish)),
    troubles: present(({ trouble }) => trouble),
    busy,
  };
}

/** The counts that are stored with a run, of a run in which nothing was done: each is 0. */
export function zeroFigures(): Record<string, number> {
  const report: RunReport = {
    ...{ command: 'run', runId: 0, from: '', to: '', exitCode: 0, ...outcomeOfAll([]), checked: [] },
    ...{ standing: sumOpenItems([]), reasons: [], notes: [], elapsedMs: 0 },
  };
  return Object.fromEntries(
    Object.entries(runFigures(report)).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, value]] : [],
    ),
  );
}

const sumOf = <Item>(items: readonly Item[], figure: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + figure(item), 0);

function reconciled(all: readonly ReconcileReport[]): ReconcileReport | null {
  if (all.length === 0) return null;
  return {
    accounts: sumOf(all, ({ accounts }) => accounts),
    daysChained: sumOf(all, ({ daysChained }) => daysChained),
    daysChanged: all.flatMap(({ daysChanged }) => daysChanged),
    opened: all.flatMap(({ opened }) => opened),
    healed: all.flatMap(({ healed }) => healed),
  };
}

function published(all: readonly PublishOutcome[]): PublishOutcome | null {
  if (all.length === 0) return null;
  const leftOut = all.flatMap((one) => one.leftOut ?? []);
  return {
    ...(leftOut.length === 0 ? {} : { leftOut }),
    published: all.flatMap((one) => one.published),
    unchanged: sumOf(all, ({ unchanged }) => unchanged),
    withheld: all.flatMap(({ withheld }) => withheld),
    unlinked: all.flatMap(({ unlinked }) => unlinked),
    repaired: all.flatMap(({ repaired }) => repaired),
    unrepaired: all.flatMap(({ unrepaired }) => unrepaired),
    foreign: all.flatMap(({ foreign }) => foreign),
  };
}

export function sumOpenItems(all: readonly OpenItems[]): OpenItems {
  return {
    newBreaks: sumOf(all, ({ newBreaks }) => newBreaks),
    knownBreaks: sumOf(all, ({ knownBreaks }) => knownBreaks),
    unreported: {
      amended: sumOf(all, ({ unreported }) => unreported.amended),
      vanished: sumOf(all, ({ unreported }) => unreported.vanished),
    },
    revised: all.flatMap(({ revised }) => revised),
    quarantined: sumOf(all, ({ quarantined }) => quarantined),
    notices: all.flatMap(({ notices }) => notices),
    requested: all.flatMap(({ requested }) => requested),
    proven: all.flatMap(({ proven }) => proven),
    discrepancies: all.flatMap(({ discrepancies }) => discrepancies),
    held: all.flatMap(({ held }) => held),
  };
}
