/** Stands between daybook and an HTTP server and cuts the wire at requests that a test names, going or coming. */
import { startProxy } from '../support/proxy.ts';

export type Cut =
  /** Before the request reaches the server. */
  | 'request'
  /** After the server has taken it whole, before its answer comes back. */
  | 'answer'
  | null;

export interface CuttingProxy {
  readonly url: string;
  /** Asked with each request's first line. */
  cut: (requestLine: string) => Cut;
  readonly close: () => Promise<void>;
}

export async function startCuttingProxy(targetUrl: string): Promise<CuttingProxy> {
  const wire = await startProxy(targetUrl);
  const proxy: CuttingProxy = { url: wire.url, cut: () => null, close: wire.close };
  wire.judge = ({ direction, bytes }) => {
    if (direction === 'down') return 'pass';
    const line = /^(?:GET|PUT|POST|HEAD|DELETE) [^\r\n]*/.exec(bytes.toString('latin1'))?.[0];
    const cut = line === undefined ? null : proxy.cut(line);
    return cut === 'request' ? 'cut' : cut === 'answer' ? 'lose-answer' : 'pass';
  };
  return proxy;
}
