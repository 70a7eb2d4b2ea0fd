/** Does what people asked on the pages to be read or published again, as `run` and `publish` would do it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../ledger/text.ts';
import { isDatabaseTrouble } from '../store/engine/errors.ts';
import { LeaseHeld } from '../store/engine/lease.ts';
import {
  endRepeat,
  noteProgress,
  putBack,
  takeRepeat,
  type RepeatFigures,
  type RepeatProgress,
  type TakenRepeat,
} from '../store/repeats.ts';
import type { Progress, RunDeps } from './active-run.ts';
import { runDeps, type PlatformApp } from './app.ts';
import { chosenMerchants } from './chosen-merchants.ts';
import type { RunReport } from './report.ts';
import { executeRun } from './run.ts';
import { EXIT, exitCodeOf, type ExitCode } from './verdict/exit-codes.ts';

const ASK_EVERY_MS = 2_000;
const NOTED_EVERY_MS = 1_000;
/** What a page can show of what changed. */
const LISTED_MAX = 50;

export interface RepeatEnd extends TakenRepeat {
  readonly outcome: 'done' | 'busy' | 'given-back';
  readonly exitCode: ExitCode | null;
  readonly problem: string | null;
}

/**
 * Takes the one whose turn it is and does it to its end: under the merchant's lease, as a run of its own. Null if none waits.
 * Throws what a database in trouble throws; another process then takes it over.
 */
export async function doNextRepeat(
  app: PlatformApp,
  signal: AbortSignal,
  change: Partial<RunDeps> = {},
): Promise<RepeatEnd | null> {
  const { db } = app.database;
  const deps = { ...runDeps(app, signal), ...change };
  const taken = await takeRepeat(db, { holder: deps.holder, now: app.now() });
  if (taken === undefined) return null;
  const noted = progressOf(deps, taken);
  const { kind, merchantNo, from, to } = taken;
  const end = (exitCode: ExitCode, runId: number | null, problem: string | null, figures = {}) =>
    endRepeat(db, taken, { exitCode, runId, problem, figures, now: app.now() });
  try {
    const merchants = await chosenMerchants(app, [merchantNo]);
    const report = await executeRun(
      {
        command: kind === 'read' ? 'run' : 'publish',
        ...{ range: { from, to }, merchants, currencies: null, isByName: true },
      },
      { ...deps, onProgress: noted.show },
    );
    await noted.ended();
    if (signal.aborted && report.exitCode === EXIT.incomplete) {
      await putBack(db, taken, null);
      return { ...taken, outcome: 'given-back', exitCode: null, problem: null };
    }
    await end(report.exitCode, report.runId, null, changesOf(report));
    return { ...taken, outcome: 'done', exitCode: report.exitCode, problem: null };
  } catch (error) {
    await noted.ended();
    if (isDatabaseTrouble(error)) throw error;
    const problem = messageOf(error);
    if (error instanceof LeaseHeld || signal.aborted) {
      await putBack(db, taken, signal.aborted ? null : problem);
      return { ...taken, outcome: signal.aborted ? 'given-back' : 'busy', exitCode: null, problem };
    }
    const exitCode = exitCodeOf(error);
    await end(exitCode, null, problem);
    return { ...taken, outcome: 'done', exitCode, problem };
  }
}

/** Does one after the other until the signal aborts, while `work` does the rest of the process's work. */
export async function withRepeats(
  app: PlatformApp,
  log: Logger,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const repeating = keepRepeating(app, log, stop);
  try {
    await work();
  } finally {
    over.abort();
    await repeating;
  }
}

async function keepRepeating(app: PlatformApp, log: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const end = await doNextRepeat(app, signal);
      if (end !== null) log[end.exitCode === EXIT.done ? 'info' : 'warn'](end, 'asked for on a page');
      if (end?.outcome === 'done') continue;
    } catch (error) {
      log.error({ problem: messageOf(error) }, 'what was asked for on a page is left');
    }
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

function changesOf({ publish, reconcile, reasons }: RunReport): Omit<RepeatFigures, 'by' | 'note'> {
  const published = publish?.published ?? [];
  const ids = (rows: readonly { readonly id: number }[] = []): number[] =>
    rows.slice(0, LISTED_MAX).map(({ id }) => id);
  return {
    reasons: reasons.slice(0, LISTED_MAX).map(({ what, todo }) => ({ what, todo })),
    published: published
      .slice(0, LISTED_MAX)
      .map(({ account: { currency }, day, revision }) => ({ currency, day, revision })),
    publishedInAll: published.length,
    opened: ids(reconcile?.opened),
    healed: ids(reconcile?.healed),
  };
}

/** Notes how far it is, one write at a time and at most one a second. What could not be noted is left. */
function progressOf({ db }: RunDeps, taken: TakenRepeat) {
  let notedMs = -Infinity;
  let noting: Promise<unknown> = Promise.resolve();
  let isNoting = false;
  return {
    show: (progress: Progress): void => {
      const far = farOf(progress);
      if (far === null || isNoting || performance.now() - notedMs < NOTED_EVERY_MS) return;
      notedMs = performance.now();
      isNoting = true;
      noting = noteProgress(db, taken, far)
        .catch(() => undefined)
        .finally(() => (isNoting = false));
    },
    ended: (): Promise<unknown> => noting,
  };
}

function farOf(progress: Progress): RepeatProgress | null {
  const { stage } = progress;
  if (stage === 'sync') return { stage, done: progress.windowsDone, all: progress.windowsPlanned };
  if (stage === 'reconcile') return { stage, done: progress.accountsDone, all: progress.accounts };
  return stage === 'publish' ? { stage, done: progress.daysDone, all: progress.days } : null;
}
