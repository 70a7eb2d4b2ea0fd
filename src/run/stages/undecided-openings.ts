/** Proves or reports openings that are not decided: the entries of the day fit other balances as well. */
import { dayWindow } from '../../ledger/business-day.ts';
import { ALL_TIME, covers } from '../../ledger/window.ts';
import { compareAmounts } from '../../ledger/money.ts';
import { decideOpening, undecidedOpenings, type UndecidedOpening } from '../../store/undecided-openings.ts';
import { keepNotices, type FirstNotice } from '../../store/notices.ts';
import { certifiedWindows } from '../../store/windows.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import { entriesBefore } from '../../sync/ledger-past.ts';
import type { MerchantWork } from '../active-run.ts';
import type { MerchantOutcome } from '../report.ts';

/**
 * To be called once the days are chained. Where the account may begin on zero, the platform is asked once whether it has
 * entries of that currency before; if not, the opening is decided. Every other one becomes a notice.
 */
export async function settleUndecidedOpenings(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { deps, lease, merchantNo, runId } = work;
  const notices: FirstNotice[] = [];
  for (const undecided of await undecidedOpenings(deps.db, merchantNo)) {
    const { currency, day, opening, others } = undecided;
    const total = await entriesBeforeIt(work, outcome, undecided);
    if (total === undefined) continue;
    if (total === 0)
      await writeTransaction(deps.db, lease, (trx) => decideOpening(trx, merchantNo, undecided));
    else notices.push({ kind: 'first', merchantNo, currency, day, figures: { opening, others } });
  }
  if (notices.length === 0) return;
  await writeTransaction(deps.db, lease, (trx) => keepNotices(trx, notices, { runId, now: deps.now() }));
}

/** Null if that cannot be known. Undefined if it is too early, or if another run has to ask. */
async function entriesBeforeIt(
  { deps, merchant, merchantNo }: MerchantWork,
  outcome: MerchantOutcome,
  { currency, day, opening, isFirst }: UndecidedOpening,
): Promise<number | null | undefined> {
  const spans = await certifiedWindows(deps.db, merchantNo, ALL_TIME, currency);
  const own = dayWindow(day, deps.zone);
  // A day that is not over, or not proven, may get entries that decide.
  if (!covers(spans, own)) return undefined;
  const [proven] = spans;
  const mayBegin = isFirst && compareAmounts(opening, '0') === 0;
  if (!mayBegin || proven === undefined || !covers([proven], own)) return null;
  const read = outcome.sync;
  if (read === null || read.report.failure !== null) return undefined;
  const asked = { ...deps, merchant, beforeMs: proven.beginMs, currency };
  const { total, requests } = await entriesBefore(asked);
  outcome.sync = { ...read, report: { ...read.report, requests: read.report.requests + requests } };
  return total;
}
