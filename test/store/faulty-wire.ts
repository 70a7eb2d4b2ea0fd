/** A proxy in front of PostgreSQL. It counts round trips, delays them, or silently drops bytes. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface FaultyWire {
  readonly url: string;
  /** The delay in each direction. */
  delayMs: number;
  /**
   * From then on a connection silently drops all bytes in both directions, and does not pass on when one side closes.
   * This applies at once, or to connections that send this text to the server. With `after` the server still gets
   * that message.
   */
  swallow: { readonly message?: string; readonly when?: 'before' | 'after'; readonly times?: number } | null;
  /** How many connections daybook has not closed. */
  readonly openClients: () => number;
  /** How many connections were accepted so far. */
  readonly connections: () => number;
  /** Statements answered since the last call, including those of logging in: one for each round trip. */
  readonly takeStatements: () => string[];
  readonly close: () => Promise<void>;
}

export async function faultyWire(databaseUrl: string): Promise<FaultyWire> {
  const { hostname, port } = new URL(databaseUrl);
  const open = new Set<Socket>();
  const clients = new Set<Socket>();
  const statements: string[] = [];
  let swallowed = 0;
  const later = (work: () => void): void => {
    if (wire.delayMs === 0) work();
    else setTimeout(work, wire.delayMs);
  };
  let connections = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    let isSilent = false;
    connections += 1;
    clients.add(client);
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('end', () => {
        clients.delete(socket);
        if (!isSilent) later(() => other.end());
      });
      socket.on('close', () => {
        open.delete(socket);
        clients.delete(socket);
        if (!isSilent) other.destroy();
      });
    }
    client.on('data', (chunk) => {
      const { swallow } = wire;
      const isHit =
        swallow !== null &&
        (swallow.message === undefined || chunk.includes(swallow.message)) &&
        swallowed < (swallow.times ?? Infinity);
      if (isHit && !isSilent) {
        swallowed += 1;
        isSilent = true;
        if (swallow.when === 'after') upstream.write(chunk);
      }
      statements.push(...statementsIn(chunk));
      if (isSilent) return;
      later(() => upstream.write(chunk));
    });
    upstream.on('data', (chunk) => {
      if (!isSilent) later(() => client.write(chunk));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(databaseUrl);
  url.port = String(address.port);
  const wire: FaultyWire = {
    url: url.href,
    delayMs: 0,
    swallow: null,
    openClients: () => clients.size,
    connections: () => connections,
    takeStatements: () => statements.splice(0),
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return wire;
}

/**
 * The SQL that a client sends in one chunk: simple queries (Q) and statements to parse (P). Each chunk is one round
 * trip.
 */
function statementsIn(chunk: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at + 5 <= chunk.length;) {
    const type = String.fromCharCode(chunk[at]!);
    const length = chunk.readInt32BE(at + 1);
    const body = chunk.subarray(at + 5, at + 1 + length).toString();
    if (type === 'Q') found.push(body.split('\0')[0]!);
    if (type === 'P') found.push(body.split('\0')[1]!);
    if (!/[A-Za-z]/.test(type) || length < 4) break;
    at += 1 + length;
  }
  return found;
}
