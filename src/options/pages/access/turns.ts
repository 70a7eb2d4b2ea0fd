/** Whose password is checked next: known browsers first, then one network after the other, so that no crowd keeps others waiting. */

/** Checks side by side: each takes 32 MB and a tenth of a second of a core. */
const AT_ONCE = 2;
/** Waiting checks of one network, so that its own wait stays short. */
const OF_NETWORK_MAX = 12;
/** Waiting checks of all unknown senders: ten seconds of work, as a connection that waits for twenty is cut. */
const WAITING_MAX = 200;

/** A busy machine is slower: after this time a check is given up, so that it is answered before its connection is cut. */
const WAIT_MS_MAX = 12_000;

/** Too many passwords wait to be checked, or one waited too long. */
export class TooManyChecks extends Error {
  override readonly name = 'TooManyChecks';
}

/** Does the work when it is its turn. Throws `TooManyChecks`, and what the work throws. */
export type Turns = <Result>(
  from: { readonly network: string; readonly isKnown: boolean },
  work: () => Promise<Result>,
) => Promise<Result>;

type Line = Map<string, (() => void)[]>;

/** The first of the next network, which goes to the end of the line with its others. */
function takeFrom(line: Line): (() => void) | undefined {
  const [next] = line;
  if (next === undefined) return undefined;
  const [network, [first, ...others]] = next;
  line.delete(network);
  if (others.length > 0) line.set(network, others);
  return first;
}

/** Takes it out of the line; false where its turn has come. */
function leave(line: Line, network: string, turn: () => void): boolean {
  const left = (line.get(network) ?? []).filter((one) => one !== turn);
  const isWaiting = left.length < (line.get(network)?.length ?? 0);
  if (left.length > 0) line.set(network, left);
  else line.delete(network);
  return isWaiting;
}

/** Does something later; returns what prevents it. */
type After = (ms: number, then: () => void) => () => void;

const systemAfter: After = (ms, then) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

export function createTurns(after: After = systemAfter): Turns {
  const [known, unknown]: [Line, Line] = [new Map(), new Map()];
  let running = 0;
  let waiting = 0;
  const begin = (): void => {
    while (running < AT_ONCE) {
      const next = takeFrom(known) ?? takeFrom(unknown);
      if (next === undefined) return;
      running += 1;
      waiting -= 1;
      next();
    }
  };
  return async ({ network, isKnown }, work) => {
    const line = isKnown ? known : unknown;
    const ofNetwork = line.get(network) ?? [];
    if (ofNetwork.length >= OF_NETWORK_MAX || (!isKnown && waiting >= WAITING_MAX)) throw new TooManyChecks();
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const turn = (): void => resolve(undefined);
    line.set(network, [...ofNetwork, turn]);
    waiting += 1;
    begin();
    const stay = after(WAIT_MS_MAX, () => {
      if (!leave(line, network, turn)) return;
      waiting -= 1;
      reject(new TooManyChecks());
    });
    await promise.finally(stay);
    try {
      return await work();
    } finally {
      running -= 1;
      begin();
    }
  };
}
