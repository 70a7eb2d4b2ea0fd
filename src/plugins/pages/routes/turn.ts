/** The turn of a request at work that costs much. */
import type { FastifyRequest } from 'fastify';
import type { Person } from '../access/access.ts';
import type { Turns } from '../turns.ts';
import { PageRefusal } from './context.ts';

/** When to try again; what one person asked for is done in about that time. */
const RETRY_AFTER_S = 15;

/** Waits until it is this person's turn. Throws `PageRefusal` where too many requests of the person wait, or this one waited too long. */
export type TakeTurn = (turns: Turns) => Promise<void>;

/** The turn of a request, from when it is taken until nothing is done for it any more. `why` names what there is too much of. */
export function turnOf(
  { raw: { socket }, server }: FastifyRequest,
  { name }: Person,
  left: AbortSignal,
  why: 'turns' | 'forms',
) {
  let end = (): void => undefined;
  const take: TakeTurn = async (turns) => {
    // Nothing goes to and fro while it waits.
    socket.setTimeout(0);
    const begun = await turns.enter(name, left).finally(() => socket.setTimeout(server.server.timeout));
    if (begun === null) throw new PageRefusal(429, why, RETRY_AFTER_S);
    end = begun;
  };
  return { take, leave: () => end() };
}
