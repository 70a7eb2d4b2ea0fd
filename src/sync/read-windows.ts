/**
 * Reads many windows of one merchant at the same time, and holds no more pages in memory than the limits say.
 *
 * Older windows go first, so that the oldest ones are certified if the platform fails half-way. This decides which
 * window is begun and which one gets memory; in the transport, it decides which call is sent.
 */
import { UNTRACED, type Trace } from '../host/trace.ts';
import type { LedgerPage, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Asked } from './certificate.ts';
import { certifyWide } from './certify-wide.ts';
import { certifyWindow, type NotedReading, type PageSource } from './certify.ts';
import { READ_LIMITS, type ReadLimits } from './limits.ts';
import { createPageSemaphore, type PageSemaphore } from './page-semaphore.ts';
import type { WideWindow } from './wide-windows.ts';
import { WindowQueue, type Task } from './window-queue.ts';

export interface ReadWindowsOptions {
  readonly reader: LedgerReader;
  readonly merchant: MerchantAccess;
  readonly asked: readonly WideWindow[];
  readonly limits?: Partial<ReadLimits> | undefined;
  readonly signal: AbortSignal;
  /**
   * Called at once for each first page. The reading of its window is taken after this resolves; a rejection stops all.
   */
  readonly onFirstPage: (page: LedgerPage, asked: Asked) => Promise<void>;
  /** Takes the reading of a wide window, a planned one or a part of one; its pages count as in memory until this resolves. */
  readonly onReading: (asked: Asked, reading: NotedReading) => Promise<void>;
  /** Called once for each planned window, when all its parts were taken. */
  readonly onWindowDone: () => void;
  /** Called for each window that has to be read in parts. */
  readonly onSplit?: (() => void) | undefined;
  /** Called for each reading whose replies contradict each other, with the reason in a sentence. */
  readonly onContradiction: (problem: string) => void;
  readonly trace?: Trace | undefined;
}

/** What stops the reading of all windows. */
interface Stopping {
  readonly signal: AbortSignal;
  /** Stops all. Only the first failure counts, as what follows is its consequence. */
  readonly fail: (error: unknown) => void;
  /** Throws the first failure, or the reason of the caller's signal. */
  readonly throwIfStopped: () => void;
  /** To be called when nothing is read any more. */
  readonly close: () => void;
}

/** What the reading of all tasks shares. */
interface Shared {
  readonly options: ReadWindowsOptions;
  readonly limits: ReadLimits;
  readonly credits: PageSemaphore;
  readonly stopping: Stopping;
  readonly queue: WindowQueue;
  /** Called when parts were put back into the queue. */
  readonly onPutBack: () => void;
}

/**
 * Resolves once every window was read and taken. Rejects with the first failure of the reader or a taker, or with the
 * reason of the signal. From then on nothing is begun; what was read before is still taken.
 */
export async function readWindows(options: ReadWindowsOptions): Promise<void> {
  const limits: ReadLimits = { ...READ_LIMITS, ...options.limits };
  const stopping = createStopping(options.signal);
  const credits = createPageSemaphore(limits.pagesInProgressMax);
  stopping.signal.addEventListener('abort', credits.open, { once: true });
  const queue = new WindowQueue(options.asked, limits.pageNumMax);
  const { trace = UNTRACED } = options;

  const running = new Set<Promise<void>>();
  const begin = (task: Task): void => {
    const { beginMs, endMs } = task.window;
    const span = { 'daybook.window.begin': isoOf(beginMs), 'daybook.window.end': isoOf(endMs) };
    const job: Promise<void> = trace('window', span, () => readTask(task, shared))
      .catch(stopping.fail)
      .finally(() => running.delete(job));
    running.add(job);
  };
  const beginWaiting = (): void => {
    while (!stopping.signal.aborted && running.size < limits.windowsInProgressMax && !queue.isEmpty)
      begin(queue.next());
  };
  const shared: Shared = { options, limits, credits, stopping, queue, onPutBack: beginWaiting };
  try {
    for (;;) {
      beginWaiting();
      if (running.size === 0) break;
      await Promise.race(running);
    }
    stopping.throwIfStopped();
  } finally {
    stopping.close();
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

function createStopping(given: AbortSignal): Stopping {
  const stop = new AbortController();
  const { signal } = stop;
  const pass = (): void => stop.abort(given.reason);
  if (given.aborted) pass();
  // What stays listening to the run's signal is kept until the run ends, with all that it knows.
  else given.addEventListener('abort', pass, { once: true });
  const failures: unknown[] = [];
  return {
    signal,
    fail: (error) => {
      if (signal.aborted) return;
      failures.push(error);
      stop.abort(error);
    },
    throwIfStopped: () => {
      if (failures.length > 0) throw failures[0];
      given.throwIfAborted();
    },
    close: () => given.removeEventListener('abort', pass),
  };
}

/** Reads a task until it is certified, given up, or split; its parts go back into the queue. */
async function readTask(task: Task, shared: Shared): Promise<void> {
  const { credits, limits, queue, onPutBack, options, stopping } = shared;
  const rank = task.window.beginMs;
  await credits.take(1, rank);
  let held = 1;
  const checks: Promise<void>[] = [];
  const source: PageSource = {
    page: (asked, pageNum) => pageOf(asked, pageNum, shared),
    holdPages: async (pages) => {
      const most = Math.min(pages, limits.pagesInProgressMax - limits.windowsInProgressMax);
      held += most;
      await credits.take(most, rank);
    },
    onFirstPage: (page, asked) => {
      const check = options.onFirstPage(page, asked);
      check.catch(stopping.fail);
      checks.push(check);
    },
    onContradiction: options.onContradiction,
  };
  try {
    const certify = task.planned.length > 1 ? certifyWide : certifyWindow;
    const outcome = await certify(task, source, limits);
    // Parts may be read while `onFirstPage` still works on this window. They are taken after it is done with their own.
    if (outcome.kind !== 'read') options.onSplit?.();
    if (outcome.kind === 'split') {
      queue.putBack(task, outcome, outcome.orderUnsteady);
      onPutBack();
    } else if (outcome.kind === 'apart') {
      queue.putApart(task, outcome.groups, outcome.orderUnsteady);
      onPutBack();
    }
    await Promise.all(checks);
    if (outcome.kind === 'read') await take(task, outcome, options);
  } finally {
    credits.give(held);
  }
}

function pageOf({ window, currency }: Asked, pageNum: number, shared: Shared): Promise<LedgerPage> {
  const { reader, merchant } = shared.options;
  const { signal } = shared.stopping;
  signal.throwIfAborted();
  return reader.page({ merchant, window, pageNum, ...(currency === null ? {} : { currency }) }, signal);
}

/** Hands a reading on. The parts of a second are handed on together, once all of them are there. */
async function take(
  task: Task,
  read: NotedReading,
  { onReading, onWindowDone }: ReadWindowsOptions,
): Promise<void> {
  const complete = task.second === null ? { asked: task, read } : task.second.add(read);
  if (complete !== null)
    await onReading({ window: complete.asked.window, currency: task.currency }, complete.read);
  task.retryBudget.partsLeft -= 1;
  if (task.retryBudget.partsLeft === 0) task.planned.forEach(onWindowDone);
}
