/**
 * Room for newcomers: where too many connections are open, the one that has dawdled longest makes way, so that any
 * number of strangers who open them and say nothing cannot keep a sender out who says at once what it has.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  readonly connectionsMax: number;
  /** Of one address; proxies that are trusted bring many senders and are not counted. */
  readonly perAddressMax: number;
  readonly isTrusted: (address: string) => boolean;
}

export type Shed = 'too-many-connections' | 'too-many-of-one-address';

/** Watches a server that listens on nothing yet. `onShed` is told of each connection that was cut. */
export function limitConnections(
  server: Server,
  { connectionsMax, perAddressMax, isTrusted }: ConnectionLimits,
  onShed: (why: Shed) => void,
): void {
  // In the order of their last complete request, or of their coming: the first has dawdled longest.
  const dawdling = new Set<Socket>();
  const perAddress = new Map<string, number>();
  let open = 0;

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const ofAddress = (perAddress.get(address) ?? 0) + 1;
    if (ofAddress > perAddressMax && !isTrusted(address)) {
      onShed('too-many-of-one-address');
      socket.destroy();
      return;
    }
    perAddress.set(address, ofAddress);
    open += 1;
    dawdling.add(socket);
    socket.once('close', () => {
      open -= 1;
      dawdling.delete(socket);
      const left = perAddress.get(address)! - 1;
      if (left === 0) perAddress.delete(address);
      else perAddress.set(address, left);
    });
    if (open <= connectionsMax) return;
    const [first] = dawdling;
    // All others are being answered: they end by themselves, and this one comes again.
    onShed('too-many-connections');
    (first ?? socket).destroy();
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // A request that has come whole is being answered; one whose body is still coming dawdles.
    request.once('end', () => dawdling.delete(socket));
    response.once('close', () => {
      if (!socket.destroyed) dawdling.add(socket);
    });
  });
}
