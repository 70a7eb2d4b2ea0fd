/**
 * A proxy in front of PostgreSQL. It cuts the connection at messages that a test names, and passes the rest
 * unchanged.
 */
import { startProxy } from '../support/proxy.ts';

/** `before`: the server never gets the message. `after`: the server executes it, and its answer is lost. */
export interface Cut {
  readonly message: string;
  readonly when: 'before' | 'after';
}

export interface CuttingProxy {
  readonly url: string;
  /** Cuts that are still to come. Each is used once, at a message that contains its text. */
  readonly cuts: Cut[];
  readonly close: () => Promise<void>;
}

export async function cuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const cuts: Cut[] = [];
  const proxy = await startProxy(databaseUrl);
  proxy.judge = ({ direction, bytes }) => {
    const hit = direction === 'up' ? cuts.findIndex(({ message }) => bytes.includes(message)) : -1;
    if (hit < 0) return 'pass';
    return cuts.splice(hit, 1)[0]!.when === 'before' ? 'cut' : 'lose-answer';
  };
  return { url: proxy.url, cuts, close: proxy.close };
}
