/** The HTTP server: routes, limits, and refusals, which are all identical so that they reveal nothing. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { plainAddress, withinOneOf } from '../host/addresses.ts';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { addHealth, addMetrics, type MetricsPage, type Readiness } from './readiness.ts';
import { senderOf } from './sender.ts';
import type { ListenAddress } from '../settings/values/addresses.ts';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The sender's address, behind trusted proxies too (`sender.ts`). Count by this one: `ip` is the connection's alone. */
    readonly sender: string;
  }
}

export const BODY_BYTES_MAX = 64 * 1_024;

interface Times {
  /** From a request's first byte, or from the opening of the connection, to the last byte of its headers. */
  readonly headersMs: number;
  /** From a request's first byte to its last. */
  readonly requestMs: number;
  /** How often slow senders are searched for. */
  readonly checkIntervalMs: number;
}
const TIMES: Times = { headersMs: 5_000, requestMs: 10_000, checkIntervalMs: 1_000 };

/** Time limit for a connection without any traffic. */
const CONNECTION_IDLE_MS_MAX = 20_000;
const CONNECTIONS_MAX = 2_000;
const CONNECTIONS_PER_ADDRESS_MAX = 200;

export class ListenRefused extends ExpectedError {
  override readonly name = 'ListenRefused';
  readonly exitCode = EXIT.usage;
}

/** What may be logged of a request. Never its path, which holds a secret, nor anything it carried. */
export interface WebEvent {
  readonly route: string;
  readonly status: number;
  readonly reason: string;
}

export interface LimitedServerDeps {
  readonly onRefusal: (event: WebEvent) => void;
  /** Addresses and networks of proxies whose forwarding headers are believed. Default: the loopback addresses. */
  readonly trustedProxies?: readonly string[];
  readonly connections?: Partial<ConnectionLimits>;
  readonly times?: Times;
}

/** The same server, with limits on its connections. */
export function limitedServer(
  server: FastifyInstance,
  { onRefusal, trustedProxies = LOOPBACK, connections }: LimitedServerDeps,
): FastifyInstance {
  limitConnections(
    server.server,
    {
      connectionsMax: CONNECTIONS_MAX,
      perAddressMax: CONNECTIONS_PER_ADDRESS_MAX,
      isTrusted: withinOneOf(trustedProxies),
      ...connections,
    },
    (why) => onRefusal({ route: '-', status: 0, reason: why }),
  );
  return server;
}

export interface HealthServerDeps extends Pick<LimitedServerDeps, 'onRefusal'> {
  readonly readiness: () => Promise<Readiness>;
  /** If left out, there is no `/metrics`. */
  readonly metrics?: MetricsPage | undefined;
}

/** The server for health checks and metrics only, if they have an address of their own. */
export function createHealthServer({ readiness, metrics, onRefusal }: HealthServerDeps): FastifyInstance {
  const server = bareServer({ onRefusal, trustedProxies: [] });
  addHealth(server, readiness);
  if (metrics !== undefined) addMetrics(server, metrics);
  return server;
}

const LOOPBACK: readonly string[] = ['127.0.0.0/8', '::1'];

interface BareServerDeps extends Pick<LimitedServerDeps, 'onRefusal' | 'trustedProxies' | 'times'> {
  /** Most characters of a part of the path that differs from one request to the next. Default: fastify's, 100. */
  readonly maxParamLength?: number;
  /** The address that is answered in place of the one that was asked for. */
  readonly rewriteUrl?: (request: { readonly url?: string | undefined }) => string;
}

/** A server without routes that answers every unknown request with the same refusal. */
export function bareServer({
  onRefusal,
  trustedProxies = LOOPBACK,
  times: { headersMs, requestMs, checkIntervalMs } = TIMES,
  maxParamLength,
  rewriteUrl,
}: BareServerDeps): FastifyInstance {
  const server = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    // Node's defaults: a check every 30 s, and one minute for the headers.
    http: {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkIntervalMs,
    },
    requestTimeout: requestMs,
    ...(maxParamLength !== undefined && { routerOptions: { maxParamLength } }),
    ...(rewriteUrl !== undefined && { rewriteUrl }),
    connectionTimeout: CONNECTION_IDLE_MS_MAX,
    forceCloseConnections: 'idle',
    // The path cannot be read, or is longer than any here.
    frameworkErrors: (_error, _request, reply: FastifyReply) => void reply.code(404).send(REFUSALS[404]),
  });
  const isTrusted = withinOneOf(trustedProxies);
  server.decorateRequest('sender', {
    getter(this: FastifyRequest) {
      return senderOf(this.raw, isTrusted);
    },
  });
  server.setErrorHandler((error: { statusCode?: number; code?: string; name: string }, request, reply) => {
    const status = error.statusCode ?? 503;
    onRefusal({ route: request.routeOptions.url ?? '-', status, reason: error.code ?? error.name });
    return reply.code(status).send(REFUSALS[status] ?? REFUSALS[status < 500 ? 400 : 503]);
  });
  server.setNotFoundHandler((_request, reply) => reply.code(404).send(REFUSALS[404]));
  // With two Host headers, the one that the proxy used is unknown.
  server.addHook('onRequest', async (request, reply) => {
    const { rawHeaders } = request.raw;
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
    if (hosts.length <= 1) return;
    onRefusal({ route: request.routeOptions.url ?? '-', status: 400, reason: 'two Host headers' });
    await reply.code(400).send(REFUSALS[400]);
  });
  return server;
}

/** The complete answer to a refused request. Fastify's own answer would repeat the path. */
const REFUSALS: Readonly<Record<number, { readonly error: string }>> = {
  400: { error: 'bad request' },
  404: { error: 'not found' },
  413: { error: `more than ${BODY_BYTES_MAX / 1_024} kB` },
  429: { error: 'try again later' },
  503: { error: 'try again later' },
};

/** Throws `ListenRefused`. */
export async function listenOn(
  server: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
  setting = 'DAYBOOK_LISTEN',
): Promise<string> {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new ListenRefused(
      `cannot listen on ${host}:${port}: ${why}. Set ${setting} to a free address of this machine, or stop the process that uses it.`,
      { cause: error },
    );
  }
}

interface ConnectionLimits {
  readonly connectionsMax: number;
  /** Most connections from one address. Trusted proxies bring many senders and are not limited. */
  readonly perAddressMax: number;
  readonly isTrusted: (address: string) => boolean;
}

type Shed = 'too-many-connections' | 'too-many-of-one-address';

/** Limits a server that is not listening yet. `onShed` is called for each connection that is closed. */
function limitConnections(
  server: Server,
  { connectionsMax, perAddressMax, isTrusted }: ConnectionLimits,
  onShed: (why: Shed) => void,
): void {
  // Idle connections, by when they opened or had their last complete request; the first has been idle longest.
  const dawdling = new Set<Socket>();
  const perAddress = new Map<string, number>();
  let open = 0;

  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '') ?? '';
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

export interface HealthListener {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * Answers `/healthz`, `/readyz` and `/metrics` of a process that serves nothing else: `schedule` and `worker`. Resolves once
 * it listens. Throws `ListenRefused`.
 */
export async function listenForHealth(
  address: ListenAddress,
  deps: HealthServerDeps,
): Promise<HealthListener> {
  const server = createHealthServer(deps);
  const close = async (): Promise<void> => {
    server.server.closeAllConnections();
    await server.close();
  };
  try {
    return { url: await listenOn(server, address, 'DAYBOOK_HEALTH_LISTEN'), close };
  } catch (error) {
    await close();
    throw error;
  }
}
