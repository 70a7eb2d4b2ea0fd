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
  /** From so many waiting requests on only those that go before are taken; if left out, any number. */
  readonly waitingMax?: number;
  readonly waitMsMax: number;
}

export interface Turns {
  /**
   * Resolves when it is the person's turn, with what ends the turn; null where too many of theirs wait, or this one
   * waited too long. Rejects with the reason of `signal`, which gives up the place in the queue. `goesBefore`: before all
   * who ask without it.
   */
  readonly enter: (
    person: string,
    signal?: AbortSignal,
    goesBefore?: boolean,
  ) => Promise<(() => void) | null>;
}

type Begin = (leave: (() => void) | null) => void;
type Line = Map<string, Set<Begin>>;

export function createTurns(limits: TurnLimits, { later }: Timing): Turns {
  const { atOnce, ofPersonAtOnce, waitingOfPersonMax, waitingMax = Infinity, waitMsMax } = limits;
  /** Who is next comes first, in the line of those who go before and in that of all others. */
  const [before, others] = [new Map<string, Set<Begin>>(), new Map<string, Set<Begin>>()];
  let waitingOfAll = 0;
  const running = createRunning();

  const leaveOnce = (person: string) => {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      running.count(person, -1);
      beginNext();
    };
  };
  const remove = (waiting: Line, person: string, begin: Begin): void => {
    const own = waiting.get(person);
    if (own?.delete(begin) === true) waitingOfAll -= 1;
    if (own?.size === 0) waiting.delete(person);
  };
  const beginNext = (): void => {
    beginIn(before);
    beginIn(others);
  };
  const beginIn = (waiting: Line): void => {
    for (const [person, own] of waiting) {
      if (running.ofAll() >= atOnce) return;
      if (running.of(person) >= ofPersonAtOnce) continue;
      const [begin] = own;
      // Everybody else is before this person's next one.
      remove(waiting, person, begin!);
      waiting.delete(person);
      if (own.size > 0) waiting.set(person, own);
      running.count(person, 1);
      begin!(leaveOnce(person));
    }
  };

  return {
    enter: (person, signal, goesBefore = false) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const waiting = goesBefore ? before : others;
        const own = waiting.get(person) ?? new Set();
        if (own.size >= waitingOfPersonMax || (!goesBefore && waitingOfAll >= waitingMax)) {
          resolve(null);
          return;
        }
        const giveUp = (): void => {
          remove(waiting, person, begin);
          callOff();
          reject(signal!.reason as Error);
        };
        const begin: Begin = (leave) => {
          signal?.removeEventListener('abort', giveUp);
          callOff();
          resolve(leave);
        };
        const callOff = later(waitMsMax, () => {
          remove(waiting, person, begin);
          begin(null);
        });
        signal?.addEventListener('abort', giveUp, { once: true });
        waiting.set(person, own.add(begin));
        waitingOfAll += 1;
        beginNext();
      }),
  };
}

/** How many are at work, by person. */
function createRunning() {
  const running = new Map<string, number>();
  let ofAll = 0;
  const of = (person: string): number => running.get(person) ?? 0;
  return {
    of,
    ofAll: () => ofAll,
    count: (person: string, change: 1 | -1): void => {
      ofAll += change;
      const ofPerson = of(person) + change;
      if (ofPerson === 0) running.delete(person);
      else running.set(person, ofPerson);
    },
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
