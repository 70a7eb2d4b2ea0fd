/** Whose password is checked next: known browsers first, then one network after the other, so that no crowd keeps others waiting. */
import { createTurns as createLines, MACHINE_TIME, type Timing } from '../turns.ts';

const LIMITS = {
  /** Checks side by side: each takes 32 MB and a tenth of a second of a core. */
  ...{ atOnce: 2, ofPersonAtOnce: 2 },
  /** Waiting checks of one network, so that its own wait stays short. */
  waitingOfPersonMax: 12,
  /** Of all unknown senders: ten seconds of work, as a connection that waits for twenty is cut. */
  waitingMax: 200,
  /** A busy machine is slower: after this time a check is given up, so that it is answered before its connection is cut. */
  waitMsMax: 12_000,
};

/** Too many passwords wait to be checked, or one waited too long. */
export class TooManyChecks extends Error {
  override readonly name = 'TooManyChecks';
}

/** Does the work when it is its turn. Throws `TooManyChecks`, and what the work throws. */
export type Turns = <Result>(
  from: { readonly network: string; readonly isKnown: boolean },
  work: () => Promise<Result>,
) => Promise<Result>;

export function createTurns(later: Timing['later'] = MACHINE_TIME.later): Turns {
  const lines = createLines(LIMITS, { ...MACHINE_TIME, later });
  return async ({ network, isKnown }, work) => {
    const leave = await lines.enter(network, undefined, isKnown);
    if (leave === null) throw new TooManyChecks();
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
