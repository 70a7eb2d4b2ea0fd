/** Does what was requested, as `run` and `publish` would do it: what people ask on the pages, and backfills a slice at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../ledger/text.ts';
import { DatabaseNewer, isDatabaseTrouble } from '../store/engine/errors.ts';
import { LeaseHeld } from '../store/engine/lease.ts';
import {
  endRequest,
  keepTaken,
  putBack,
  TAKEN_MS,
  takeRequest,
  type RequestFigures,
  type RequestProgress,
  type TakenRequest,
} from '../store/requests.ts';
import type { Progress, RunDeps } from './active-run.ts';
import { runDeps, type PlatformApp } from './app.ts';
import { chosenMerchants } from './chosen-merchants.ts';
import { withMissing } from './coverage.ts';
import { discrepanciesOf } from './proven.ts';
import type { DayRange } from './range.ts';
import type { RunReport } from './report.ts';
import { executeRun } from './run.ts';
import { sideBySide } from './side-by-side.ts';
import { sliceFrom } from './slices.ts';
import { exitCodeOfDiscrepancy, reasonOfDiscrepancy } from './verdict/finding-reasons.ts';
import { EXIT, exitCodeOf, isGoodEnd, UsageError, type ExitCode, type Reason } from './verdict/exit-codes.ts';

const ASK_EVERY_MS = 2_000;
const NOTED_EVERY_MS = 1_000;
/** What a page can show of what changed. */
const LISTED_MAX = 50;
/** A merchant that another process is at work on is come back to after this time. */
const BUSY_AGAIN_MS = 15_000;
/** Pauses before a failed slice is tried again; from then on always the last one. */
const PAUSES_MIN = [1, 2, 4, 8, 15, 30, 60, 120, 240, 360];

/** How long to wait after a slice has failed for the `tries`-th time. */
const pauseMs = (tries: number): number =>
  PAUSES_MIN[Math.min(Math.max(tries, 1), PAUSES_MIN.length) - 1]! * 60_000;

/**
 * - `done`: the request has ended
 * - `slice`: a slice of a backfill is done, and others are left
 * - `failed`: the slice is tried again after a pause
 * - `busy`: another process is at work on the merchant; it is come back to
 * - `given-back`: the process has to stop; another one does it
 * - `left-out`: the merchant is not read any more
 */
export interface RequestEnd extends TakenRequest {
  readonly outcome: 'done' | 'slice' | 'failed' | 'busy' | 'given-back' | 'left-out';
  /** What was done of it; null where nothing was. */
  readonly days: DayRange | null;
  readonly exitCode: ExitCode | null;
  readonly problem: string | null;
  readonly reasons: readonly Reason[];
}

interface RequestOptions {
  /** Whether backfills are done as well. */
  readonly backfills?: boolean;
  /** Only this backfill. */
  readonly id?: number | undefined;
}

/**
 * Takes the request whose turn it is and does it, of a backfill one slice: under the merchant's lease, as a run of its own. Null if
 * none waits. Throws what a database in trouble throws; another process then takes it over.
 */
export async function doNextRequest(
  app: PlatformApp,
  signal: AbortSignal,
  { backfills = false, id }: RequestOptions = {},
  change: Partial<RunDeps> = {},
): Promise<RequestEnd | null> {
  const { db } = app.database;
  const deps = { ...runDeps(app, signal), ...change };
  const taken = await takeRequest(db, { holder: deps.holder, now: deps.now(), backfills, id });
  if (taken === undefined) return null;
  const kept = keeping(deps, taken);
  try {
    return await doTaken(app, taken, { ...deps, onProgress: kept.show });
  } catch (error) {
    if (isDatabaseTrouble(error)) throw error;
    return await endWithError(deps, taken, error);
  } finally {
    await kept.over();
  }
}

const endOf = (taken: TakenRequest, end: Pick<RequestEnd, 'outcome'> & Partial<RequestEnd>): RequestEnd => ({
  ...taken,
  ...{ days: null, exitCode: null, problem: null, reasons: [] },
  ...end,
});

async function doTaken(app: PlatformApp, taken: TakenRequest, deps: RunDeps): Promise<RequestEnd> {
  const { db, signal } = deps;
  const { merchantNo, what } = taken;
  const isBackfill = taken.askedBy === 'backfill';
  const merchants = await chosenMerchants(app, [merchantNo]);
  // Where all is read, what a killed process left unpublished is published with the last day.
  const { from, to } = isBackfill
    ? ((await nextSlice(taken, deps)) ?? { from: taken.to, to: taken.to })
    : taken;
  const asked = { merchants, range: { from, to }, currencies: null, isByName: true } as const;
  const command = what === 'read' ? 'run' : 'publish';
  const { alerts: _, ...quiet } = deps;
  const report = await (isBackfill
    ? executeRun({ command, ...asked, isSlice: true }, quiet)
    : executeRun({ command, ...asked }, deps));
  const { exitCode, runId, reasons } = report;
  const shown = { days: { from, to }, exitCode, reasons };
  if (signal.aborted && exitCode === EXIT.incomplete) return giveBack(deps, taken);
  if (!isBackfill) {
    await end(deps, taken, { exitCode, runId, figures: changesOf(report) });
    return endOf(taken, { outcome: 'done', ...shown });
  }
  const next = await nextSlice(taken, deps);
  const undone = await whyUndone(deps, taken, { report, next });
  if (undone !== null) return fail(deps, taken, undone);
  if (next === null) {
    await end(deps, taken, { exitCode });
    return endOf(taken, { outcome: 'done', ...shown });
  }
  await putBack(db, taken, { attempts: 0, problem: null, tryAt: null, hasBegun: true });
  return endOf(taken, { outcome: 'slice', ...shown });
}

/** Why a slice is not done: each of its days has to be under certificate, and published where it can be. Null if it is. */
async function whyUndone(
  { db, zone }: RunDeps,
  { merchantNo }: TakenRequest,
  { report, next }: { readonly report: RunReport; readonly next: DayRange | null },
): Promise<string | null> {
  const { from, to, reasons, troubles, publish } = report;
  const [trouble] = troubles;
  if (trouble !== undefined) return trouble.message;
  if (next !== null && next.from <= to)
    return reasons[0]?.what ?? `not all of ${from} to ${to} could be read yet`;
  const said = new Set(publish?.withheld.map(({ account, day }) => `${account.currency} ${day}`));
  for (const one of await discrepanciesOf(db, [merchantNo], zone)) {
    // What waits for a person or for other days is named by the run.
    if (isGoodEnd(exitCodeOfDiscrepancy(one))) continue;
    const days = one.days.filter((day) => from <= day && day <= to && !said.has(`${one.currency} ${day}`));
    if (days.length > 0) return reasonOfDiscrepancy({ ...one, days }).what;
  }
  return null;
}

/** The first days that lack a certificate, at most a month; null where none is left. */
async function nextSlice(taken: TakenRequest, { db, zone, now }: RunDeps): Promise<DayRange | null> {
  const [part] = await withMissing(db, [taken], { zone, now: now() });
  const [first] = part!.missingDays;
  return first === undefined ? null : sliceFrom(first.from, first.to);
}

const end = (
  { db, now }: RunDeps,
  taken: TakenRequest,
  how: {
    readonly exitCode: ExitCode;
    readonly runId?: number;
    readonly figures?: RequestFigures | object;
    readonly problem?: string;
  },
) =>
  endRequest(db, taken, {
    ...{ state: 'ended', runId: null, problem: null, figures: {}, now: now() },
    ...how,
  });

async function fail({ db, now }: RunDeps, taken: TakenRequest, problem: string): Promise<RequestEnd> {
  const attempts = taken.attempts + 1;
  const tryAt = new Date(now().getTime() + pauseMs(attempts));
  await putBack(db, taken, { attempts, problem, tryAt, hasBegun: true });
  return endOf(taken, { outcome: 'failed', problem });
}

async function giveBack({ db }: RunDeps, taken: TakenRequest): Promise<RequestEnd> {
  await putBack(db, taken, { attempts: taken.attempts, problem: null, tryAt: null, hasBegun: false });
  return endOf(taken, { outcome: 'given-back' });
}

async function endWithError(deps: RunDeps, taken: TakenRequest, error: unknown): Promise<RequestEnd> {
  const { db, now, signal } = deps;
  const problem = messageOf(error);
  if (signal.aborted) return giveBack(deps, taken);
  if (error instanceof LeaseHeld) {
    const tryAt = new Date(now().getTime() + BUSY_AGAIN_MS);
    await putBack(db, taken, { attempts: taken.attempts, problem, tryAt, hasBegun: false });
    return endOf(taken, { outcome: 'busy', problem });
  }
  const exitCode = exitCodeOf(error);
  if (taken.askedBy === 'page') {
    await end(deps, taken, { exitCode, problem });
    return endOf(taken, { outcome: 'done', exitCode, problem });
  }
  if (!(error instanceof UsageError)) return fail(deps, taken, problem);
  const how = { state: 'left-out', exitCode: null, runId: null, problem, figures: {}, now: now() } as const;
  await endRequest(db, taken, how);
  return endOf(taken, { outcome: 'left-out', problem });
}

interface BackfillOptions {
  readonly atOnce: number;
  readonly signal: AbortSignal;
  readonly onSlice: (end: RequestEnd) => Promise<void>;
}

/**
 * Does slices of the backfill, `atOnce` side by side, each of another merchant. Ends once the slices that are left wait
 * for a busy merchant or for another try. Throws as `doNextRequest`.
 */
export function doBackfill(
  app: PlatformApp,
  id: number,
  { atOnce, signal, onSlice }: BackfillOptions,
  change: Partial<RunDeps> = {},
): Promise<void> {
  const loops = Array.from({ length: atOnce }, (_, at) => String(at));
  return sideBySide(loops, { atOnce, signal, nameOf: (loop) => loop }, async (_, stopped) => {
    for (;;) {
      stopped.throwIfAborted();
      const done = await doNextRequest(app, stopped, { id }, change);
      if (done === null) return;
      await onSlice(done);
    }
  });
}

interface LoopOptions {
  /** How many requests are done at the same time; 1 if left out. */
  readonly atOnce?: number;
  /** Whether backfills may be done now; never if left out. */
  readonly mayBackfill?: () => Promise<boolean>;
}

/** Does requests one after the other until the signal aborts, while `work` does the rest of the process's work. */
export async function withRequests(
  app: PlatformApp,
  log: Logger,
  signal: AbortSignal,
  work: () => Promise<void>,
  { atOnce = 1, mayBackfill = () => Promise.resolve(false) }: LoopOptions = {},
): Promise<void> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const loops = Array.from({ length: atOnce }, () => keepDoing(app, log, stop, mayBackfill));
  try {
    await work();
  } finally {
    over.abort();
    await Promise.all(loops);
  }
}

async function keepDoing(
  app: PlatformApp,
  log: Logger,
  signal: AbortSignal,
  mayBackfill: () => Promise<boolean>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const done = await doNextRequest(app, signal, { backfills: await mayBackfill() });
      if (done !== null) logRequest(log, done);
      if (done?.outcome === 'done' || done?.outcome === 'slice') continue;
    } catch (error) {
      log.error({ problem: messageOf(error) }, 'what was requested is left');
      // Others do it.
      if (error instanceof DatabaseNewer) return;
    }
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

export function logRequest(log: Logger, { reasons: _, ...done }: RequestEnd): void {
  const isWell = done.outcome !== 'failed' && (done.exitCode ?? EXIT.done) === EXIT.done;
  const what = done.askedBy === 'page' ? 'asked for on a page' : 'slice of a backfill';
  log[isWell ? 'info' : 'warn'](done, what);
}

function changesOf({ publish, reconcile, reasons }: RunReport): Omit<RequestFigures, 'by' | 'note'> {
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

/** Keeps what was taken, and notes how far it is: one write at a time, at most one a second. What could not be noted is left. */
function keeping({ db }: RunDeps, taken: TakenRequest) {
  let notedMs = -Infinity;
  let noting: Promise<unknown> | null = null;
  const note = (progress: RequestProgress | null): void => {
    if (noting !== null || performance.now() - notedMs < NOTED_EVERY_MS) return;
    notedMs = performance.now();
    noting = keepTaken(db, taken, progress)
      .catch(() => undefined)
      .finally(() => (noting = null));
  };
  const timer = setInterval(() => note(null), TAKEN_MS / 4);
  return {
    show: (progress: Progress): void => {
      const far = farOf(progress);
      if (far !== null) note(far);
    },
    over: async (): Promise<void> => {
      clearInterval(timer);
      await noting;
    },
  };
}

function farOf(progress: Progress): RequestProgress | null {
  const { stage } = progress;
  if (stage === 'sync') return { stage, done: progress.windowsDone, all: progress.windowsPlanned };
  if (stage === 'reconcile') return { stage, done: progress.accountsDone, all: progress.accounts };
  return stage === 'publish' ? { stage, done: progress.daysDone, all: progress.days } : null;
}
