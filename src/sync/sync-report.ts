/** The report of one merchant's sync, and the errors that make it begin anew. */
import type { Window } from '../ledger/entry.ts';
import { NOTHING_STORED, type StoredReadings } from './store-readings.ts';

export interface SyncReport extends StoredReadings {
  readonly requests: number;
  /** How far the platform's clock is behind or ahead of ours, in ms; 0 if no reply showed it. */
  readonly platformBehindMs: number;
  readonly platformAheadMs: number;
  /** How often the platform contradicted itself, and the first time in a sentence; null if it did not. */
  readonly contradictions: number;
  readonly contradiction: string | null;
  /** What was not read because it is too young by the platform's own clock. */
  readonly heldBack: readonly Window[];
  /** Why the ledger was not read to the end; null if it was. What was certified before is stored and counted. */
  readonly failure: Error | null;
  /** The signal stopped it before the end, between two windows. */
  readonly interrupted: boolean;
}

/** The report of a merchant whose ledger was not read. */
export const NOTHING_SYNCED: SyncReport = {
  ...NOTHING_STORED,
  requests: 0,
  platformBehindMs: 0,
  platformAheadMs: 0,
  contradictions: 0,
  contradiction: null,
  heldBack: [],
  failure: null,
  interrupted: false,
};

/** Adds what was done before the windows were read again. What the second reading finds again is counted once. */
export const withEarlier = (before: SyncReport, report: SyncReport): SyncReport => ({
  ...report,
  requests: before.requests + report.requests,
  contradictions: before.contradictions + report.contradictions,
  contradiction: before.contradiction ?? report.contradiction,
  inserted: before.inserted + report.inserted,
  amended: before.amended + report.amended,
  vanished: before.vanished + report.vanished,
  returned: before.returned + report.returned,
  quarantined: before.quarantined + report.quarantined,
});

/** A reply showed that the windows have to be asked for in another way: they are read again. */
export class ReadAnew extends Error {
  /** What was done until then. It stays stored. */
  soFar: SyncReport = NOTHING_SYNCED;
}
/** Timestamps differ from the times the platform filters by: windows are asked for with slack. */
export class ClockOff extends ReadAnew {}
/** The platform's clock is further behind than was known: what is too young by it is left out. */
export class PlatformBehind extends ReadAnew {}
