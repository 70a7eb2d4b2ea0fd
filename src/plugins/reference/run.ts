/** Reads the reference data once and records this as a run, so that the schedule knows when it was done. */
import { createReferenceReader } from './client.ts';
import { syncReferences, type ReferenceSync, type ReferenceSyncReport } from './sync.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { recordedJob, type RecordedWork } from '../../run/schedule/recorded-job.ts';
import type { DueJob } from '../../run/schedule/due.ts';
import type { JobReport } from '../../run/schedule/job.ts';
import { EXIT, mostSevere, type ExitCode } from '../../run/verdict/exit-codes.ts';
import type { PlatformApp } from '../../run/app.ts';
import { referenceSettings } from './settings.ts';

export type ReferenceRunReport = ReferenceSyncReport & JobReport;

export interface ReferenceRun extends ReferenceSync, RecordedWork {
  /** Set if the schedule runs it: the job, and the wall-clock time at which it was due. */
  readonly scheduled?: DueJob;
}

export const referenceWork = (
  { database, transport, now, settings }: PlatformApp,
  signal: AbortSignal,
): ReferenceRun => ({
  db: database.db,
  reader: createReferenceReader(transport),
  countries: referenceSettings.of(settings).referenceCountries,
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
export const executeReferenceRun = (work: ReferenceRun): Promise<ReferenceRunReport> =>
  recordedJob(work, work.scheduled ?? { job: COMMAND, slot: null }, async () => {
    const report = await syncReferences(work);
    const { lists } = report;
    const count = (figure: (list: (typeof lists)[number]) => number): number =>
      lists.reduce((total, list) => total + figure(list), 0);
    const figures = {
      lists: lists.length,
      unread: count(({ problem }) => (problem === null ? 0 : 1)),
      items: count(({ itemCount }) => itemCount ?? 0),
      added: count(({ changes }) => changes.added.length),
      renamed: count(({ changes }) => changes.renamed.length),
      returned: count(({ changes }) => changes.returned.length),
      gone: count(({ changes }) => changes.gone.length),
      setAside: count(({ setAside }) => setAside.length),
      odd: count(({ notices }) => notices.length),
    };
    return { ...report, ...judge(report), figures };
  });
