/**
 * Turns at what costs the process much: few at once, people one after the other, however much each of them asks for. Whoever
 * asks again and again waits behind their own requests, and no one else does.
 */

/** A clock in ms that never goes back, and what happens later. `later` returns what calls it off. */
export interface Timing {
  readonly clock: () => number;
  readonly later: (ms: number, act: () => void) => () => void;
}

export const MACHINE_TIME: Timing = {
  clock: () => performance.now(),
  later: (ms, act) => {
    const timer = setTimeout(act, ms).unref();
    return () => clearTimeout(timer);
  },
};

interface TurnLimits {
  readonly atOnce: number;
  readonly ofPersonAtOnce: number;
  /** Most requests of one person that wait. */
  readonly waitingOfPersonMax: number;
  readonly waitMsMax: number;
}

export interface Turns {
  /**
   * Resolves when it is the person's turn, with what ends the turn; null where too many of theirs wait, or this one
   * waited too long. Rejects with the reason of `signal`, which gives up the place in the queue.
   */
  readonly enter: (person: string, signal: AbortSignal) => Promise<(() => void) | null>;
}

type Begin = (leave: (() => void) | null) => void;

export function createTurns(limits: TurnLimits, { later }: Timing): Turns {
  const { atOnce, ofPersonAtOnce, waitingOfPersonMax, waitMsMax } = limits;
  /** Who is next comes first. */
  const waiting = new Map<string, Set<Begin>>();
  const running = new Map<string, number>();
  let runningOfAll = 0;

  const count = (person: string, change: 1 | -1): void => {
    runningOfAll += change;
    const ofPerson = (running.get(person) ?? 0) + change;
    if (ofPerson === 0) running.delete(person);
    else running.set(person, ofPerson);
  };
  const leaveOnce = (person: string) => {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      count(person, -1);
      beginNext();
    };
  };
  const remove = (person: string, begin: Begin): void => {
    const own = waiting.get(person);
    own?.delete(begin);
    if (own?.size === 0) waiting.delete(person);
  };
  const beginNext = (): void => {
    for (const [person, own] of waiting) {
      if (runningOfAll >= atOnce) return;
      if ((running.get(person) ?? 0) >= ofPersonAtOnce) continue;
      const [begin] = own;
      // Everybody else is before this person's next one.
      waiting.delete(person);
      own.delete(begin!);
      if (own.size > 0) waiting.set(person, own);
      count(person, 1);
      begin!(leaveOnce(person));
    }
  };

  return {
    enter: (person, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const own = waiting.get(person) ?? new Set();
        if (own.size >= waitingOfPersonMax) {
          resolve(null);
          return;
        }
        const giveUp = (): void => {
          remove(person, begin);
          callOff();
          reject(signal.reason as Error);
        };
        const begin: Begin = (leave) => {
          signal.removeEventListener('abort', giveUp);
          callOff();
          resolve(leave);
        };
        const callOff = later(waitMsMax, () => {
          remove(person, begin);
          begin(null);
        });
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.set(person, own.add(begin));
        beginNext();
      }),
  };
}

/** Requests that a person may make at any time, and how many more with each second. */
const REQUESTS_MAX = 600;
const REQUESTS_PER_S = 10;
/** Most people, and addresses of people who are not logged in, that are remembered. */
const REMEMBERED_MAX = 10_000;

/** Counts a request of this person; returns for how many seconds the next one has to wait: 0 where this one may go on. */
export type Pace = (person: string) => number;

export function createPace({ clock }: Pick<Timing, 'clock'>): Pace {
  const known = new Map<string, { readonly left: number; readonly atMs: number }>();
  return (person) => {
    const atMs = clock();
    const before = known.get(person) ?? { left: REQUESTS_MAX, atMs };
    const left = Math.min(REQUESTS_MAX, before.left + ((atMs - before.atMs) / 1_000) * REQUESTS_PER_S);
    const isAllowed = left >= 1;
    known.delete(person);
    known.set(person, { left: isAllowed ? left - 1 : left, atMs });
    const [longestAgo] = known.keys();
    if (known.size > REMEMBERED_MAX) known.delete(longestAgo!);
    return isAllowed ? 0 : Math.ceil((1 - left) / REQUESTS_PER_S);
  };
}
