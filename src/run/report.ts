/** What a run did, as one value: printed, stored with the run, and turned into the exit code. */
import type { SilentAccount } from '../store/silent-accounts.ts';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { Check } from '../ledger/checks.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import type { DayChange, ReconcileReport } from '../reconcile/reconcile.ts';
import type { PublishReport } from '../statements/publish.ts';
import type { AccountOnDay } from '../store/statements/due-days.ts';
import type { PublishedNow, ForeignManifest } from '../statements/publish-options.ts';
import type { MonthsHeld } from '../store/lateness.ts';
import type { HistoricalComparison } from '../store/historical-days.ts';
import { NOTHING_REPAIRED, type RepairReport } from '../statements/repair-files.ts';
import type { HeldDay } from '../store/absent-entries.ts';
import { type SyncReport, sumOfSync } from '../sync/sync-report.ts';
import type { KnownNotice } from '../store/notices.ts';
import type { Changes, UnreportedChanges } from '../store/events.ts';
import type { RevisedDay } from '../store/statements/record-published.ts';
import type { CheckNotMade, HistoricalCheck } from '../sync/historical-days.ts';
import { isGoodEnd, type ExitCode, type Reason } from './verdict/exit-codes.ts';
import type { Discrepancy, Proven } from './proven.ts';
import type { NotJoined } from './known-ahead.ts';
import type { DayRange, ExtendedLookback } from './range.ts';
import type { OpenRange } from './coverage.ts';

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
      readonly recent: DayRange | null;
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

export interface MerchantSync extends DayRange {
  readonly merchantNo: string;
  /** Further days, from ranges that were asked for earlier and are not finished. */
  readonly backlogDays: readonly DayRange[];
  readonly report: SyncReport;
  /** In how many of the last nights the platform contradicted itself, this one too; left out if it did not in this one. */
  readonly nightsContradicted?: { readonly count: number; readonly of: number };
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
  readonly stage: Exclude<RunCommand, 'run'>;
  readonly exitCode: ExitCode;
  readonly message: string;
}

/** What is open after a run, of all days, for the merchants and currencies it was asked for. */
export interface OpenItems {
  readonly newBreaks: number;
  /** Open breaks that earlier runs found and that no one has resolved. */
  readonly knownBreaks: number;
  /** Amended and vanished entries that no earlier run has reported, whichever run stored them. */
  readonly unreported: Changes;
  /** Proven days whose statement changed and that no earlier run has reported. */
  readonly revised: readonly RevisedDay[];
  /** Unreadable entries that the platform still sends and that no one has acknowledged. */
  readonly quarantined: number;
  readonly notices: readonly KnownNotice[];
  /** Ranges that this run or an earlier one was asked for by date and that are not fully proven. */
  readonly requested: readonly OpenRange[];
  readonly proven: readonly Omit<Proven, 'unread'>[];
  /** Days by which proven days, days with figures and days with a current statement differ, as far as the run answers for them. */
  readonly discrepancies: readonly Discrepancy[];
  /** Account days that lost so many entries at the same time that a person has to confirm it. */
  readonly held: readonly HeldDay[];
  /** Accounts without an entry for longer than ever before. */
  readonly silent: readonly SilentAccount[];
}

/** Stands in for the real value if the database cannot say what is open. */
export const NOTHING_STANDS: OpenItems = {
  newBreaks: 0,
  knownBreaks: 0,
  unreported: { amended: 0, vanished: 0 },
  revised: [],
  quarantined: 0,
  notices: [],
  requested: [],
  proven: [],
  discrepancies: [],
  held: [],
  silent: [],
};

export interface MerchantOpenItems {
  readonly standing: OpenItems;
  /** The notes behind `unreported` of the open items. They are deleted once they are reported. */
  readonly unreported: readonly UnreportedChanges[];
}

/** What was published, which published files had to be written again, and what lay there instead of ours. */
export interface PublishOutcome extends PublishReport, RepairReport {
  readonly foreign: readonly ForeignManifest[];
  /** First statements of days whose entries could not be read before and are readable now. */
  readonly readableNow: readonly AccountOnDay[];
}

export const NOTHING_PUBLISHED: PublishOutcome = {
  ...{ published: [], unchanged: 0, withheld: [], unlinked: [] },
  ...NOTHING_REPAIRED,
  ...{ foreign: [], readableNow: [] },
};

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
  readonly healingReads: readonly HealingRead[];
  readonly publish: PublishOutcome | null;
  /** Merchants for whom a stage failed while the run went on for the others. */
  readonly troubles: readonly MerchantTrouble[];
  /** Merchants that were left out because another process is at work on them. */
  readonly busy: readonly BusyMerchant[];
}

export interface RunReport extends StageOutcome, DayRange {
  readonly command: RunCommand;
  readonly runId: number;
  readonly exitCode: ExitCode;
  readonly checked: readonly Check[];
  readonly standing: OpenItems;
  /** Why the run is not green, the most severe reason first, each with what to do. */
  readonly reasons: readonly Reason[];
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

export const accountDayKey = ({ account, day }: Pick<DayChange, 'account' | 'day'>): string =>
  JSON.stringify([account.merchantNo, account.currency, day]);

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
    keys: new Set(touched.map(accountDayKey)),
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

/** The figures that are stored with the run: only counts, nothing from any entry. */
export function runFigures(
  report: Omit<RunReport, 'command' | 'runId' | 'from' | 'to' | 'exitCode'>,
): Record<string, unknown> {
  const { reconcile, publish, standing } = report;
  const read = sumOfSync(report.sync);
  const { requests, windows, contradictions, platformBehindMs, platformAheadMs } = read;
  const { inserted, amended, vanished, returned, quarantined, unchanged } = read;
  const merchants = report.sync
    .filter(({ notJoined }) => notJoined === undefined)
    .map(({ merchantNo }) => merchantNo);
  const busy = report.busy.slice(0, NAMED_MAX).map(({ merchantNo }) => merchantNo);
  const widerSweeps = report.sync.flatMap(({ merchantNo, widerSweep }) =>
    widerSweep === undefined ? [] : [{ merchantNo, days: widerSweep.days, asked: widerSweep.asked }],
  );
  return {
    ...merchantFigures(merchants, merchantsDone(merchants, report.reasons)),
    ...(busy.length > 0 && { busy }),
    requests,
    windows,
    contradictions,
    uncertified: read.uncertified.length,
    ...{ inserted, amended, vanished, returned, quarantined, unchanged },
    ...{ platformBehindMs, platformAheadMs },
    backlogDays: report.sync.flatMap(({ merchantNo, backlogDays }) =>
      backlogDays.map((days) => ({ merchantNo, ...days })),
    ),
    ...(widerSweeps.length > 0 && { widerSweeps: widerSweeps.slice(0, NAMED_MAX) }),
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

interface OfMerchant {
  readonly merchantNo: string;
}

export const orderOfMerchants = (
  { merchantNo: one }: OfMerchant,
  { merchantNo: other }: OfMerchant,
): number => (one < other ? -1 : one > other ? 1 : 0);

/** In order of merchant, whoever was done first: two runs of the same work tell it in the same order. */
export function outcomeOfAll(
  all: readonly MerchantOutcome[],
  busy: readonly BusyMerchant[] = [],
): StageOutcome {
  const outcomes = all.toSorted(orderOfMerchants);
  const present = <Part>(part: (outcome: MerchantOutcome) => Part | null): Part[] =>
    outcomes.flatMap((outcome) => part(outcome) ?? []);
  return {
    sync: present(({ sync }) => sync),
    reconcile: reconciled(present(({ reconcile }) => reconcile)),
    healingReads: outcomes.flatMap(({ healingReads }) => healingReads),
    publish: published(present(({ publish }) => publish)),
    troubles: present(({ trouble }) => trouble),
    busy: busy.toSorted(orderOfMerchants),
  };
}

/** The counts that are stored with a run, of a run in which nothing was done: each is 0. */
export const zeroFigures = (): Record<string, number> =>
  Object.fromEntries(
    Object.entries(
      runFigures({
        ...{ ...outcomeOfAll([]), standing: NOTHING_STANDS },
        ...{ checked: [], reasons: [], notes: [], elapsedMs: 0 },
      }),
    ).filter((figure): figure is [string, number] => typeof figure[1] === 'number'),
  );

/** Adds up reports of one shape field by field: numbers are added, lists joined, and nested reports added up in turn. */
function sumOfAll<Report extends object>(all: readonly Report[], nothing: Report): Report {
  const fields = Object.entries(nothing).map(([name, none]: [string, unknown]) => {
    const own = all.map((one) => (one as Readonly<Record<string, unknown>>)[name]);
    if (typeof none === 'number') return [name, (own as number[]).reduce((sum, figure) => sum + figure, 0)];
    return [name, Array.isArray(none) ? own.flat() : sumOfAll(own as object[], none as object)];
  });
  return Object.fromEntries(fields) as Report;
}

const reconciled = (all: readonly ReconcileReport[]): ReconcileReport | null =>
  all.length === 0
    ? null
    : sumOfAll(all, { accounts: 0, daysChained: 0, daysChanged: [], opened: [], healed: [] });

function published(all: readonly PublishOutcome[]): PublishOutcome | null {
  if (all.length === 0) return null;
  const leftOut = all.flatMap((one) => one.leftOut ?? []);
  const rest = sumOfAll(all, NOTHING_PUBLISHED);
  return leftOut.length === 0 ? rest : { leftOut, ...rest };
}

export const sumOpenItems = (all: readonly OpenItems[]): OpenItems => sumOfAll(all, NOTHING_STANDS);
