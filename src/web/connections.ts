/**
 * Limits connections to the server. If too many are open, the one that has been idle longest is closed. So attackers
 * who open any number of them and send nothing cannot lock out a sender who posts at once.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  readonly connectionsMax: number;
  /** Most connections from one address. Trusted proxies bring many senders and are not limited. */
  readonly perAddressMax: number;
  readonly isTrusted: (address: string) => boolean;
}

export type Shed = 'too-many-connections' | 'too-many-of-one-address';

/** Limits a server that is not listening yet. `onShed` is called for each connection that is closed. */
export function limitConnections(
  server: Server,
  { connectionsMax, perAddressMax, isTrusted }: ConnectionLimits,
  onShed: (why: Shed) => void,
): void {
  // Idle connections, by when they opened or had their last complete request; the first has been idle longest.
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
    // If there is no idle one, all others are being answered and end by themselves. Then the new one has to try
    // again.
    onShed('too-many-connections');
    (first ?? socket).destroy();
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // While a request's body is still coming, the connection counts as idle. Once it is complete, it is being
    // answered.
    request.once('end', () => dawdling.delete(socket));
    response.once('close', () => {
      if (!socket.destroyed) dawdling.add(socket);
    });
  });
}
