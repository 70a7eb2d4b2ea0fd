/** What a run did, as one value: printed, stored with the run, and turned into the exit code. */
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { Check } from '../ledger/checks.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import type { ReconcileReport } from '../reconcile/reconcile.ts';
import type { PublishReport } from '../statements/publish.ts';
import type { RepairReport } from '../statements/repair-files.ts';
import type { KnownNotice } from '../store/notices.ts';
import type { Changes } from '../store/untold-changes.ts';
import type { RevisedDay } from '../store/statements/untold-revisions.ts';
import type { SyncReport } from '../sync/sync.ts';
import { isGoodEnd, type ExitCode } from './verdict/exit-codes.ts';
import type { NotJoined } from './join-merchants.ts';
import type { Reason } from './verdict/judge.ts';
import type { OlderDaysReport } from './stages/older-days.ts';
import type { Proven } from './proven.ts';
import type { DayRange } from './range.ts';
import type { OpenRange } from './requested.ts';
import { sumOfSync } from './stages/sync-tally.ts';

/** Said wherever a zone that was not proven matters. */
export const TIME_ZONE_ON_TRUST =
  'time zone taken on trust: PLATFORM_TIME_ZONE_PROOF is trusted, so PLATFORM_TIME_ZONE is not proven';

export type RunCommand = 'run' | 'sync' | 'reconcile' | 'publish';

/** A span read again because a break lies in it. */
export interface HealingRead {
  readonly merchantNo: string;
  readonly window: Window;
}

export interface MerchantSync {
  readonly merchantNo: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** Days besides, of ranges asked for earlier and not finished. */
  readonly takenUp: readonly DayRange[];
  readonly report: SyncReport;
  /** Ends of business days that are settled by our clock, and not by the platform's own; none where absent. */
  readonly unsettled?: readonly Window[];
  /** The look at the days before those read; absent where none was made. */
  readonly olderDays?: OlderDaysReport;
  /** Set where the merchant is known only, and its ledger was not read. */
  readonly notJoined?: NotJoined;
}

/** One merchant's failure in a stage; the other merchants' work went on. */
export interface MerchantTrouble {
  readonly merchantNo: string;
  readonly stage: 'reconcile' | 'publish';
  readonly exitCode: ExitCode;
  readonly message: string;
}

/** What is open after a run, of the merchants and currencies it was asked for, of whatever day. */
export interface Standing {
  /** Open breaks that this run found. */
  readonly newBreaks: number;
  /** Open breaks that earlier runs found, and nobody has resolved. */
  readonly knownBreaks: number;
  /** Amended and vanished entries that no run has told before this one, by whichever run they were stored. */
  readonly untold: Changes;
  /** Days that read otherwise than they were proven, and that no run has told before this one. */
  readonly revised: readonly RevisedDay[];
  /** Unreadable entries the platform still sends, and nobody has acknowledged. */
  readonly quarantined: number;
  /** What is odd about a ledger though no balance breaks, and no run has told before this one. */
  readonly notices: readonly KnownNotice[];
  /** Ranges asked for with dates, by this run or an earlier one, that are not proven whole. */
  readonly requested: readonly OpenRange[];
  readonly proven: readonly Omit<Proven, 'unread'>[];
}

/** What was published, and what of it had to be written again in the store. */
export type PublishOutcome = PublishReport & RepairReport;

export interface RunReport {
  readonly command: RunCommand;
  readonly runId: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly exitCode: ExitCode;
  readonly sync: readonly MerchantSync[];
  readonly reconcile: ReconcileReport | null;
  /** Spans read again because a break lies in them. */
  readonly healingReads: readonly HealingRead[];
  readonly publish: PublishOutcome | null;
  readonly troubles: readonly MerchantTrouble[];
  /** What it looked at beyond the days it read. */
  readonly checked: readonly Check[];
  readonly standing: Standing;
  /** Why the run is not green, gravest first, each with what to do. */
  readonly reasons: readonly Reason[];
  /** The reasons' sentences. */
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

/** An account day, as one text to look it up by. */
export const accountDayKey = (merchantNo: string, currency: string, day: BusinessDay): string =>
  JSON.stringify([merchantNo, currency, day]);

/** Account days the run did something to: new figures, a break found or healed, published, or withheld. In order. */
export function accountDaysTouched({ reconcile, publish }: Pick<RunReport, 'reconcile' | 'publish'>): {
  readonly keys: ReadonlySet<string>;
  /** Every account they are of passes it. */
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

/** Of the merchants read, those for which nothing of the run was left undone, whatever became of the others. */
function merchantsDone(read: readonly string[], reasons: readonly Reason[]): string[] {
  const undone = reasons.filter(({ exitCode }) => !isGoodEnd(exitCode)).map(({ merchantNo }) => merchantNo);
  return undone.includes(undefined) ? [] : read.filter((merchantNo) => !undone.includes(merchantNo));
}

/** The figures kept with the run: counts only, nothing of any entry. */
export function runFigures(report: RunReport): Record<string, unknown> {
  const { reconcile, publish, standing } = report;
  const read = sumOfSync(report.sync);
  const merchants = report.sync
    .filter(({ notJoined }) => notJoined === undefined)
    .map(({ merchantNo }) => merchantNo);
  return {
    merchants,
    merchantsDone: merchantsDone(merchants, report.reasons),
    requests: read.requests,
    windows: read.windows,
    uncertified: read.uncertified.length,
    inserted: read.inserted,
    amended: read.amended,
    vanished: read.vanished,
    returned: read.returned,
    quarantined: read.quarantined,
    unchanged: read.unchanged,
    platformBehindMs: read.platformBehindMs,
    platformAheadMs: read.platformAheadMs,
    takenUp: report.sync.flatMap(({ merchantNo, takenUp }) =>
      takenUp.map((days) => ({ merchantNo, ...days })),
    ),
    checked: report.checked,
    daysChained: reconcile?.daysChained ?? 0,
    breaksOpened: reconcile?.opened.length ?? 0,
    breaksHealed: reconcile?.healed.length ?? 0,
    breaksNew: standing.newBreaks,
    breaksKnown: standing.knownBreaks,
    quarantinedOpen: standing.quarantined,
    notices: standing.notices.length,
    published: publish?.published.length ?? 0,
    revised: standing.revised.length,
    withheld: publish?.withheld.length ?? 0,
    unlinked: publish?.unlinked.length ?? 0,
    repaired: publish?.repaired.length ?? 0,
    unrepaired: publish?.unrepaired.length ?? 0,
    elapsedMs: report.elapsedMs,
    reasons: report.reasons,
    notes: report.notes,
  };
}
