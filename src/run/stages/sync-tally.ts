/** Adds up the reports of readings, over merchants and over several readings of one merchant. */
import type { Window } from '../../ledger/entry.ts';
import { subtractWindows } from '../../ledger/window.ts';
import { NOTHING_SYNCED, type SyncReport, type UncertifiedSpan } from '../../sync/sync.ts';

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
  failure: (a, b) => a ?? b,
  interrupted: (a, b) => a || b,
};

/** The sum of two reports. Of two failures the first is kept. */
export function addSyncReports(a: SyncReport, b: SyncReport): SyncReport {
  const added = <F extends keyof SyncReport>(field: F): SyncReport[F] => ADDITION[field](a[field], b[field]);
  const fields = Object.keys(ADDITION) as (keyof SyncReport)[];
  return Object.fromEntries(fields.map((field) => [field, added(field)])) as unknown as SyncReport;
}

/** The sum of many reports. */
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
  const stands = before.uncertified.flatMap(({ window: span, problem }): UncertifiedSpan[] =>
    subtractWindows([span], judgedAnew).map((left) => ({ window: left, problem })),
  );
  return addSyncReports({ ...before, uncertified: stands }, again);
}
