/**
 * The queue of calls to the platform: limits concurrency and rate, shared fairly between the merchants.
 * A merchant that is slow, on hold, or never answered takes only its own share from the others.
 *
 * Own code, because the maintained queue libraries know priorities, but no shares. The rules and their reasons:
 * - Of the merchants below their share, the longest waiting one is next: all are served.
 * - A merchant may go beyond its share if no other wants the slot: no slot stays idle.
 * - Merchants whose last call was not answered, and those never answered yet, hold half of the slots at most, all
 *   together: a call that hangs gives its slot back only after a time-out. The first call of each is exempt.
 * - The last free slot is kept for a merchant that has none and called within the last 10 s: it may be back at once.
 *
 * ### Example
 *
 * There are 4 slots. `M1` has 50 calls to make, is alone, and holds all 4. Now `M2` adds 50 calls, so that the share
 * is 2 for each. The next two released slots go to `M2`; from then on, both alternate.
 */
import {
  createAlarm,
  type TimeSource,
  createHoldListener,
  createLocalRateLimiter,
  createSharedRateLimiter,
  type RateLimiter,
  type RateLimiterEvents,
  type Hold,
  type SharedLimit,
  createHoldSender,
} from './rate-limiter.ts';
import { type Owner, type Waiting, FairScheduler } from './fair-scheduler.ts';

export interface Caller {
  /** Slots, waits and turns are counted by owner. */
  readonly owner: string;
  /** Of one owner's calls, the lowest goes first; equals by arrival. */
  readonly rank: number;
  /** Called while queued, if its owner is on hold or its owner's last call was not answered. */
  readonly onHeld?: () => void;
}

/** Releases the slot. `answered`: whether any reply arrived; null if the call was given up before. */
export type Leave = (answered: boolean | null) => void;

export interface RequestQueue {
  /** Resolves when the call may be sent. Rejects with the reason of `signal`. */
  readonly enter: (caller: Caller, signal?: AbortSignal) => Promise<Leave>;
  /** No call of this owner begins for this time: the platform asked to wait (Retry-After). */
  readonly hold: (owner: string, forMs: number) => void;
  /** Resolves once all holds are sent to the other processes. */
  readonly close: () => Promise<void>;
}

/**
 * A queue for `concurrency` calls at once in this process, and `ratePerS` calls a second; null: any number. With
 * `shared`, several processes share the rate and the holds; waiting calls are rejected with its error if it fails.
 */
export function createRequestQueue(
  concurrency: number,
  ratePerS: number | null,
  time: TimeSource,
  shared?: SharedLimit,
): RequestQueue {
  const { clock } = time;
  const scheduler = new FairScheduler(concurrency);

  /** Starts all calls that may start now, and sets the alarm for the next one. */
  const serve = (): void => {
    while (scheduler.hasFreeSlot) {
      const nowMs = clock();
      const { owner, atMs } = scheduler.next(nowMs);
      if (owner === null) {
        alarm.setTo(atMs);
        return;
      }
      limiter.expect(scheduler.canGo(nowMs), nowMs);
      const dueMs = limiter.dueMs(nowMs);
      if (dueMs > nowMs) {
        alarm.setTo(dueMs);
        return;
      }
      limiter.use(nowMs);
      scheduler.start(owner);
    }
    alarm.setTo(Number.POSITIVE_INFINITY);
  };
  const alarm = createAlarm(time, serve);
  const hold = ({ owner, forMs }: Hold): void => {
    const { heldUntilMs, waiting } = scheduler.hold(owner, clock() + forMs);
    if (heldUntilMs > clock()) for (const { held } of waiting) held();
  };
  const events: RateLimiterEvents = {
    onHold: hold,
    onMore: serve,
    onFailure: (error) => scheduler.removeAll().forEach(({ fail }) => fail(error)),
  };
  const createLimiter = (): RateLimiter => {
    if (shared === undefined) return createLocalRateLimiter(ratePerS);
    if (ratePerS === null) return createHoldListener(shared, events);
    return createSharedRateLimiter(shared, { ratePerS, concurrency }, time, events);
  };
  const limiter = createLimiter();

  const holdSender = shared && createHoldSender(shared);
  return {
    enter: createEnter(scheduler, clock, serve),
    hold: (owner, forMs) => {
      hold({ owner, forMs });
      holdSender?.send({ owner, forMs });
    },
    close: async () => holdSender?.flush(),
  };
}

/** `serve` is called whenever another call may start. */
function createEnter(
  scheduler: FairScheduler,
  clock: () => number,
  serve: () => void,
): RequestQueue['enter'] {
  const leaveOf =
    (owner: Owner): Leave =>
    (answered) => {
      scheduler.release(owner, answered, clock());
      serve();
    };
  return ({ owner: name, rank, onHeld = () => undefined }, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const giveUp = (): void => {
        scheduler.remove(owner, waiting);
        reject(signal!.reason as Error);
        serve();
      };
      const unlisten = (): void => signal?.removeEventListener('abort', giveUp);
      const waiting: Waiting = {
        rank,
        go: () => {
          unlisten();
          resolve(leaveOf(owner));
        },
        fail: (error) => {
          unlisten();
          reject(error);
        },
        held: onHeld,
      };
      const owner = scheduler.add(name, waiting, clock());
      signal?.addEventListener('abort', giveUp, { once: true });
      if (owner.heldUntilMs > clock() || !(owner.isAnswered || owner.isNew)) onHeld();
      serve();
    });
}
