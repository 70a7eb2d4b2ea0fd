/** Chains what changed; where the chain breaks, reads just those spans again and chains once more. */
import { accountsOf } from '../../ledger/account-filter.ts';
import { readQuarantined } from '../../platform/quarantined.ts';
import { reconcileAccounts, type ReconcileReport } from '../../reconcile/reconcile.ts';
import { withHints } from '../../store/breaks/break-hints.ts';
import { breaksToHeal, markHealingRead } from '../../store/breaks/open-breaks.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import { syncMerchant } from '../../sync/sync.ts';
import { HEALING_READS_MAX, HEALING_SPAN_MS_MAX, healingTasks, type HealingTask } from './healing.ts';
import { eachMerchant } from './merchant-by-merchant.ts';
import { afterReadingAgain } from './sync-tally.ts';
import { accountsAsked, type ActiveRun, type StageOutcome } from '../active-run.ts';

/** Most breaks looked at to choose the spans of one run: many may lie in one span. */
const BREAKS_LOOKED_AT_MAX = 10 * HEALING_READS_MAX;

/** A failure for one merchant does not stop the others. */
export async function reconcileStage(run: ActiveRun, outcome: StageOutcome): Promise<void> {
  await eachMerchant(run, outcome, 'reconcile', (merchantNo) => chain(run, outcome, merchantNo));
  if (run.request.command === 'run') {
    const changed = await heal(run, outcome);
    await eachMerchant(run, outcome, 'reconcile', async (merchantNo) => {
      if (changed.has(merchantNo)) await chain(run, outcome, merchantNo, 'again');
    });
  }
  if (outcome.reconcile === null) return;
  const opened = await withHints(run.deps.db, outcome.reconcile.opened);
  outcome.reconcile = { ...outcome.reconcile, opened };
}

async function chain(
  { request, deps, lease, runId }: ActiveRun,
  outcome: StageOutcome,
  merchantNo: string,
  pass: 'first' | 'again' = 'first',
): Promise<void> {
  const report = await reconcileAccounts({
    ...deps,
    lease,
    runId,
    readQuarantined,
    accounts: accountsOf(merchantNo, request.currencies),
    onProgress: (progress) => deps.onProgress({ stage: 'reconcile', ...progress }),
  });
  const before = outcome.reconcile;
  if (before === null) outcome.reconcile = report;
  else outcome.reconcile = pass === 'first' ? besides(before, report) : joined(before, report);
}

/**
 * Reads the spans of open breaks again, those of this run and of earlier ones. Returns the merchants whose entries
 * changed.
 */
async function heal(run: ActiveRun, outcome: StageOutcome): Promise<ReadonlySet<string>> {
  const { request, deps } = run;
  const away = new Set([
    ...outcome.sync.filter(({ report }) => report.failure !== null).map(({ merchantNo }) => merchantNo),
    ...outcome.troubles.map(({ merchantNo }) => merchantNo),
  ]);
  const asked = accountsAsked(request);
  const { newest, longestWaiting } = await breaksToHeal(deps.db, {
    accounts: { ...asked, merchants: asked.merchants.filter((merchantNo) => !away.has(merchantNo)) },
    spanMsMax: HEALING_SPAN_MS_MAX,
    limit: BREAKS_LOOKED_AT_MAX,
  });
  const changed = new Set<string>();
  for (const task of healingTasks(newest, longestWaiting)) {
    deps.signal.throwIfAborted();
    if (away.has(task.merchantNo)) continue;
    const read = await readAgain(run, outcome, task);
    if (read.failure !== null) away.add(task.merchantNo);
    if (read.inserted + read.amended + read.vanished + read.returned > 0) changed.add(task.merchantNo);
  }
  return changed;
}

async function readAgain(
  { request, deps, lease, runId, zoneGate }: ActiveRun,
  outcome: StageOutcome,
  { merchantNo, window, breakIds }: HealingTask,
) {
  const report = await syncMerchant({
    ...deps,
    lease,
    merchant: request.merchants.find((merchant) => merchant.merchantNo === merchantNo)!,
    windows: [window],
    currencies: null,
    runId,
    zoneGate,
    onProgress: () => undefined,
  });
  outcome.healingReads = [...outcome.healingReads, { merchantNo, window }];
  outcome.sync = outcome.sync.map((one) =>
    one.merchantNo === merchantNo ? { ...one, report: afterReadingAgain(one.report, report, window) } : one,
  );
  await writeTransaction(deps.db, lease, (trx) => markHealingRead(trx, breakIds, deps.now()));
  return report;
}

/** Joins the reports of different merchants. */
const besides = (a: ReconcileReport, b: ReconcileReport): ReconcileReport => ({
  accounts: a.accounts + b.accounts,
  daysChained: a.daysChained + b.daysChained,
  daysChanged: [...a.daysChanged, ...b.daysChanged],
  opened: [...a.opened, ...b.opened],
  healed: [...a.healed, ...b.healed],
});

/** Joins the reports of two passes. A break that the first pass opened and the second healed counts as never opened. */
function joined(first: ReconcileReport, second: ReconcileReport): ReconcileReport {
  const healedNow = new Set(second.healed.map(({ id }) => id));
  const openedBefore = new Set(first.opened.map(({ id }) => id));
  const changedAgain = new Map(second.daysChanged.map((change) => [keyOf(change), change]));
  return {
    accounts: Math.max(first.accounts, second.accounts),
    daysChained: first.daysChained + second.daysChained,
    daysChanged: [
      ...first.daysChanged.map((change) => {
        const { oldClosing, before } = change;
        return { ...(changedAgain.get(keyOf(change)) ?? change), oldClosing, before };
      }),
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
