/** The verdict on a slice: what was done in it, and nothing else that is open of its merchant. */
import { dayWindow } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { covers } from '../../ledger/window.ts';
import { certifiedWindows } from '../../store/windows.ts';
import type { ActiveRun } from '../active-run.ts';
import type { MerchantOutcome } from '../report.ts';
import { discrepanciesOf } from '../discrepancies.ts';
import { outcomeOfAll } from '../outcomes.ts';
import type { DayRange } from '../range.ts';
import { NOTHING_STANDS } from '../open-items.ts';
import { reasonOfDiscrepancy } from '../verdict/finding-reasons.ts';
import { isGoodEnd, type ExitCode } from '../verdict/exit-codes.ts';
import { judge } from '../verdict/judge.ts';

/** A slice that was worked on and is not done. Its message says why. */
export class SliceUndone extends Error {
  override readonly name = 'SliceUndone';
}

/**
 * The exit code of the slice `from` to `to` of a merchant: 0, or 3 if something in it needs a person. Throws `SliceUndone`
 * if it is not done: each of its days has to be under certificate, and published where it can be.
 */
export async function exitCodeOfSlice(
  { deps, runId, from, to }: Pick<ActiveRun, 'deps' | 'runId' | 'from' | 'to'>,
  outcome: MerchantOutcome,
): Promise<ExitCode> {
  const { db, zone } = deps;
  const own = outcomeOfAll([ofSlice(outcome, { from, to })]);
  // What else is open of this merchant is reported by the next night.
  const { exitCode, reasons } = judge(own, NOTHING_STANDS, { id: runId, failures: [], zone });
  if (!isGoodEnd(exitCode)) throw new SliceUndone(reasons[0]!.what);
  if (outcome.sync?.notJoined !== undefined) throw new SliceUndone(outcome.sync.notJoined.problem);
  const span = { beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs };
  if (!covers(await certifiedWindows(db, outcome.merchantNo, span), span))
    throw new SliceUndone(`${outcome.merchantNo}: not all of ${from} to ${to} could be read yet`);
  await assertLaw(outcome, { from, to }, deps);
  return exitCode;
}

/** Each proven day of a slice has figures and a statement, or the slice says why not. Throws `SliceUndone`. */
async function assertLaw(
  { merchantNo, publish }: MerchantOutcome,
  { from, to }: DayRange,
  { db, zone }: Pick<ActiveRun['deps'], 'db' | 'zone'>,
): Promise<void> {
  const said = new Set(publish?.withheld.map(({ account, day }) => `${account.currency} ${day}`));
  for (const one of await discrepanciesOf(db, [merchantNo], zone)) {
    const days = one.days.filter((day) => from <= day && day <= to && !said.has(`${one.currency} ${day}`));
    if (days.length > 0) throw new SliceUndone(reasonOfDiscrepancy({ ...one, days }).what);
  }
}

/** The outcome without what was published, or could not be, of days outside the slice: they are no part of it. */
function ofSlice(outcome: MerchantOutcome, { from, to }: DayRange): MerchantOutcome {
  const { publish } = outcome;
  if (publish === null) return outcome;
  const isOwn = ({ day }: { readonly day: BusinessDay }): boolean => from <= day && day <= to;
  const { leftOut = [], ...rest } = publish;
  const own = {
    withheld: publish.withheld.filter(isOwn),
    unlinked: publish.unlinked.filter(isOwn),
    leftOut: leftOut.filter(isOwn),
  };
  return { ...outcome, publish: { ...rest, ...own } };
}
