/** A proxy in front of an HTTP server. It cuts the connection at requests or answers that a test names. */
import { startProxy } from '../support/proxy.ts';

export type Cut =
  /** Before the server gets the request. */
  | 'request'
  /** After the server has received the whole request, before its answer comes back. */
  | 'answer'
  | null;

export interface CuttingProxy {
  readonly url: string;
  /** Called with the first line of each request. */
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
