/**
 * The line in front of the platform: so many calls at once and so many a second, shared fairly between the merchants.
 * A merchant that is slow, told to wait, or never answered takes only its own share from the others.
 *
 * This is our own code because the well-kept queue libraries know priorities, but no shares. The rules and their
 * reasons:
 * - Of the merchants that hold less than their share, the one that waited longest for a turn is next: all get turns.
 * - A merchant may go beyond its share if no other wants the slot: no slot stays idle.
 * - Merchants whose last call was not answered, and those never answered yet, hold half of the slots at most, all
 *   together: a call that hangs gives its slot back only after a time-out. Each one's very first call is let through.
 * - The last free slot is kept for a merchant that has none and called within the last 10 s: it may be back at once.
 *
 * ### Example
 *
 * There are 4 slots. `M1` has 50 calls to make, is alone, and holds all 4. Now `M2` comes with 50 calls, so that the
 * share is 2 for each. The next two slots that come back go to `M2`; from then on, both take turns.
 */
import { createAlarm, type TimeSource } from './alarm.ts';
import type { Owner, Waiting } from './bench.ts';
import { holdsOnlyPace, ownPace, sharedPace, type Pace, type PaceEvents } from './pace.ts';
import type { Hold, SharedLimit } from './shared-limit.ts';
import { createHoldTeller } from './tell-holds.ts';
import { Turns } from './turns.ts';

export type { TimeSource } from './alarm.ts';

export interface Caller {
  /** Whose call it is. Slots, waits and turns are counted by owner. */
  readonly owner: string;
  /** Of the calls of one owner, the lowest goes first; of equals, the one that came first. */
  readonly rank: number;
  /** While it is in line: its owner is told to wait, or its owner's last call was not answered. */
  readonly onHeld?: () => void;
}

/** Gives the slot back. `answered`: whether a reply came, whatever it said; null if the call was given up before. */
export type Leave = (answered: boolean | null) => void;

export interface Line {
  /** Resolves when the call may be sent. Rejects with the reason of `signal`. */
  readonly enter: (caller: Caller, signal?: AbortSignal) => Promise<Leave>;
  /** No call of this owner begins for so long, from now on: it was told to wait (Retry-After). */
  readonly hold: (owner: string, forMs: number) => void;
  /** Resolves once the other processes were told of all holds. */
  readonly close: () => Promise<void>;
}

/**
 * A line for `concurrency` calls at once in this process, and `ratePerS` calls a second; null: any number. With
 * `shared`, the rate and the holds are those of several processes together; calls that wait are rejected with its error
 * if it gives no answer.
 */
export function createLine(
  concurrency: number,
  ratePerS: number | null,
  time: TimeSource,
  shared?: SharedLimit,
): Line {
  const { clock } = time;
  const turns = new Turns(concurrency);

  /** Lets through whoever may call now, and sets the alarm for the next instant at which somebody may. */
  const serve = (): void => {
    while (turns.hasFreeSlot) {
      const nowMs = clock();
      const { owner, atMs } = turns.next(nowMs);
      if (owner === null) {
        alarm.setTo(atMs);
        return;
      }
      pace.expect(turns.canGo(nowMs), nowMs);
      const dueMs = pace.dueMs(nowMs);
      if (dueMs > nowMs) {
        alarm.setTo(dueMs);
        return;
      }
      pace.use(nowMs);
      turns.letThrough(owner);
    }
    alarm.setTo(Number.POSITIVE_INFINITY);
  };
  const alarm = createAlarm(time, serve);
  const hold = ({ owner, forMs }: Hold): void => {
    const { heldUntilMs, waiting } = turns.hold(owner, clock() + forMs);
    if (heldUntilMs > clock()) for (const { held } of waiting) held();
  };
  const events: PaceEvents = {
    onHold: hold,
    onMore: serve,
    onFailure: (error) => turns.removeAll().forEach(({ fail }) => fail(error)),
  };
  const paceOf = (): Pace => {
    if (shared === undefined) return ownPace(ratePerS);
    if (ratePerS === null) return holdsOnlyPace(shared, events);
    return sharedPace(shared, { ratePerS, concurrency }, time, events);
  };
  const pace = paceOf();

  const teller = shared && createHoldTeller(shared);
  return {
    enter: enterInto(turns, clock, serve),
    hold: (owner, forMs) => {
      hold({ owner, forMs });
      teller?.tell({ owner, forMs });
    },
    close: async () => teller?.told(),
  };
}

/** Lets callers into the line. `serve` is called whenever somebody may be next. */
function enterInto(turns: Turns, clock: () => number, serve: () => void): Line['enter'] {
  const leaveOf =
    (owner: Owner): Leave =>
    (answered) => {
      turns.takeBack(owner, answered, clock());
      serve();
    };
  return ({ owner: name, rank, onHeld = () => undefined }, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const giveUp = (): void => {
        turns.remove(owner, waiting);
        reject(signal!.reason as Error);
        serve();
      };
      const stay = (): void => signal?.removeEventListener('abort', giveUp);
      const waiting: Waiting = {
        rank,
        go: () => {
          stay();
          resolve(leaveOf(owner));
        },
        fail: (error) => {
          stay();
          reject(error);
        },
        held: onHeld,
      };
      const owner = turns.add(name, waiting, clock());
      signal?.addEventListener('abort', giveUp, { once: true });
      if (owner.heldUntilMs > clock() || !(owner.isAnswered || owner.isNew)) onHeld();
      serve();
    });
}
