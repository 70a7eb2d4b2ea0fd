/** Says whether a recorded run ended, is at work, or was killed. A run that was killed could not record its end. */
import type { Kysely } from 'kysely';
import { hasExited } from '../host/process-identity.ts';
import { lastRunOfHolders, leaseHolders, type RunRow } from '../store/runs.ts';
import type { DB } from '../store/engine/schema.ts';
import { BACKFILL_COMMAND } from './backfill/slices.ts';
import { REFERENCE_COMMAND } from './reference-run.ts';
import { EXIT, type ExitCode } from './verdict/exit-codes.ts';

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
    // Any worker, or the schedule, does what is left of it.
    if (row.isQueued || row.command === BACKFILL_COMMAND) return true;
    if (hasExited(row.holder) || lastOf.get(row.holder) !== row.id) return false;
    const leaseless = row.command === REFERENCE_COMMAND;
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

/** The sentences that are stored with a run. */
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
