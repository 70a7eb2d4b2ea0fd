/** Says how the last runs ended: the very last one, and those whose work is still undone. */
import type { Kysely } from 'kysely';
import { countRead } from '../store/run-merchants.ts';
import { latestOfEachJob, latestRuns } from '../store/runs.ts';
import type { DB } from '../store/engine/schema.ts';
import { inParts } from './many-merchants.ts';
import { isGoodEnd } from './verdict/exit-codes.ts';
import { withStates, type KnownRun } from './run-state.ts';

/** Runs of a job that are checked, as the latest ones may still be at work. */
const RUNS_READ_MAX = 5;
/** Runs by hand that are checked, as they may have done the work of a scheduled run. */
const MANUAL_RUNS_READ_MAX = 50;

export interface LastRuns {
  /** Null if nothing ran yet. */
  readonly last: KnownRun | null;
  /**
   * Runs that did not end well and whose work no later run has done: at most one of the ledger's jobs, and one of each
   * other job. A run that is still at work does not count; the one before it does.
   */
  readonly notMadeUpFor: readonly KnownRun[];
}

const endedWell = (run: KnownRun): boolean => isGoodEnd(run.exitCode);

/** All `ledgerJobs` read the ledger, so a later good run of one of them replaces an earlier bad run of another. */
export async function lastRunsOf(
  db: Kysely<DB>,
  options: {
    readonly ledgerJobs: readonly string[];
    readonly otherJobs: readonly string[];
    /** A run by hand replaces a scheduled one if it read all of these merchants. Only asked if it may matter. */
    readonly merchants: () => Promise<readonly string[]>;
    readonly now: Date;
    /** Whether runs by hand that are known to be about a few merchants or days only are left out. */
    readonly nightlyOnly?: boolean;
  },
): Promise<LastRuns> {
  const { ledgerJobs, otherJobs, merchants, nightlyOnly = false } = options;
  const states = async (rows: Parameters<typeof withStates>[1]) => withStates(db, rows, options);
  const [last] = await states(await latestRuns(db, { limit: 1 }));
  const byHand = await states(
    await latestRuns(db, { limit: MANUAL_RUNS_READ_MAX, command: 'run', scheduled: false }),
  );
  const lastEnded = async (jobs: readonly string[]): Promise<KnownRun | undefined> =>
    (await states(await latestOfEachJob(db, jobs, RUNS_READ_MAX))).find(({ state }) => state !== 'running');
  const manualNightly = async (): Promise<KnownRun | undefined> => {
    if (!nightlyOnly) return byHand.find(({ state }) => state !== 'running');
    const rows = await latestRuns(db, {
      ...{ limit: RUNS_READ_MAX, command: 'run', scheduled: false, nightlyOnly },
    });
    return (await states(rows)).find(({ state }) => state !== 'running');
  };
  const ledger = (await lastEnded(ledgerJobs)) ?? (await manualNightly());
  const madeUpFor = async (run: KnownRun): Promise<boolean> => {
    const later = byHand.filter((one) => one.id > run.id && endedWell(one)).map(({ id }) => id);
    return later.length > 0 && hasReadAll(db, later, await merchants());
  };
  const others = await Promise.all(otherJobs.map((job) => lastEnded([job])));
  return {
    last: last ?? null,
    notMadeUpFor: [
      ...(ledger === undefined || endedWell(ledger) || (await madeUpFor(ledger)) ? [] : [ledger]),
      ...others.filter((run) => run !== undefined && !endedWell(run)),
    ] as KnownRun[],
  };
}

/** Whether one of the runs has read the ledgers of all these merchants. */
async function hasReadAll(
  db: Kysely<DB>,
  runs: readonly number[],
  merchants: readonly string[],
): Promise<boolean> {
  let complete = [...runs];
  for (const some of inParts(merchants)) {
    const read = await countRead(db, complete, some);
    complete = complete.filter((run) => read.get(run) === some.length);
  }
  return complete.length > 0;
}
