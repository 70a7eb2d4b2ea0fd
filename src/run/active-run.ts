/** The types of what a run works with and of what it gathers; all its stages share them. */
import type { Kysely } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import { type Check, CHECKS, isChecked } from '../ledger/checks.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import { ObjectStoreRefused, ObjectStoreUnreachable, type ObjectStore } from '../objects/object-store.ts';
import { isDatabaseTrouble } from '../store/engine/errors.ts';
import { TimeZoneWrong } from '../sync/time-zone-proof.ts';
import type { StatementFormat } from '../statements/formats/format.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { SigningKey } from '../ledger/signature.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { createZoneGate, type ZoneGate } from '../sync/zone-gate.ts';
import type { SyncProgress } from '../sync/sync.ts';
import type { RunAlerts } from './alerts.ts';
import type { Joining, KnownAhead } from './known-ahead.ts';
import type { DueJob } from './schedule/due.ts';
import type { Waits } from './side-by-side.ts';
import type { DayRange, MerchantDays } from './range.ts';
import type { RunCommand, MerchantOutcome } from './report.ts';
import { UNTRACED, type Trace } from '../host/trace.ts';
import type { CallMade, Retry } from '../platform/transport.ts';
import { dayOf, dayWindow } from '../ledger/business-day.ts';
import type { OnWaiting } from '../platform/waits.ts';

/** Everything a run uses. The caller opens it and closes it. */
export interface RunDeps {
  readonly db: Kysely<DB>;
  readonly reader: LedgerReader;
  readonly objects: ObjectStore;
  readonly currencies: Currencies;
  /** IANA zone of the platform's timestamps and of business days. */
  readonly zone: string;
  readonly settleDelayMs: number;
  readonly resweepDays: number;
  /** How many it may read again where measured lateness asks for it; if left out, no more than `resweepDays`. */
  readonly resweepDaysMax?: number;
  /** How many days back to search for late entries, as far as the ledger was read before. */
  readonly lateSweepDays?: number;
  readonly clockToleranceS: number;
  /** The checks that a nightly run makes beyond the days it reads. If left out, all of them. */
  readonly checks?: readonly Check[];
  /** If true, the time zone is not proven, because a person vouches for it. */
  readonly timeZoneTrusted?: boolean;
  /** What signs manifests. If left out or null, they are not signed. */
  readonly signingKey?: SigningKey | null;
  /** What statements are published in next to the CSV; if left out, nothing. */
  readonly formats?: readonly StatementFormat[];
  /** The present for this run: it decides which days are over and which windows are settled. A rehearsal may set it. */
  readonly now: () => Date;
  readonly holder: string;
  /** How many merchants are worked on side by side; 8 if left out. */
  readonly merchantsAtOnce?: number;
  /** Which merchants have nothing but waits: each lends its place to the next one. If left out, none does. */
  readonly waits?: Waits;
  /** Called for merchants that wait for the object store. */
  readonly onWaiting?: OnWaiting;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Where people are notified of what a run finds; left out where no alerts are set up. */
  readonly alerts?: RunAlerts;
  /** Called with each error that ended a stage for one merchant, to log it. */
  readonly onTrouble?: (merchantNo: string, error: unknown) => void;
  /** Receives the work as it is done; no one if it is left out. */
  readonly observer?: Observer;
}

export interface RunRequest {
  readonly command: RunCommand;
  /** Null: for each merchant the days that a night reads. */
  readonly range: DayRange | null;
  readonly merchants: readonly MerchantAccess[];
  /** Merchants that a run of all merchants leaves out, as their token is nowhere; no one if it is left out. */
  readonly notRead?: readonly string[];
  /** The merchants were asked for by name: one that another run is at work on ends the run with 5. */
  readonly isByName?: boolean;
  readonly currencies: Chosen;
  /** A slice of a backfill, whose days are on record already. */
  readonly isSlice?: boolean;
  /** If true, every published file of these days is read in full and compared; without a range, of all days. */
  readonly repairs?: boolean;
  /** Set if the schedule runs it: the job, and the wall-clock time at which it was due. */
  readonly scheduled?: DueJob;
}

/** Whether it does what a night does: for all merchants and currencies, and no days by date. */
export const isNightlyRun = (asked: Pick<RunRequest, 'range' | 'isByName' | 'currencies'>): boolean =>
  asked.range === null && asked.isByName !== true && asked.currencies === null;

export const accountsAsked = ({ merchants, currencies }: Pick<RunRequest, 'merchants' | 'currencies'>) => ({
  merchants: merchants.map(({ merchantNo }) => merchantNo),
  currencies,
});

/** A run at work: what was asked for and what it works with. */
export interface ActiveRun {
  readonly request: RunRequest;
  readonly deps: RunDeps;
  readonly runId: number;
  /** The time zone is proven once for the entire run. */
  readonly zoneGate: ZoneGate;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly checked: readonly Check[];
  /** Throws `StoreOwnedByAnother` if the store was taken over since the run began. Left out: nothing is published. */
  readonly ownsStore?: () => Promise<void>;
}

/** The work on one merchant: the run, with this merchant's lease. The signal also aborts if the lease is lost. */
export interface MerchantWork extends ActiveRun {
  readonly merchant: MerchantAccess;
  readonly merchantNo: string;
  readonly days: MerchantDays;
  readonly known: KnownAhead;
  readonly lease: Lease;
  readonly join: Joining;
}

/** A new zone gate: nothing is proven when a run begins. */
export const runZoneGate = ({
  zone,
  clockToleranceS,
  timeZoneTrusted,
}: Pick<RunDeps, 'zone' | 'clockToleranceS' | 'timeZoneTrusted'>): ZoneGate =>
  createZoneGate(zone, { clockToleranceS, isTrusted: timeZoneTrusted ?? false });

export interface Observer {
  readonly trace: Trace;
  readonly onCall: (call: CallMade) => void;
  readonly onRetry: (retry: Retry) => void;
  /** A window had to be read in parts, as it was not steady or too full. */
  readonly onSplit: () => void;
  /** A stage is over for one merchant, well or not. */
  readonly onStage: (stage: Stage, ms: number) => void;
  /** All that was to be done for a merchant is done, or was ended by its trouble. */
  readonly onMerchant: (outcome: MerchantOutcome) => void;
}

const nothing = (): void => undefined;

export const UNOBSERVED: Observer = {
  trace: UNTRACED,
  onCall: nothing,
  onRetry: nothing,
  onSplit: nothing,
  onStage: nothing,
  onMerchant: nothing,
};

export type Progress = Readonly<
  | ({ stage: 'sync' } & SyncProgress)
  | { stage: 'reconcile'; merchantNo: string; accountsDone: number; accounts: number }
  | { stage: 'publish'; merchantNo: string; daysDone: number; days: number }
  | { stage: 'merchants'; merchantsDone: number; merchants: number }
  | { stage: 'adopt'; days: number; statements: number }
  | { stage: 'import'; rows: number }
>;

export type Stage = 'sync' | 'reconcile' | 'publish';

export const STAGES: Readonly<Record<RunCommand, readonly Stage[]>> = {
  run: ['sync', 'reconcile', 'publish'],
  sync: ['sync'],
  reconcile: ['reconcile'],
  publish: ['publish'],
};

/**
 * Today is read up to the settle delay and this long before the present, and no further. If the platform's clock is
 * behind ours by more than this, the reading has to start again.
 */
const CLOCK_BEHIND_MS = 10 * 60_000;

/** The instant up to which today may be read. In the first minutes of a day it lies before the day's beginning. */
export const frontierEndMs = (nowMs: number, { settleDelayMs }: Pick<RunDeps, 'settleDelayMs'>): number =>
  nowMs - settleDelayMs - CLOCK_BEHIND_MS;

type Asked = Pick<RunRequest, 'command' | 'range' | 'currencies'>;
type Clocks = Pick<RunDeps, 'now' | 'zone' | 'settleDelayMs' | 'timeZoneTrusted'>;

const reads = ({ command }: Asked): boolean => command === 'run' || command === 'sync';
const chains = ({ command }: Asked): boolean => command === 'run' || command === 'reconcile';

/** The conditions under which a check that is switched on is made. */
const MADE: Readonly<Record<Check, (asked: Asked, clocks: Clocks) => boolean>> = {
  frontier: (asked, clocks) => {
    const nowMs = clocks.now().getTime();
    const beginMs = dayWindow(dayOf(nowMs, clocks.zone), clocks.zone).beginMs;
    return reads(asked) && asked.range === null && frontierEndMs(nowMs, clocks) > beginMs;
  },
  wide: (asked) => reads(asked) && asked.range === null && asked.currencies === null,
  zone: (asked, { timeZoneTrusted }) => reads(asked) && timeZoneTrusted !== true,
  empty: chains,
  first: chains,
  shared: reads,
};

/** The checks that a run makes, in the order of `CHECKS`. */
export const checkedBy = (asked: Asked, deps: Clocks & Pick<RunDeps, 'checks'>): Check[] =>
  CHECKS.filter((check) => isChecked(check, deps.checks) && MADE[check](asked, deps));

const WORDS: Readonly<Record<string, string>> = {
  frontier: 'start of today (frontier)',
  wide: 'totals of older days (wide)',
  zone: 'time zone (zone)',
  empty: 'days without entries (empty)',
  first: 'first openings (first)',
  shared: 'entries under two merchants (shared)',
} satisfies Record<Check, string>;

/** `start of today (frontier), totals of older days (wide)`; `nothing` if there are none. */
export const checkedText = (checked: readonly string[]): string =>
  checked.length === 0 ? 'nothing' : checked.map((check) => WORDS[check] ?? check).join(', ');

/** Tells trouble of one merchant from trouble of all. The first is only reported; the second ends the run. */
const ABOUT_ALL = [TimeZoneWrong, ObjectStoreUnreachable, ObjectStoreRefused];

/** Whether the error would hit every other merchant too: the run was asked to stop, or something they share fails. */
export const concernsAll = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted || isDatabaseTrouble(error) || ABOUT_ALL.some((kind) => error instanceof kind);
