/** A wire that can be cut: forwards to a server, and breaks the connections it is told to, going or coming. */
import { connect, createServer, type Socket } from 'node:net';

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
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let cutAnswer = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      const requestLine = /^(?:GET|PUT|POST|HEAD|DELETE) [^\r\n]*/.exec(chunk.toString('latin1'))?.[0];
      const cut = requestLine === undefined ? null : proxy.cut(requestLine);
      if (cut === 'request') client.destroy();
      else upstream.write(chunk);
      if (requestLine !== undefined) cutAnswer = cut === 'answer';
    });
    upstream.on('data', (chunk: Buffer) => {
      // "100 Continue" is not yet the answer.
      if (cutAnswer && !chunk.toString('latin1').startsWith('HTTP/1.1 100')) client.destroy();
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${port}`,
    cut: () => null,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return proxy;
}
