/** The report of one merchant's sync, and the errors that make it begin anew. */
import type { Window } from '../ledger/entry.ts';
import { NOTHING_STORED, type StoredReadings, type UncertifiedSpan } from './store-readings.ts';
import { subtractWindows } from '../ledger/window.ts';

export interface SyncReport extends StoredReadings {
  readonly requests: number;
  /** How far the platform's clock is behind or ahead of ours, in ms; 0 if no reply showed it. */
  readonly platformBehindMs: number;
  readonly platformAheadMs: number;
  /** How often the platform contradicted itself, and the first time in a sentence; null if it did not. */
  readonly contradictions: number;
  readonly contradiction: string | null;
  /** Sentences on windows in which the platform shows only so many entries, see `findCap`. */
  readonly caps: readonly string[];
  readonly heldBack: readonly Window[];
  /** Why the ledger was not read to the end; null if it was. What was certified before is stored and counted. */
  readonly failure: Error | null;
  /** The signal stopped it before the end, between two windows. */
  readonly interrupted: boolean;
}

export const NOTHING_SYNCED: SyncReport = {
  ...NOTHING_STORED,
  requests: 0,
  platformBehindMs: 0,
  platformAheadMs: 0,
  contradictions: 0,
  contradiction: null,
  caps: [],
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
  soFar: SyncReport = NOTHING_SYNCED;
}
/** Timestamps differ from the times the platform filters by: windows are asked for with slack. */
export class ClockOff extends ReadAnew {}
/** The platform's clock is further behind than was known: what is too young by it is left out. */
export class PlatformBehind extends ReadAnew {}

const sum = (a: number, b: number): number => a + b;

/** How each field adds up. A new field of `SyncReport` does not compile until it is listed here. */
type Addition = {
  readonly [F in keyof Required<SyncReport>]: (a: SyncReport[F], b: SyncReport[F]) => SyncReport[F];
};
const ADDITION: Addition = {
  requests: sum,
  platformBehindMs: Math.max,
  platformAheadMs: Math.max,
  contradictions: sum,
  contradiction: (a, b) => a ?? b,
  caps: (a, b) => [...new Set([...a, ...b])],
  heldBack: (a, b) => [...a, ...b],
  windows: sum,
  entries: sum,
  inserted: sum,
  amended: sum,
  vanished: sum,
  returned: sum,
  quarantined: sum,
  unchanged: sum,
  uncertified: (a, b) => [...a, ...b],
  notices: (a, b) => {
    const both = new Map(Object.entries(a));
    for (const [sentence, count] of Object.entries(b)) both.set(sentence, (both.get(sentence) ?? 0) + count);
    return Object.fromEntries(both);
  },
  fullMinutes: (a, b) => a ?? b,
  otherLedgers: (a, b) => [...a, ...b],
  failure: (a, b) => a ?? b,
  interrupted: (a, b) => a || b,
};

export function addSyncReports(a: SyncReport, b: SyncReport): SyncReport {
  const added = <F extends keyof SyncReport>(field: F): SyncReport[F] => ADDITION[field](a[field], b[field]);
  const fields = Object.keys(ADDITION) as (keyof SyncReport)[];
  return Object.fromEntries(fields.map((field) => [field, added(field)])) as unknown as SyncReport;
}

export const sumOfSync = (all: readonly { readonly report: SyncReport }[]): SyncReport =>
  all.map(({ report }) => report).reduce(addSyncReports, NOTHING_SYNCED);

/**
 * A merchant's report after `window` was read again. If that reading reached its end, it alone says which spans of
 * the window are uncertified. If it did not, the earlier uncertified spans stay, except where it found uncertified
 * spans itself.
 */
export function afterReadingAgain(before: SyncReport, again: SyncReport, window: Window): SyncReport {
  const reachedEnd = again.failure === null && !again.interrupted;
  const judgedAnew = reachedEnd ? [window] : again.uncertified.map((span) => span.window);
  const stands = before.uncertified.flatMap(({ window: span, ...why }): UncertifiedSpan[] =>
    subtractWindows([span], judgedAnew).map((left) => ({ window: left, ...why })),
  );
  return addSyncReports({ ...before, uncertified: stands }, again);
}
