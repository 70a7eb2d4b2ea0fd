/** What it takes to sync one merchant. */
import type { Kysely } from 'kysely';
import type { Trace } from '../host/trace.ts';
import type { Window } from '../ledger/entry.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import type { ReadLimits } from './limits.ts';
import type { ZoneGate } from './zone-gate.ts';

export interface SyncProgress {
  readonly merchantNo: string;
  readonly windowsDone: number;
  readonly windowsPlanned: number;
  /** Entries that are stored now, or were before. */
  readonly entries: number;
  readonly requests: number;
}

export interface SyncOptions {
  readonly reader: LedgerReader;
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchant: MerchantAccess;
  /** They are widened to full seconds, and cut where the zone's clock changes. */
  readonly windows: readonly Window[];
  /** IANA zone of the platform's timestamps. */
  readonly zone: string;
  /** Null: every currency. */
  readonly currencies?: readonly string[] | null;
  /** Nothing younger than this by the platform's own clock is read. 0 if left out. */
  readonly settleDelayMs?: number;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: SyncProgress) => void;
  /** Called for each window that has to be read in parts. */
  readonly onSplit?: () => void;
  readonly trace?: Trace;
  readonly limits?: Partial<ReadLimits>;
  /** How far timestamps may differ from the times the platform filters by. Used if there is no `zoneGate`. */
  readonly clockToleranceS?: number;
  /** A person answers for the zone. Used if there is no `zoneGate`. */
  readonly timeZoneTrusted?: boolean;
  /** The zone is proven by the newest entry before anything is written, instead of by the entry that comes first. */
  readonly provesNewest?: boolean;
  /** Shared by the merchants of a run, so that the zone is proven once. Left out: the merchant gets its own. */
  readonly zoneGate?: ZoneGate;
}
