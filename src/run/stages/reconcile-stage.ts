/** Chains a merchant's accounts, reads the spans of breaks again, and chains what that changed. */
import { readQuarantined } from '../../platform/ledger-entry.ts';
import { accountsOf } from '../../ledger/account-filter.ts';
import { reconcileAccounts, type Reconciled, type ReconcileReport } from '../../reconcile/reconcile.ts';
import { withHints } from '../../store/breaks/hints.ts';
import { breaksToHeal, markHealingRead, type BreakRow } from '../../store/breaks/breaks.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import { syncMerchant } from '../../sync/sync.ts';
import { afterReadingAgain } from '../../sync/sync-report.ts';
import type { KnownAhead } from '../known-ahead.ts';
import type { MerchantWork } from '../active-run.ts';
import { accountDayKey, type MerchantOutcome } from '../report.ts';
import type { Window } from '../../ledger/entry.ts';
import { covers, mergeWindows } from '../../ledger/window.ts';

/** Most spans that one run reads again. A ledger with more breaks needs a person, not more calls. */
export const HEALING_READS_MAX = 50;
/**
 * This many of them are kept for breaks from earlier runs. Otherwise new breaks every night would crowd these out.
 */
const HEALING_READS_FOR_WAITING = 20;
/** Longer spans are not read again here; the next lookback reads them anyway. */
const HEALING_SPAN_MS_MAX = 24 * 3_600_000;

/** Most breaks checked to choose the spans of one run: many may lie in one span. */
const BREAKS_CHECKED_MAX = 10 * HEALING_READS_MAX;

export async function reconcileStage(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { known } = work;
  const { begins, ...report } = await chain(work, known);
  outcome.reconcile = report;
  const isBroken = known.hasBreaks || report.opened.length > 0;
  if (work.request.command === 'run' && isBroken && (await heal(work, outcome)))
    outcome.reconcile = joined(report, await chain(work));
  const { opened } = outcome.reconcile;
  // Entries of another ledger make a beginning, or a break: they do not go on from the merchant's own balance.
  outcome.isToCompare = known.isToCompare || begins || opened.length > 0;
  if (opened.length > 0)
    outcome.reconcile = { ...outcome.reconcile, opened: await withHints(work.deps.db, opened) };
}

const chain = ({ deps, lease, runId, merchantNo }: MerchantWork, known?: KnownAhead): Promise<Reconciled> =>
  reconcileAccounts({
    ...deps,
    ...(known && { known }),
    lease,
    runId,
    readQuarantined,
    accounts: { merchantNo, currencies: null },
    onProgress: (progress) => deps.onProgress({ stage: 'reconcile', merchantNo, ...progress }),
  });

/**
 * Reads the spans of open breaks again, those of this run and of earlier ones. Returns whether entries changed. Nothing
 * is read if the platform failed before.
 */
async function heal(work: MerchantWork, outcome: MerchantOutcome): Promise<boolean> {
  const { deps, merchantNo } = work;
  const report = outcome.sync?.report;
  if (report !== undefined && (report.failure !== null || report.otherLedgers.length > 0)) return false;
  const { newest, longestWaiting } = await breaksToHeal(deps.db, {
    accounts: accountsOf(merchantNo, null),
    spanMsMax: HEALING_SPAN_MS_MAX,
    limit: BREAKS_CHECKED_MAX,
    now: deps.now(),
  });
  let hasChanged = false;
  for (const task of healingTasks(newest, longestWaiting)) {
    const read = await readAgain(work, outcome, task);
    hasChanged ||= changes(read);
    if (read.failure !== null) break;
  }
  return hasChanged;
}

type EntriesChanged = Readonly<Record<'inserted' | 'amended' | 'vanished' | 'returned', number>>;

const changes = ({ inserted, amended, vanished, returned }: EntriesChanged): boolean =>
  inserted + amended + vanished + returned > 0;

async function readAgain(
  { deps, lease, runId, zoneGate, merchant, merchantNo }: MerchantWork,
  outcome: MerchantOutcome,
  { window, breakIds }: HealingTask,
) {
  const report = await syncMerchant({
    ...deps,
    lease,
    merchant,
    windows: [window],
    runId,
    zoneGate,
    ...(deps.observer && { trace: deps.observer.trace, onSplit: deps.observer.onSplit }),
    onProgress: () => undefined,
  });
  outcome.healingReads = [...outcome.healingReads, { merchantNo, window }];
  const { sync } = outcome;
  if (sync !== null) outcome.sync = { ...sync, report: afterReadingAgain(sync.report, report, window) };
  // Stopped, it did not read the span: its breaks keep their turn.
  deps.signal.throwIfAborted();
  const marked = { merchantNo, ids: breakIds, hasChanged: changes(report), now: deps.now() };
  await writeTransaction(deps.db, lease, (trx) => markHealingRead(trx, marked));
  return report;
}

/** Joins the reports of two passes. A break that the first pass opened and the second healed counts as never opened. */
function joined(first: ReconcileReport, second: ReconcileReport): ReconcileReport {
  const healedNow = new Set(second.healed.map(({ id }) => id));
  const openedBefore = new Set(first.opened.map(({ id }) => id));
  const changedBefore = new Set(first.daysChanged.map(accountDayKey));
  const changedAgain = new Map(second.daysChanged.map((change) => [accountDayKey(change), change]));
  return {
    accounts: Math.max(first.accounts, second.accounts),
    daysChained: first.daysChained + second.daysChained,
    daysChanged: [
      ...first.daysChanged.map((change) => {
        const { oldClosing, before } = change;
        return { ...(changedAgain.get(accountDayKey(change)) ?? change), oldClosing, before };
      }),
      ...second.daysChanged.filter((change) => !changedBefore.has(accountDayKey(change))),
    ],
    opened: [...first.opened.filter(({ id }) => !healedNow.has(id)), ...second.opened],
    healed: [...first.healed, ...second.healed.filter(({ id }) => !openedBefore.has(id))],
  };
}

type Broken = Pick<BreakRow, 'id' | 'begin_ms' | 'end_ms'>;

type HealingTask = Readonly<{ window: Window; breakIds: readonly number[] }>;

/**
 * Chooses the spans of the `newest` breaks first and then those of the `longestWaiting`. Spans that touch are joined. At
 * least `HEALING_READS_FOR_WAITING` spans are for breaks that have waited, if there are so many; so every break gets its
 * turn.
 */
function healingTasks(newest: readonly Broken[], longestWaiting: readonly Broken[]): HealingTask[] {
  let chosen: Window[] = [];
  const choose = (rows: readonly Broken[], countMax: number): void => {
    for (const row of rows) {
      const joined = mergeWindows([...chosen, spanOf(row)]);
      if (joined.length <= countMax) chosen = joined;
    }
  };
  choose(newest, HEALING_READS_MAX - HEALING_READS_FOR_WAITING);
  choose(longestWaiting, HEALING_READS_MAX);
  choose(newest, HEALING_READS_MAX);
  const all = [...new Map([...newest, ...longestWaiting].map((row) => [row.id, row])).values()];
  return chosen.map((window) => ({
    window,
    breakIds: all.filter((row) => covers([window], spanOf(row))).map(({ id }) => id),
  }));
}

const spanOf = (row: Broken): Window => ({ beginMs: row.begin_ms, endMs: row.end_ms });
