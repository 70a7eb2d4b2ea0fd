/** Stands between daybook and PostgreSQL and cuts the wire where a test says, the rest passes untouched. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** `before`: the server never gets the message. `after`: the server acts on it, and its answer is lost. */
export interface Cut {
  readonly message: string;
  readonly when: 'before' | 'after';
}

export interface CuttingProxy {
  readonly url: string;
  /** Cuts still to come, each used once; a message is one that contains the text. */
  readonly cuts: Cut[];
  readonly close: () => Promise<void>;
}

export async function cuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(databaseUrl);
  const cuts: Cut[] = [];
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let deaf = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      const hit = cuts.findIndex(({ message }) => chunk.includes(message));
      const [cut] = hit < 0 ? [] : cuts.splice(hit, 1);
      if (cut?.when === 'before') return client.destroy();
      deaf ||= cut?.when === 'after';
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (deaf) client.destroy();
      else client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(databaseUrl);
  url.port = String(address.port);
  return {
    url: url.href,
    cuts,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
