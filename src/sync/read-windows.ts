/**
 * Reads many windows of one merchant at once: first pages of the next ones while others are paged, and never more in
 * memory than the limits say. Older windows go before younger ones, so that a platform that dies half-way leaves the
 * oldest certified: here in what is begun and in who gets memory, in the transport in which call is sent.
 */
import type { Window } from '../ledger/entry.ts';
import type { LedgerPage, LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Asked } from './certificate.ts';
import { certifyWindow, type NotedReading, type Outcome, type PageSource, type Patience } from './certify.ts';
import type { Grain } from './grain.ts';
import { READ_LIMITS, type ReadLimits } from './limits.ts';
import { createPageCredits } from './page-credits.ts';
import { beginSecond, type SplitSecond } from './split-second.ts';

export interface ReadWindowsOptions {
  readonly reader: LedgerReader;
  readonly merchant: MerchantAccess;
  readonly asked: readonly Asked[];
  readonly limits?: Partial<ReadLimits> | undefined;
  readonly signal: AbortSignal;
  /** Told of each first page at once; its window's reading is taken only after this resolves. A rejection stops all. */
  readonly onFirstPage: (page: LedgerPage, asked: Asked) => Promise<void>;
  /** Takes a part's reading; the part's pages count as in memory until it resolves. */
  readonly onReading: (asked: Asked, reading: NotedReading) => Promise<void>;
  /** Each of `asked`, once all its parts were taken. */
  readonly onWindowDone: () => void;
}

/** A window asked for, and how many of its parts are still to be read. */
interface Root extends Patience {
  partsLeft: number;
}

interface Task extends Asked {
  readonly grain: Grain;
  readonly patience: Root;
  /** The second this is a part of, where a second had to be split. */
  readonly second: SplitSecond | null;
}

interface Waiting {
  readonly beginMs: number;
  readonly task: () => Task;
}

/**
 * Resolves once every window was read and taken. Rejects with the first failure of the reader or a taker, or with the
 * signal's reason, after what was already read has been taken; nothing is begun any more from then on.
 */
export async function readWindows(options: ReadWindowsOptions): Promise<void> {
  const { reader, merchant, onReading, onWindowDone } = options;
  const limits: ReadLimits = { ...READ_LIMITS, ...options.limits };
  const credits = createPageCredits(limits.pagesInProgressMax);
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  signal.addEventListener('abort', credits.open, { once: true });
  const coarse: Grain = { pageNumMax: limits.pageNumMax, unitMs: 1_000 };
  /** Once order proved unsteady, windows begun later do not try to page. */
  let grain = coarse;

  /** What is not begun yet, the oldest last. */
  const waiting: Waiting[] = options.asked
    .map(({ window, currency }) => ({
      beginMs: window.beginMs,
      task: (): Task => {
        const patience: Root = { failedCalls: 0, certifiedPages: 0, partsLeft: 1 };
        return { window, currency, grain, patience, second: null };
      },
    }))
    .sort((a, b) => a.beginMs - b.beginMs)
    .reverse();

  /** What happens after the first failure, or after the abort, is its consequence. */
  const failures: unknown[] = [];
  const fail = (error: unknown): void => {
    if (signal.aborted) return;
    failures.push(error);
    stop.abort(error);
  };

  const readTask = async (task: Task): Promise<void> => {
    const rank = task.window.beginMs;
    await credits.take(1, rank);
    let held = 1;
    const looks: Promise<void>[] = [];
    const source: PageSource = {
      page: ({ window, currency }, pageNum) => {
        signal.throwIfAborted();
        return reader.page({ merchant, window, pageNum, ...(currency === null ? {} : { currency }) }, signal);
      },
      holdPages: async (pages) => {
        const most = Math.min(pages, limits.pagesInProgressMax - limits.windowsInProgressMax);
        held += most;
        await credits.take(most, rank);
      },
      onFirstPage: (page, asked) => {
        const look = options.onFirstPage(page, asked);
        look.catch(fail);
        looks.push(look);
      },
    };
    try {
      const outcome = await certifyWindow(task, source, limits);
      // Parts may be read while the look goes on; what is read of them is taken after their own.
      if (outcome.kind === 'split') putBack(task, outcome);
      await Promise.all(looks);
      if (outcome.kind === 'read') await take(task, outcome);
    } finally {
      credits.give(held);
    }
  };

  const putBack = (task: Task, { parts, grain: finer, orderUnsteady }: Outcome & { kind: 'split' }): void => {
    if (orderUnsteady) grain = { ...coarse, pageNumMax: 1 };
    const { currency, patience } = task;
    const second = task.second ?? (finer.unitMs === 1 ? beginSecond(task) : null);
    second?.expect(parts.length - 1);
    patience.partsLeft += parts.length - 1;
    const partOf = (window: Window): Waiting => ({
      beginMs: window.beginMs,
      task: () => ({ window, currency, grain: finer, patience, second }),
    });
    // Together, as they cover their window: only of another currency a window can begin between them.
    const at = waiting.findLastIndex(({ beginMs }) => beginMs > parts[0]!.beginMs) + 1;
    waiting.splice(at, 0, ...parts.map(partOf).reverse());
    beginWaiting();
  };

  const take = async (task: Task, read: NotedReading): Promise<void> => {
    const whole = task.second === null ? { asked: task, read } : task.second.add(read);
    if (whole !== null) await onReading({ window: whole.asked.window, currency: task.currency }, whole.read);
    task.patience.partsLeft -= 1;
    if (task.patience.partsLeft === 0) onWindowDone();
  };

  const running = new Set<Promise<void>>();
  const begin = (task: Task): void => {
    const job: Promise<void> = readTask(task)
      .catch(fail)
      .finally(() => running.delete(job));
    running.add(job);
  };
  const beginWaiting = (): void => {
    while (!signal.aborted && running.size < limits.windowsInProgressMax && waiting.length > 0)
      begin(waiting.pop()!.task());
  };
  for (;;) {
    beginWaiting();
    if (running.size === 0) break;
    await Promise.race(running);
  }
  if (failures.length > 0) throw failures[0];
  options.signal.throwIfAborted();
}
