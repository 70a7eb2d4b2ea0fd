/** Chains what changed; where the chain breaks, reads just those spans again and chains once more. */
import type { Window } from '../ledger/entry.ts';
import { mergeWindows } from '../ledger/window.ts';
import {
  openBreaks,
  reconcileAccounts,
  type ReconcileOptions,
  type ReconcileReport,
} from '../reconcile/reconcile.ts';
import type { BreakRow } from '../store/breaks.ts';
import { syncMerchant, type SyncReport } from '../sync/sync.ts';
import { alone } from './isolation.ts';
import type { HealingRead } from './report.ts';
import type { RunWork, StageOutcome } from './work.ts';

/** Spans read again for breaks in one run; a ledger broken all over is for a person, not for more calls. */
export const HEALING_READS_MAX = 50;
/** A break's span longer than this is no narrow span: the next re-sweep reads it anyway. */
export const HEALING_SPAN_MS_MAX = 24 * 3_600_000;

/** Reconciles one merchant after the other; one that cannot be is told in `outcome`, and the others go on. */
export async function reconcileStage(work: RunWork, outcome: StageOutcome): Promise<void> {
  const { request, deps, lease, runId } = work;
  const options = {
    ...deps,
    lease,
    runId,
    merchants: request.merchants.map(({ merchantNo }) => merchantNo),
    currenciesAsked: request.currencies,
    onProgress: (progress: { accountsDone: number; accounts: number }) =>
      deps.onProgress({ stage: 'reconcile', ...progress }),
  };
  outcome.reconcile = await reconcileEach(options, outcome);
  if (request.command !== 'run') return;
  const reads = healingReads(await openBreaks(options));
  const away = new Set(
    outcome.sync.filter(({ report }) => report.failure !== null).map(({ merchantNo }) => merchantNo),
  );
  const changed = new Set<string>();
  for (const read of reads) {
    deps.signal.throwIfAborted();
    const merchant = request.merchants.find(({ merchantNo }) => merchantNo === read.merchantNo);
    if (merchant === undefined || away.has(read.merchantNo)) continue;
    const report = await syncMerchant({
      ...deps,
      lease,
      merchant,
      windows: [read.window],
      currencies: null,
      runId,
      onProgress: () => undefined,
    });
    if (report.failure !== null) away.add(read.merchantNo);
    outcome.healingReads = [...outcome.healingReads, read];
    outcome.sync = outcome.sync.map((one) =>
      one.merchantNo === read.merchantNo ? { ...one, report: withHealing(one.report, report) } : one,
    );
    if (report.inserted + report.amended + report.vanished + report.returned > 0)
      changed.add(read.merchantNo);
  }
  if (changed.size === 0) return;
  const again = await reconcileEach({ ...options, merchants: [...changed] }, outcome);
  outcome.reconcile = joined(outcome.reconcile, again);
}

async function reconcileEach(
  options: ReconcileOptions & { readonly merchants: readonly string[] },
  outcome: StageOutcome,
): Promise<ReconcileReport> {
  let pass: ReconcileReport = { accounts: 0, daysChained: 0, daysChanged: [], opened: [], healed: [] };
  for (const merchantNo of options.merchants) {
    const failure = await alone(merchantNo, 'reconcile', options.signal, async () => {
      const own = await reconcileAccounts({ ...options, merchants: [merchantNo] });
      pass = { ...joined(pass, own), accounts: pass.accounts + own.accounts };
    });
    if (failure !== null) outcome.failures = [...outcome.failures, failure];
  }
  return pass;
}

/** A merchant's report with what a healing read added; entries it found as they stand were counted before. */
const withHealing = (before: SyncReport, healing: SyncReport): SyncReport => ({
  ...before,
  requests: before.requests + healing.requests,
  inserted: before.inserted + healing.inserted,
  amended: before.amended + healing.amended,
  vanished: before.vanished + healing.vanished,
  returned: before.returned + healing.returned,
  failure: before.failure ?? healing.failure,
});

/** Narrow spans of open breaks, this run's and earlier ones', joined per merchant where they touch. */
function healingReads(rows: readonly BreakRow[]): HealingRead[] {
  const spans = new Map<string, Window[]>();
  for (const row of rows) {
    if (row.end_ms - row.begin_ms >= HEALING_SPAN_MS_MAX) continue;
    spans.set(row.merchant_no, [
      ...(spans.get(row.merchant_no) ?? []),
      { beginMs: row.begin_ms, endMs: row.end_ms },
    ]);
  }
  return [...spans]
    .flatMap(([merchantNo, windows]) => mergeWindows(windows).map((window) => ({ merchantNo, window })))
    .slice(0, HEALING_READS_MAX);
}

/** Two passes as one report: a break the first opened and the second healed never stood. */
function joined(first: ReconcileReport, second: ReconcileReport): ReconcileReport {
  const healedNow = new Set(second.healed.map(({ id }) => id));
  const openedBefore = new Set(first.opened.map(({ id }) => id));
  const changedAgain = new Map(second.daysChanged.map((change) => [keyOf(change), change]));
  return {
    accounts: Math.max(first.accounts, second.accounts),
    daysChained: first.daysChained + second.daysChained,
    daysChanged: [
      ...first.daysChanged.map((change) => ({
        ...change,
        newClosing: changedAgain.get(keyOf(change))?.newClosing ?? change.newClosing,
      })),
      ...second.daysChanged.filter(
        (change) => !first.daysChanged.some((one) => keyOf(one) === keyOf(change)),
      ),
    ],
    opened: [...first.opened.filter(({ id }) => !healedNow.has(id)), ...second.opened],
    healed: [...first.healed, ...second.healed.filter(({ id }) => !openedBefore.has(id))],
  };
}

const keyOf = ({ account, day }: ReconcileReport['daysChanged'][number]): string =>
  `${account.merchantNo} ${account.currency} ${day}`;
