/** What a run works on and gathers, shared by its stages. */
import type { Kysely } from 'kysely';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import type { Check } from '../ledger/checks.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { ReconcileReport } from '../reconcile/reconcile.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { createZoneGate, type ZoneGate } from '../sync/zone-gate.ts';
import type { DueJob } from './schedule/due.ts';
import type { Progress } from './progress.ts';
import type { MerchantDays } from './merchant-ranges.ts';
import type { DayRange } from './range.ts';
import type { HealingRead, MerchantSync, MerchantTrouble, PublishOutcome, RunCommand } from './report.ts';

/** Everything a run touches, opened and owned by the caller. */
export interface RunDeps {
  readonly db: Kysely<DB>;
  readonly reader: LedgerReader;
  readonly objects: ObjectStore;
  readonly currencies: Currencies;
  /** IANA zone of the platform's timestamps and of business days. */
  readonly zone: string;
  readonly settleDelayMs: number;
  readonly resweepDays: number;
  /** Late entries are looked for so far back, where the ledger has been read that far. */
  readonly lateSweepDays?: number;
  readonly clockToleranceS: number;
  /** What a nightly run looks at beyond the days it reads; all of it where absent. */
  readonly checks?: readonly Check[];
  /** The zone is not proven: a person answers for it. */
  readonly timeZoneTrusted?: boolean;
  /** What the run takes for now: decides days and settled windows; a rehearsal may set it. */
  readonly now: () => Date;
  readonly holder: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Told of each error that ended one merchant's stage, for the log. */
  readonly onTrouble?: (merchantNo: string, error: unknown) => void;
}

export interface RunRequest {
  readonly command: RunCommand;
  /** Null: each merchant's nightly default. */
  readonly range: DayRange | null;
  readonly merchants: readonly MerchantAccess[];
  readonly currencies: Chosen;
  /** Every published file of the days is read whole and compared; without a range, of all days. */
  readonly repairs?: boolean;
  /** Set where the schedule runs it: the job, and the wall-clock time it was due at. */
  readonly scheduled?: DueJob;
}

/** The accounts that a run was asked for. */
export const accountsAsked = ({
  merchants,
  currencies,
}: Pick<RunRequest, 'merchants' | 'currencies'>): AccountFilter & {
  readonly merchants: readonly string[];
} => ({ merchants: merchants.map(({ merchantNo }) => merchantNo), currencies });

/** What the stages did, gathered while they do it, so that a failure half-way still reports what is kept. */
export interface StageOutcome {
  sync: readonly MerchantSync[];
  reconcile: ReconcileReport | null;
  healingReads: readonly HealingRead[];
  publish: PublishOutcome | null;
  /** Merchants whose stage failed while the others' went on. */
  troubles: readonly MerchantTrouble[];
}

/** Before the first stage. */
export const nothingDone = (): StageOutcome => ({
  sync: [],
  reconcile: null,
  healingReads: [],
  publish: null,
  troubles: [],
});

/** One run at work: what was asked, with what, under which lease. */
export interface ActiveRun {
  readonly request: RunRequest;
  readonly deps: RunDeps;
  readonly lease: Lease;
  readonly runId: number;
  /** What is proven of the zone serves the whole run. */
  readonly zoneGate: ZoneGate;
  readonly ranges: ReadonlyMap<string, MerchantDays>;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** What it looks at beyond the days it reads. */
  readonly checked: readonly Check[];
}

/** Nothing is proven at a run's begin. */
export const runZoneGate = ({
  zone,
  clockToleranceS,
  timeZoneTrusted,
}: Pick<RunDeps, 'zone' | 'clockToleranceS' | 'timeZoneTrusted'>): ZoneGate =>
  createZoneGate(zone, { clockToleranceS, isTrusted: timeZoneTrusted ?? false });
