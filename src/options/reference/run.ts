/** Reads the reference data once and records this as a run, so that the schedule knows when it was done. */
import { messageOf } from '../../ledger/text.ts';
import { createReferenceReader } from './client.ts';
import { syncReferences, type ReferenceSync, type ReferenceSyncReport } from './sync.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { finishRun, startRun } from '../../store/runs.ts';
import type { DueJob } from '../../run/schedule/due.ts';
import { EXIT, exitCodeOf, mostSevere, type ExitCode } from '../../run/verdict/exit-codes.ts';
import type { PlatformApp } from '../../run/app.ts';

export interface ReferenceRunReport extends ReferenceSyncReport {
  readonly runId: number;
  readonly exitCode: ExitCode;
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

export interface ReferenceRun extends ReferenceSync {
  readonly holder: string;
  /** Set if the schedule runs it: the job, and the wall-clock time at which it was due. */
  readonly scheduled?: DueJob;
}

export const referenceWork = (
  { database, transport, now, settings }: PlatformApp,
  signal: AbortSignal,
): ReferenceRun => ({
  db: database.db,
  reader: createReferenceReader(transport),
  countries: settings.referenceCountries,
  now,
  signal,
  holder: thisHolder(),
});

/** As runs on record name it where a person asks for it. */
const COMMAND = 'reference';
const NAMED_MAX = 10;

const namesOf = (names: readonly string[], separator = ', '): string =>
  names.slice(0, NAMED_MAX).join(separator) +
  (names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '');

/** `bank of CN`, `purpose`. */
export const listName = ({ kind, country }: { readonly kind: string; readonly country: string }): string =>
  country === '' ? kind : `${kind} of ${country}`;

/**
 * A list that was not read makes the run incomplete. A code that is gone may still be in use, and an item that was
 * set aside may be needed: both need a person. Other oddities are only reported.
 */
function judge({ lists }: ReferenceSyncReport): { exitCode: ExitCode; notes: string[] } {
  const codes: ExitCode[] = [];
  const notes: string[] = [];
  for (const list of lists) {
    const { kind, problem, changes, setAside, notices } = list;
    const note = (code: ExitCode, what: string): void => {
      codes.push(code);
      notes.push(`${listName(list)}: ${what}`);
    };
    if (problem !== null) note(EXIT.incomplete, problem);
    if (changes.gone.length > 0) note(EXIT.needsPerson, `no longer listed: ${namesOf(changes.gone)}`);
    const shown = `\`daybook reference list ${kind}\` shows what came`;
    if (setAside.length > 0)
      note(EXIT.needsPerson, `set aside, the rest is read: ${namesOf(setAside, '; ')}; ${shown}`);
    if (notices.length > 0) note(EXIT.done, namesOf(notices, '; '));
  }
  return { exitCode: mostSevere(codes), notes };
}

/**
 * Reads every list and records the run. Takes no lease: if two readings run at the same time, the later one is kept.
 * Throws what `syncReferences` throws; the run is then recorded as failed.
 */
export async function executeReferenceRun(work: ReferenceRun): Promise<ReferenceRunReport> {
  const { db, now, holder, scheduled } = work;
  const startedMs = performance.now();
  const { job = COMMAND, slot = null } = scheduled ?? {};
  const runId = await startRun(db, { command: job, slot, holder, fromDay: null, toDay: null, now: now() });
  try {
    const report = await syncReferences(work);
    const { exitCode, notes } = judge(report);
    const count = (figure: (list: (typeof report.lists)[number]) => number): number =>
      report.lists.reduce((total, list) => total + figure(list), 0);
    const figures = {
      lists: report.lists.length,
      unread: count(({ problem }) => (problem === null ? 0 : 1)),
      items: count(({ itemCount }) => itemCount ?? 0),
      added: count(({ changes }) => changes.added.length),
      renamed: count(({ changes }) => changes.renamed.length),
      returned: count(({ changes }) => changes.returned.length),
      gone: count(({ changes }) => changes.gone.length),
      setAside: count(({ setAside }) => setAside.length),
      odd: count(({ notices }) => notices.length),
      notes,
    };
    await finishRun(db, runId, { exitCode, figures, now: now() });
    const elapsedMs = Math.round(performance.now() - startedMs);
    return { ...report, runId, exitCode, notes, elapsedMs };
  } catch (error) {
    const notes = [messageOf(error)];
    const figures = { notes, interrupted: work.signal.aborted };
    const end = { exitCode: exitCodeOf(error), figures, now: now() };
    await finishRun(db, runId, end).catch(() => undefined);
    throw error;
  }
}
