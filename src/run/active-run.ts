/** The types of what a run works with and of what it gathers; all its stages share them. */
import type { Kysely } from 'kysely';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import type { Check } from '../ledger/checks.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { StatementFormat } from '../statements/formats/format.ts';
import type { ManifestPrefetch } from '../statements/compare-files.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { SigningKey } from '../signing/minisign.ts';
import type { LeaseAsker } from '../store/engine/lease-asker.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { createZoneGate, type ZoneGate } from '../sync/zone-gate.ts';
import type { RunAlerts } from './alerts/at-end.ts';
import type { Joining, KnownAhead } from './known-ahead.ts';
import type { DueJob } from './schedule/due.ts';
import type { Waits } from './side-by-side.ts';
import type { DayRange, MerchantDays } from './range.ts';
import type { RunCommand, MerchantOutcome } from './report.ts';
import { UNTRACED, type Trace } from '../host/trace.ts';
import type { CallMade, Retry } from '../platform/transport.ts';
import type { Stage } from './stages/stages-of.ts';

/** Everything a run uses. The caller opens it and closes it. */
export interface RunDeps {
  readonly db: Kysely<DB>;
  /** If left out, each question is sent alone. */
  readonly asksLease?: LeaseAsker;
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
  /** If true, every published file of these days is read in full and compared; without a range, of all days. */
  readonly repairs?: boolean;
  /** Set if the schedule runs it: the job, and the wall-clock time at which it was due. */
  readonly scheduled?: DueJob;
}

/** What a run that workers do was asked for. Its merchants are its tasks, their tokens nowhere but in `merchant`. */
export interface QueuedRequest extends Pick<RunRequest, 'command' | 'range' | 'currencies' | 'notRead'> {
  readonly scheduled: DueJob | null;
  /** As in `RunDeps`; null if there is no such sweep. */
  readonly lateSweepDays: number | null;
}

/** Whether it does what a night does: for all merchants and currencies, and no days by date. */
export const isNightlyRun = ({
  range,
  isByName,
  currencies,
}: Pick<RunRequest, 'range' | 'isByName' | 'currencies'>): boolean =>
  range === null && isByName !== true && currencies === null;

export const accountsAsked = ({
  merchants,
  currencies,
}: Pick<RunRequest, 'merchants' | 'currencies'>): AccountFilter & {
  readonly merchants: readonly string[];
} => ({ merchants: merchants.map(({ merchantNo }) => merchantNo), currencies });

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
}

/** The work on one merchant: the run, with this merchant's lease. The signal also aborts if the lease is lost. */
export interface MerchantWork extends ActiveRun {
  readonly merchant: MerchantAccess;
  readonly merchantNo: string;
  readonly days: MerchantDays;
  readonly known: KnownAhead;
  readonly lease: Lease;
  readonly join: Joining;
  readonly manifestPrefetch: ManifestPrefetch;
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

export type Progress =
  | {
      readonly stage: 'sync';
      readonly merchantNo: string;
      readonly windowsDone: number;
      readonly windowsPlanned: number;
      readonly entries: number;
      readonly requests: number;
    }
  | {
      readonly stage: 'reconcile';
      readonly merchantNo: string;
      readonly accountsDone: number;
      readonly accounts: number;
    }
  | {
      readonly stage: 'publish';
      readonly merchantNo: string;
      readonly daysDone: number;
      readonly days: number;
    }
  | { readonly stage: 'merchants'; readonly merchantsDone: number; readonly merchants: number }
  | { readonly stage: 'adopt'; readonly days: number; readonly statements: number };
