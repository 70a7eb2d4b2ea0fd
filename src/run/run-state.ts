/** Says whether a recorded run ended, is at work, or was killed. A run that was killed could not record its end. */
import type { Kysely } from 'kysely';
import { hasExited } from '../host/process-identity.ts';
import { lastRunOfHolders, leaseHolders, type RunRow, latestOfEachJob, latestRuns } from '../store/runs.ts';
import type { DB } from '../store/engine/schema.ts';
import { EXIT, type ExitCode, isGoodEnd } from './verdict/exit-codes.ts';
import { countRead } from '../store/run-merchants.ts';
import { inParts } from '../store/account-filter.ts';

export type RunState = 'ended' | 'running' | 'killed';

/** A reading of the reference data has no lease. None has ever taken longer than this. */
const LEASELESS_RUN_MS_MAX = 3_600_000;

export interface KnownRun extends RunRow {
  readonly state: RunState;
}

/**
 * The rows with their states. `now` is compared with the times stored in runs; whether a lease is live is decided by
 * the database's clock.
 */
export async function withStates(
  db: Kysely<DB>,
  rows: readonly RunRow[],
  { now }: { readonly now: Date },
): Promise<KnownRun[]> {
  const open = rows.filter(({ exitCode }) => exitCode === null);
  if (open.length === 0) return rows.map((row) => ({ ...row, state: 'ended' }));
  const holding = new Set(await leaseHolders(db));
  const lastOf = await lastRunOfHolders(db, [...new Set(open.map(({ holder }) => holder))]);
  const isRunning = (row: RunRow): boolean => {
    // Any worker does what is left of it.
    if (row.isQueued) return true;
    if (hasExited(row.holder) || lastOf.get(row.holder) !== row.id) return false;
    // What reads no ledger takes no lease.
    const leaseless = row.fromDay === null;
    return leaseless
      ? now.getTime() - row.startedAt.getTime() < LEASELESS_RUN_MS_MAX
      : holding.has(row.holder);
  };
  return rows.map((row) => ({
    ...row,
    state: row.exitCode !== null ? 'ended' : isRunning(row) ? 'running' : 'killed',
  }));
}

/** The most severe reason why a run did not end well; null if it gave none. */
export function reasonOf({ state, figures }: KnownRun): string | null {
  if (state === 'killed') return 'it was killed, or its machine went down, before it could record an end';
  const [note] = notesOf(figures);
  return note ?? null;
}

/** The next try of a run that was left to other processes comes within this time. */
const LEFT_TO_OTHERS_MS_MAX = 3_600_000;

/** Whether the run was asked to stop, or ended lately and left to other processes what they were at work on. */
export function isNoFailure({ figures, finishedAt }: KnownRun, now: Date): boolean {
  if (figures['interrupted'] === true) return true;
  const isLate = finishedAt === null || now.getTime() - finishedAt.getTime() >= LEFT_TO_OTHERS_MS_MAX;
  return figures['leftToOthers'] === true && !isLate;
}

export const notesOf = (figures: RunRow['figures']): string[] => {
  const notes = figures['notes'];
  return Array.isArray(notes) ? notes.filter((note) => typeof note === 'string') : [];
};

const ENDS: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: 'done',
  [EXIT.usage]: 'settings or usage',
  [EXIT.needsPerson]: 'complete, needs attention',
  [EXIT.incomplete]: 'incomplete',
  [EXIT.leaseHeld]: 'another run is at work',
  [EXIT.fault]: 'internal error',
};

/** `4: incomplete`. */
export const endText = (exitCode: number): string => `${exitCode}: ${ENDS[exitCode as ExitCode]}`;

/** `exit code 0 (done)`, `killed`, `running`. */
export const runEndText = ({ state, exitCode }: KnownRun): string =>
  state === 'ended' ? `exit code ${exitCode!} (${ENDS[exitCode as ExitCode]})` : state;

/** `0: done`, `killed`, `running`. */
export const runEnd = ({ state, exitCode }: KnownRun): string =>
  state === 'ended' ? endText(exitCode!) : state;

/** Runs of a job that are checked, as the latest ones may still be at work. */
const RUNS_READ_MAX = 5;
/** Runs by hand that are checked, as they may have done the work of a scheduled run. */
const MANUAL_RUNS_READ_MAX = 50;

export interface LastRuns {
  readonly last: KnownRun | null;
  /**
   * The run of the ledger's jobs that did not end well and whose work no later run has done; at most one. A run that is
   * still at work does not count; the one before it does.
   */
  readonly notMadeUpFor: readonly KnownRun[];
  /** The same of each job that reads no ledger: no night has failed for it. */
  readonly failedJobs: readonly KnownRun[];
}

const endedWell = (run: KnownRun): boolean => isGoodEnd(run.exitCode);

export interface LastRunsAsked {
  readonly ledgerJobs: readonly string[];
  readonly otherJobs: readonly string[];
  /** A run by hand replaces a scheduled one if it read all of these merchants. Only asked if it may matter. */
  readonly merchants: () => Promise<readonly string[]>;
  readonly now: Date;
  /** Whether runs by hand that are known to be about a few merchants or days only are left out. */
  readonly nightlyOnly?: boolean;
}

/** All `ledgerJobs` read the ledger, so a later good run of one of them replaces an earlier bad run of another. */
export async function lastRunsOf(db: Kysely<DB>, options: LastRunsAsked): Promise<LastRuns> {
  const { ledgerJobs, otherJobs, merchants, nightlyOnly = false } = options;
  const states = async (rows: Promise<readonly RunRow[]>) => withStates(db, await rows, options);
  const ended = (runs: readonly KnownRun[]) => runs.find(({ state }) => state !== 'running');
  const [last] = await states(latestRuns(db, { limit: 1 }));
  const manual = { command: 'run', scheduled: false };
  const byHand = await states(latestRuns(db, { ...manual, limit: MANUAL_RUNS_READ_MAX }));
  const lastEnded = async (jobs: readonly string[]) =>
    ended(await states(latestOfEachJob(db, jobs, RUNS_READ_MAX)));
  const manualNightly = async () =>
    ended(
      nightlyOnly ? await states(latestRuns(db, { ...manual, limit: RUNS_READ_MAX, nightlyOnly })) : byHand,
    );
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
    ],
    failedJobs: others.filter((run) => run !== undefined && !endedWell(run)) as KnownRun[],
  };
}

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
