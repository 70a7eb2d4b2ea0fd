/** The one addition of what readings brought: over merchants, and over one merchant's readings one after the other. */
import type { Window } from '../../ledger/entry.ts';
import { subtractWindows } from '../../ledger/window.ts';
import { NOTHING_SYNCED, type SyncReport, type UncertifiedSpan } from '../../sync/sync.ts';

const sum = (a: number, b: number): number => a + b;

/** How each field adds up. A field that `SyncReport` gains does not compile until it is said here how. */
type Addition = {
  readonly [F in keyof Required<SyncReport>]: (a: SyncReport[F], b: SyncReport[F]) => SyncReport[F];
};
const ADDITION: Addition = {
  requests: sum,
  platformBehindMs: Math.max,
  platformAheadMs: Math.max,
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
  failure: (a, b) => a ?? b,
  interrupted: (a, b) => a || b,
};

/** Two reports as one. Of two failures the first is kept. */
export function addSyncReports(a: SyncReport, b: SyncReport): SyncReport {
  const added = <F extends keyof SyncReport>(field: F): SyncReport[F] => ADDITION[field](a[field], b[field]);
  const fields = Object.keys(ADDITION) as (keyof SyncReport)[];
  return Object.fromEntries(fields.map((field) => [field, added(field)])) as unknown as SyncReport;
}

/** Many reports as one. */
export const sumOfSync = (all: readonly { readonly report: SyncReport }[]): SyncReport =>
  all.map(({ report }) => report).reduce(addSyncReports, NOTHING_SYNCED);

/**
 * One merchant's report after `window` was read again. Where that reading came to its end it is the last word on the
 * window: spans it certified are uncertified no more, and those it could not certify are, whatever stood before.
 */
export function afterReadingAgain(before: SyncReport, again: SyncReport, window: Window): SyncReport {
  const reachedEnd = again.failure === null && !again.interrupted;
  const judgedAnew = reachedEnd ? [window] : again.uncertified.map((span) => span.window);
  const stands = before.uncertified.flatMap(({ window: span, problem }): UncertifiedSpan[] =>
    subtractWindows([span], judgedAnew).map((left) => ({ window: left, problem })),
  );
  return addSyncReports({ ...before, uncertified: stands }, again);
}
