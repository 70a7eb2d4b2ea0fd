/**
 * Reads many windows of one merchant at the same time, and holds no more pages in memory than the limits say.
 *
 * Older windows go first, so that the oldest ones are certified if the platform fails half-way. This decides which
 * window is begun and which one gets memory; in the transport, it decides which call is sent.
 */
import { UNTRACED, type Trace } from '../host/trace.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Asked } from './certificate.ts';
import { certifyWide, certifyWindow, type NotedReading, type RetryBudget } from './certify.ts';
import { pageQuery, type PageSource, spanText } from './page-source.ts';
import { READ_LIMITS, type ReadLimits, type SplitPolicy, type Split } from './limits.ts';
import { createDoubtOfEmpty, type StoredNear } from './empty-replies.ts';
import { createPageSemaphore, type PageSemaphore } from './page-semaphore.ts';
import type { ReadingWork } from './reading-work.ts';
import { type WideWindow, wideOf } from './wide-windows.ts';
import type { Window } from '../ledger/entry.ts';

export interface ReadWindowsOptions {
  readonly reader: LedgerReader;
  readonly merchant: MerchantAccess;
  readonly asked: readonly WideWindow[];
  readonly limits?: Partial<ReadLimits> | undefined;
  readonly work: ReadingWork;
  readonly storedNear: StoredNear;
  readonly signal: AbortSignal;
  /**
   * Called at once for each first page. The reading of its window is taken after this resolves; a rejection stops all.
   */
  readonly onFirstPage: (page: LedgerPage, asked: Asked) => Promise<void>;
  /** Takes the reading of a wide window, a planned one or a part of one; its pages count as in memory until this resolves. */
  readonly onReading: (asked: Asked, reading: NotedReading) => Promise<void>;
  readonly onWindowDone: () => void;
  readonly onSplit?: (() => void) | undefined;
  readonly onContradiction: (problem: string) => void;
  readonly trace?: Trace | undefined;
}

interface Shared {
  readonly options: ReadWindowsOptions;
  readonly limits: ReadLimits;
  readonly credits: PageSemaphore;
  readonly stopping: ReturnType<typeof createStopping>;
  readonly queue: WindowQueue;
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

/** Only the first failure counts, as what follows is its consequence. */
function createStopping(given: AbortSignal) {
  const stop = new AbortController();
  const { signal } = stop;
  const pass = (): void => stop.abort(given.reason);
  if (given.aborted) pass();
  // What stays listening to the run's signal is kept until the run ends, with all that it knows.
  else given.addEventListener('abort', pass, { once: true });
  const failures: unknown[] = [];
  return {
    signal,
    fail: (error: unknown): void => {
      if (signal.aborted) return;
      failures.push(error);
      stop.abort(error);
    },
    throwIfStopped: (): void => {
      if (failures.length > 0) throw failures[0];
      given.throwIfAborted();
    },
    close: (): void => given.removeEventListener('abort', pass),
  };
}

async function readTask(task: Task, shared: Shared): Promise<void> {
  const { credits, limits, queue, onPutBack, options, stopping } = shared;
  const rank = task.window.beginMs;
  await credits.take(1, rank);
  let held = 1;
  const checks: Promise<void>[] = [];
  const page: PageSource['page'] = (asked, pageNum, isBeyondLast = false) =>
    pageOf(asked, { pageNum, isBeyondLast }, shared);
  const source: PageSource = {
    page,
    work: options.work,
    isEmptyBelieved: createDoubtOfEmpty(page, options.storedNear),
    holdPages: async (pages) => {
      if (held > 1) return;
      const most = Math.min(pages, limits.pagesInProgressMax - limits.windowsInProgressMax);
      held += most;
      await credits.take(most, rank);
    },
    onFirstPage: (page, asked) => {
      options.work.noteTotal(asked, page);
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

async function pageOf(
  asked: Asked,
  place: Pick<LedgerPageQuery, 'pageNum' | 'isBeyondLast'>,
  shared: Shared,
): Promise<LedgerPage> {
  const { reader, merchant, work } = shared.options;
  const { signal } = shared.stopping;
  signal.throwIfAborted();
  work.countCall();
  return reader.page({ ...pageQuery(merchant, asked, place.pageNum), ...place }, signal);
}

async function take(
  task: Task,
  read: NotedReading,
  { onReading, onWindowDone }: ReadWindowsOptions,
): Promise<void> {
  const complete = task.second === null ? { asked: task, read } : task.second.add(read);
  if (complete !== null) await onReading({ window: complete.asked.window }, complete.read);
  task.retryBudget.partsLeft -= 1;
  if (task.retryBudget.partsLeft === 0) task.planned.forEach(onWindowDone);
}

interface Root extends RetryBudget {
  partsLeft: number;
}

/** A window, or a part of one, to be read now. */
interface Task extends WideWindow {
  readonly splitPolicy: SplitPolicy;
  readonly retryBudget: Root;
  readonly second: ReturnType<typeof beginSecond> | null;
}

interface Waiting {
  readonly beginMs: number;
  readonly task: () => Task;
}

class WindowQueue {
  readonly #coarse: SplitPolicy;
  #splitPolicy: SplitPolicy;
  readonly #streak = { failed: 0 };
  /** The oldest last. */
  readonly #waiting: Waiting[];

  constructor(asked: readonly WideWindow[], pageNumMax: number) {
    this.#coarse = { pageNumMax, unitMs: 1_000 };
    this.#splitPolicy = this.#coarse;
    this.#waiting = asked
      .map((one) => this.#waitingWide(one))
      .sort((a, b) => a.beginMs - b.beginMs)
      .reverse();
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  next(): Task {
    return this.#waiting.pop()!.task();
  }

  /** Puts the parts of a split task back. `orderUnsteady`: windows that begin later are read in parts of one page. */
  putBack(task: Task, { parts, splitPolicy }: Split, orderUnsteady: boolean): void {
    if (orderUnsteady) this.#readFinely();
    const { retryBudget, planned } = task;
    const second = task.second ?? (splitPolicy.unitMs === 1 ? beginSecond(task) : null);
    second?.expect(parts.length - 1);
    retryBudget.partsLeft += parts.length - 1;
    const partOf = (window: Window): Waiting => ({
      beginMs: window.beginMs,
      task: () => ({ window, planned, splitPolicy, retryBudget, second }),
    });
    this.#insert(parts.map(partOf));
  }

  putApart({ readBefore }: Task, groups: readonly (readonly Window[])[], orderUnsteady: boolean): void {
    if (orderUnsteady) this.#readFinely();
    this.#insert(groups.map((planned) => this.#waitingWide({ ...wideOf(planned), readBefore })));
  }

  #readFinely(): void {
    this.#splitPolicy = { ...this.#coarse, pageNumMax: 1 };
  }

  /** All in one place: they cover their window, so that no other can begin between two of them. */
  #insert(parts: readonly Waiting[]): void {
    const at = this.#waiting.findLastIndex(({ beginMs }) => beginMs > parts[0]!.beginMs) + 1;
    this.#waiting.splice(at, 0, ...parts.toReversed());
  }

  /** A window as it was asked for. The grain is the one of the moment at which it is begun. */
  #waitingWide(asked: WideWindow): Waiting {
    const task = (): Task => {
      const retryBudget: Root = { failedCalls: 0, certifiedPages: 0, streak: this.#streak, partsLeft: 1 };
      return { ...asked, splitPolicy: this.#splitPolicy, retryBudget, second: null };
    };
    return { beginMs: asked.window.beginMs, task };
  }
}

/**
 * Puts the parts of a second together again. The platform filters by ms, but timestamps have full seconds: no one
 * could say later which entries of the second a part is about. So only full seconds are stored.
 */
function beginSecond(asked: Asked) {
  const parts: NotedReading[] = [];
  let expected = 1;
  return {
    expect: (more: number): void => {
      expected += more;
    },
    add: (part: NotedReading): { readonly asked: Asked; readonly read: NotedReading } | null => {
      parts.push(part);
      return parts.length === expected ? { asked, read: joinParts(asked, parts) } : null;
    },
  };
}

function joinParts(asked: Asked, parts: readonly NotedReading[]): NotedReading {
  const readings = parts.map(({ reading }) => reading);
  const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0);
  const entries = new Map(
    readings.flatMap((reading) => reading.entries).map((entry) => [entry.batchNo, entry]),
  );
  const unreadable = readings.flatMap((reading) => reading.unreadable);
  const total = sum(readings.map((reading) => reading.total));
  const moved =
    entries.size < sum(readings.map((reading) => reading.entries.length))
      ? `${spanText(asked)} could not be certified: an entry came in two of its parts`
      : null;
  const problem = readings.find((reading) => reading.problem !== null)?.problem ?? moved;
  const requests = sum(readings.map((reading) => reading.requests));
  return {
    reading: {
      entries: [...entries.values()],
      unreadable,
      total,
      requests,
      certified: problem === null,
      problem,
    },
    notices: parts.flatMap(({ notices }) => notices),
    outOfScope: parts.flatMap(({ outOfScope }) => outOfScope),
  };
}
