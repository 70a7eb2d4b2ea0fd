/** Puts a run on record and its merchants on the queue, in one transaction. */
import type { Transaction } from 'kysely';
import type { MerchantJob } from '../../queue/queue.ts';
import { EXIT } from '../../ledger/ending.ts';
import type { DB } from '../../store/engine/schema.ts';
import { endWaiting, lockSlot, openRunOfSlot, queueRun } from '../../store/queued-runs.ts';
import { startRun } from '../../store/runs.ts';
import { isNightlyRun, type RunDeps, type RunRequest } from '../active-run.ts';
import { runRanges } from '../merchant-ranges.ts';
import type { DayRange } from '../range.ts';
import { isSlotDone, notDoneInSlot, recordAsked } from '../run.ts';
import type { DueJob } from '../schedule/due.ts';
import type { QueuedRequest } from './queued-run.ts';

interface QueueingDeps extends RunDeps {
  /** Sends the jobs in the transaction. Returns those that were refused, as their merchant has another one. */
  readonly enqueue: (trx: Transaction<DB>, jobs: readonly MerchantJob[]) => Promise<readonly MerchantJob[]>;
}

/**
 * Puts a due slot on the queue, once, however many processes try: with the merchants that are not done in it yet. If a
 * queued run of the slot is open, returns that one. Null if the slot is done. A merchant with a job of an earlier run is
 * busy in this one.
 */
export async function queueSlot(
  request: RunRequest & { readonly scheduled: DueJob },
  deps: QueueingDeps,
): Promise<number | null> {
  const { job, slot } = request.scheduled;
  const open = await openRunOfSlot(deps.db, job, slot);
  if (open !== undefined) return open;
  const days = await runRanges(request, deps);
  return deps.db.transaction().execute(async (trx) => {
    await lockSlot(trx, job, slot);
    const begun = await openRunOfSlot(trx, job, slot);
    if (begun !== undefined) return begun;
    if (await isSlotDone(trx, request.scheduled)) return null;
    const merchants = await notDoneInSlot(request, { ...deps, db: trx });
    return begin({ ...request, merchants }, days, deps, trx);
  });
}

async function begin(
  request: RunRequest,
  { from, to }: DayRange,
  deps: QueueingDeps,
  trx: Transaction<DB>,
): Promise<number> {
  const { command, range, currencies, scheduled = null, notRead = [] } = request;
  const now = deps.now();
  const runId = await startRun(trx, {
    command: scheduled?.job ?? command,
    slot: scheduled?.slot ?? null,
    holder: deps.holder,
    fromDay: from,
    toDay: to,
    now,
    isNightly: isNightlyRun(request),
  });
  await recordAsked(request, { ...deps, db: trx }, runId);
  const merchants = request.merchants.map(({ merchantNo }) => merchantNo);
  const lateSweepDays = deps.lateSweepDays ?? null;
  const asked: QueuedRequest = { command, range, currencies, scheduled, lateSweepDays, notRead };
  await queueRun(trx, runId, asked, merchants);
  const refused = await deps.enqueue(
    trx,
    merchants.map((merchantNo) => ({ runId, merchantNo })),
  );
  const ends = refused.map(({ merchantNo }) => busyEnd(merchantNo));
  await endWaiting(trx, ends, { runId, holder: deps.holder, now });
  return runId;
}

/** The end of a merchant whose job of an earlier run is still open. */
const busyEnd = (merchantNo: string) => ({
  merchantNo,
  exitCode: EXIT.incomplete,
  figures: {
    reasons: [
      {
        exitCode: EXIT.incomplete,
        what: `${merchantNo} is busy: its job of an earlier run is still on the queue`,
        todo: 'the schedule comes back to it; `daybook jobs list` shows whether workers are at work',
        merchantNo,
      },
    ],
  },
});
