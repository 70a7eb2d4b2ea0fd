/** What reading one merchant's windows did, and why it may have to begin anew. */
import type { Window } from '../ledger/entry.ts';
import { NOTHING_STORED, type StoredReadings } from './store-readings.ts';

export interface SyncReport extends StoredReadings {
  readonly requests: number;
  /** How far the platform's clock is behind and ahead of ours, in ms; 0 where no reply showed it. */
  readonly platformBehindMs: number;
  readonly platformAheadMs: number;
  /** What was not read, as it is too young by the platform's own clock. */
  readonly heldBack: readonly Window[];
  /** Why the ledger was not read to the end; what was certified before is stored and counted here. */
  readonly failure: Error | null;
  /** The signal stopped it before the end, at a window's edge. */
  readonly interrupted: boolean;
}

/** The report of a merchant whose ledger was not read. */
export const NOTHING_SYNCED: SyncReport = {
  ...NOTHING_STORED,
  requests: 0,
  platformBehindMs: 0,
  platformAheadMs: 0,
  heldBack: [],
  failure: null,
  interrupted: false,
};

/** A report with what was done before its windows were read anew; what is found or noted again counts once. */
export const withEarlier = (before: SyncReport, report: SyncReport): SyncReport => ({
  ...report,
  requests: before.requests + report.requests,
  inserted: before.inserted + report.inserted,
  amended: before.amended + report.amended,
  vanished: before.vanished + report.vanished,
  returned: before.returned + report.returned,
  quarantined: before.quarantined + report.quarantined,
});

/** A reply showed that the windows have to be asked for otherwise: they are read anew. */
export class ReadAnew extends Error {
  /** What was done until then, and stays. */
  soFar: SyncReport = NOTHING_SYNCED;
}
/** Timestamps are not the times filtered by: with slack. */
export class ClockOff extends ReadAnew {}
/** The platform's clock is further behind than was known: without what is too young by it. */
export class PlatformBehind extends ReadAnew {}
