/** Whose password is checked next: known browsers first, then one network after the other, so that no crowd keeps others waiting. */

/** Checks side by side: each takes 32 MB and a tenth of a second of a core. */
const AT_ONCE = 2;
/** Waiting checks of one network, so that its own wait stays short. */
const OF_NETWORK_MAX = 12;
/** Waiting checks of all unknown senders: ten seconds of work, as a connection that waits for twenty is cut. */
const WAITING_MAX = 200;

/** Too many passwords wait to be checked. */
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

export function createTurns(): Turns {
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
    const { promise: turn, resolve } = Promise.withResolvers<undefined>();
    line.set(network, [...ofNetwork, () => resolve(undefined)]);
    waiting += 1;
    begin();
    await turn;
    try {
      return await work();
    } finally {
      running -= 1;
      begin();
    }
  };
}
