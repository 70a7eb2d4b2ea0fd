/** The windows of a merchant that are still to be read, oldest first, and how finely the next ones are read. */
import type { Window } from '../ledger/entry.ts';
import type { RetryBudget } from './certify.ts';
import type { SplitPolicy, Split } from './split-policy.ts';
import { beginSecond, type SplitSecond } from './split-second.ts';
import { wideOf, type WideWindow } from './wide-windows.ts';

/** A window that was asked for, and how many of its parts are still to be taken. */
interface Root extends RetryBudget {
  partsLeft: number;
}

/** A window, or a part of one, to be read now. */
export interface Task extends WideWindow {
  readonly splitPolicy: SplitPolicy;
  readonly retryBudget: Root;
  /** The second that this is a part of, if a second had to be split. */
  readonly second: SplitSecond | null;
}

interface Waiting {
  readonly beginMs: number;
  readonly task: () => Task;
}

export class WindowQueue {
  readonly #coarse: SplitPolicy;
  #splitPolicy: SplitPolicy;
  readonly #streak = { failed: 0 };
  /** The oldest last. */
  readonly #waiting: Waiting[];

  constructor(asked: readonly WideWindow[], pageNumMax: number) {
    this.#coarse = { pageNumMax, unitMs: 1_000 };
    this.#splitPolicy = this.#coarse;
    this.#waiting = asked
      .map((one) => this.#waitingWhole(one))
      .sort((a, b) => a.beginMs - b.beginMs)
      .reverse();
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Takes the oldest window out; `isEmpty` must be false. */
  next(): Task {
    return this.#waiting.pop()!.task();
  }

  /** Puts the parts of a split task back. `orderUnsteady`: windows that begin later are read in parts of one page. */
  putBack(task: Task, { parts, splitPolicy }: Split, orderUnsteady: boolean): void {
    if (orderUnsteady) this.#readFinely();
    const { currency, retryBudget, planned } = task;
    const second = task.second ?? (splitPolicy.unitMs === 1 ? beginSecond(task) : null);
    second?.expect(parts.length - 1);
    retryBudget.partsLeft += parts.length - 1;
    const partOf = (window: Window): Waiting => ({
      beginMs: window.beginMs,
      task: () => ({ window, currency, planned, splitPolicy, retryBudget, second }),
    });
    this.#insert(parts.map(partOf));
  }

  /** Puts groups of a wide window's planned windows into the queue, each as if it had been asked for by itself. */
  putApart({ currency }: Task, groups: readonly (readonly Window[])[], orderUnsteady: boolean): void {
    if (orderUnsteady) this.#readFinely();
    this.#insert(groups.map((planned) => this.#waitingWhole(wideOf(planned, currency))));
  }

  #readFinely(): void {
    this.#splitPolicy = { ...this.#coarse, pageNumMax: 1 };
  }

  /** All in one place: they cover their window, so that only a window of another currency can begin between two of them. */
  #insert(parts: readonly Waiting[]): void {
    const at = this.#waiting.findLastIndex(({ beginMs }) => beginMs > parts[0]!.beginMs) + 1;
    this.#waiting.splice(at, 0, ...parts.toReversed());
  }

  /** A window as it was asked for. The grain is the one of the moment at which it is begun. */
  #waitingWhole(asked: WideWindow): Waiting {
    const task = (): Task => {
      const retryBudget: Root = { failedCalls: 0, certifiedPages: 0, streak: this.#streak, partsLeft: 1 };
      return { ...asked, splitPolicy: this.#splitPolicy, retryBudget, second: null };
    };
    return { beginMs: asked.window.beginMs, task };
  }
}
