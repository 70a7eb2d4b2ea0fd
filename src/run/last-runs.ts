/** How the last runs ended, for whoever is on call: the very last one, and those that left their job undone. */
import type { Kysely } from 'kysely';
import { latestOfEachJob, latestRuns } from '../store/runs.ts';
import type { DB } from '../store/engine/schema.ts';
import { isGoodEnd } from './verdict/exit-codes.ts';
import { withStates, type KnownRun } from './run-state.ts';

/** Runs looked at behind one that is at work. */
const RUNS_LOOKED_AT = 5;
/** Runs by hand that may have done what a scheduled one left undone. */
const RUNS_BY_HAND_LOOKED_AT = 50;

export interface LastRuns {
  /** Null where nothing ran yet. */
  readonly last: KnownRun | null;
  /**
   * The last run of the ledger's jobs, and of each other job, where it did not end well and no later run did its work.
   * One at work has not ended yet, and the one before it counts.
   */
  readonly notMadeUpFor: readonly KnownRun[];
}

const endedWell = (run: KnownRun): boolean => isGoodEnd(run.exitCode);

/** `ledgerJobs` all read the ledger, so that a later good one of them makes up for an earlier bad one. */
export async function lastRunsOf(
  db: Kysely<DB>,
  options: {
    readonly ledgerJobs: readonly string[];
    readonly otherJobs: readonly string[];
    /** Merchants a run by hand must have read to make up for a scheduled one. */
    readonly merchants: readonly string[];
    readonly now: Date;
  },
): Promise<LastRuns> {
  const { ledgerJobs, otherJobs, merchants } = options;
  const states = async (rows: Parameters<typeof withStates>[1]) => withStates(db, rows, options);
  const [last] = await states(await latestRuns(db, { limit: 1 }));
  const byHand = await states(
    await latestRuns(db, { limit: RUNS_BY_HAND_LOOKED_AT, command: 'run', scheduled: false }),
  );
  const lastEnded = async (jobs: readonly string[]): Promise<KnownRun | undefined> =>
    (await states(await latestOfEachJob(db, jobs, RUNS_LOOKED_AT))).find(({ state }) => state !== 'running');
  const ledger = (await lastEnded(ledgerJobs)) ?? byHand.find(({ state }) => state !== 'running');
  const madeUpFor = (run: KnownRun): boolean =>
    byHand.some((later) => later.id > run.id && endedWell(later) && hasRead(later, merchants));
  const others = await Promise.all(otherJobs.map((job) => lastEnded([job])));
  return {
    last: last ?? null,
    notMadeUpFor: [
      ...(ledger === undefined || endedWell(ledger) || madeUpFor(ledger) ? [] : [ledger]),
      ...others.filter((run) => run !== undefined && !endedWell(run)),
    ] as KnownRun[],
  };
}

function hasRead({ figures }: KnownRun, merchants: readonly string[]): boolean {
  const read = figures['merchants'];
  return Array.isArray(read) && merchants.every((merchantNo) => read.includes(merchantNo));
}
