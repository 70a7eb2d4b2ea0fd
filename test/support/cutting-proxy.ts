/**
 * A proxy in front of a server. It cuts the connection at messages that a test names, and passes the rest unchanged.
 */
import { startProxy } from './proxy.ts';
import { createStatementReader } from './sent-statements.ts';

export interface Cut {
  /** Text that the message to the server contains, or a pattern for the entire message. */
  readonly message: string | RegExp;
  /** `before`: the server never gets the message. `after`: the server executes it, and its answer is lost. */
  readonly when: 'before' | 'after';
  /** Cuts at every such message, not only at the next one. */
  readonly always?: true;
}

export interface CuttingProxy {
  readonly url: string;
  /** Cuts that are still to come. Each is used once, unless it is `always`. */
  readonly cuts: Cut[];
  readonly close: () => Promise<void>;
}

/** Listens on a free port of loopback. `targetUrl` is the server's URL; `url` is the same with that port. */
export async function startCuttingProxy(targetUrl: string): Promise<CuttingProxy> {
  const cuts: Cut[] = [];
  const proxy = await startProxy(targetUrl);
  const statementsIn = createStatementReader();
  proxy.judge = ({ direction, bytes }) => {
    if (direction === 'down') return 'pass';
    // A statement that the server knows by a name already is not in the bytes.
    const message = [bytes.toString('latin1'), ...statementsIn(bytes)].join('\n');
    const hit = cuts.findIndex((cut) => isIn(message, cut.message));
    if (hit < 0) return 'pass';
    const { when, always } = cuts[hit]!;
    if (always !== true) cuts.splice(hit, 1);
    return when === 'before' ? 'cut' : 'lose-answer';
  };
  return { url: proxy.url, cuts, close: proxy.close };
}

const isIn = (sent: string, message: string | RegExp): boolean =>
  typeof message === 'string' ? sent.includes(message) : message.test(sent);
