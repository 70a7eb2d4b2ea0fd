/** Whether a run on record ended, is at work, or was killed: a killed one leaves no end behind, only its row. */
import type { Kysely } from 'kysely';
import { isGone } from '../host/process-identity.ts';
import { lastRunOfHolders, liveLeases, type RunRow } from '../store/runs.ts';
import type { DB } from '../store/engine/schema.ts';
import { REFERENCE_COMMAND } from './reference-run.ts';

export type RunState = 'ended' | 'running' | 'killed';

/** A reading of the reference data takes no lease; longer than this none has ever taken. */
const LEASELESS_RUN_MS_MAX = 3_600_000;

export interface KnownRun extends RunRow {
  readonly state: RunState;
}

/** Rows with their state. `now` is what runs take for now; leases live by the database's clock. */
export async function withStates(
  db: Kysely<DB>,
  rows: readonly RunRow[],
  { now }: { readonly now: Date },
): Promise<KnownRun[]> {
  const open = rows.filter(({ exitCode }) => exitCode === null);
  if (open.length === 0) return rows.map((row) => ({ ...row, state: 'ended' }));
  const holding = new Set((await liveLeases(db)).map(({ holder }) => holder));
  const lastOf = await lastRunOfHolders(db, [...new Set(open.map(({ holder }) => holder))]);
  const isRunning = (row: RunRow): boolean => {
    if (isGone(row.holder) || lastOf.get(row.holder) !== row.id) return false;
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

/** Why a run did not end well, its gravest reason; null where there is nothing to say. */
export function reasonOf({ state, figures }: KnownRun): string | null {
  if (state === 'killed') return 'it was killed, or its machine went down, before it could record an end';
  const [note] = notesOf(figures);
  return note ?? null;
}

/** The sentences a run left behind. */
export const notesOf = (figures: RunRow['figures']): string[] => {
  const notes = figures['notes'];
  return Array.isArray(notes) ? notes.filter((note) => typeof note === 'string') : [];
};
