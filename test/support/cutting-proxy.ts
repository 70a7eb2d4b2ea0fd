/** Stands between daybook and a server and cuts the wire at messages that a test names; the rest passes untouched. */
import { startProxy } from './proxy.ts';

export interface Cut {
  /** What the message to the server contains; a pattern is held against the whole of it. */
  readonly message: string | RegExp;
  /** `before`: the server never gets the message. `after`: the server acts on it, and its answer is lost. */
  readonly when: 'before' | 'after';
  /** At every such message, not only at the next. */
  readonly always?: true;
}

export interface CuttingProxy {
  readonly url: string;
  /** Cuts still to come, each used once unless it is for always. */
  readonly cuts: Cut[];
  readonly close: () => Promise<void>;
}

/** Starts on a free port of the loopback; `targetUrl` is the server's, and `url` the same with the other port. */
export async function startCuttingProxy(targetUrl: string): Promise<CuttingProxy> {
  const cuts: Cut[] = [];
  const proxy = await startProxy(targetUrl);
  proxy.judge = ({ direction, bytes }) => {
    const hit = direction === 'up' ? cuts.findIndex(({ message }) => isIn(bytes, message)) : -1;
    if (hit < 0) return 'pass';
    const { when, always } = cuts[hit]!;
    if (always !== true) cuts.splice(hit, 1);
    return when === 'before' ? 'cut' : 'lose-answer';
  };
  return { url: proxy.url, cuts, close: proxy.close };
}

const isIn = (bytes: Buffer, message: string | RegExp): boolean =>
  typeof message === 'string' ? bytes.includes(message) : message.test(bytes.toString('latin1'));
