/** The HTTP server: what it serves, its limits, and how every refusal looks, so that none tells a stranger anything. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { Inbox } from '../notifications/inbox.ts';
import { addHealth, type Readiness } from './health.ts';
import { addNotify } from './notify.ts';

export const BODY_BYTES_MAX = 64 * 1_024;
/** From the first byte of a request to its last. */
export const REQUEST_MS_MAX = 10_000;
export const CONNECTIONS_MAX = 2_000;

/** The address cannot be listened on. */
export class ListenRefused extends ExpectedError {
  override readonly name = 'ListenRefused';
  readonly exitCode = EXIT.usage;
}

/** What may be said of a request: never its path, which holds a secret, nor anything it carried. */
export interface WebEvent {
  readonly route: string;
  readonly status: number;
  /** The error's name or code. */
  readonly reason: string;
}

export interface WebDeps {
  readonly inbox: Inbox;
  readonly readiness: () => Promise<Readiness>;
  /** Told of every refusal and failure. */
  readonly onRefusal: (event: WebEvent) => void;
}

export function createWebServer({ inbox, readiness, onRefusal }: WebDeps): FastifyInstance {
  const server = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MS_MAX,
    connectionTimeout: REQUEST_MS_MAX * 2,
    forceCloseConnections: 'idle',
    // A path that cannot be read, or is longer than any here.
    frameworkErrors: (_error, _request, reply: FastifyReply) => void reply.code(404).send(REFUSALS[404]),
  });
  server.server.maxConnections = CONNECTIONS_MAX;

  server.setErrorHandler((error: { statusCode?: number; code?: string; name: string }, request, reply) => {
    const status = error.statusCode ?? 503;
    onRefusal({ route: request.routeOptions.url ?? '-', status, reason: error.code ?? error.name });
    return reply.code(status).send(REFUSALS[status] ?? REFUSALS[status < 500 ? 400 : 503]);
  });
  server.setNotFoundHandler((_request, reply) => reply.code(404).send(REFUSALS[404]));

  addHealth(server, readiness);
  addNotify(server, inbox);
  return server;
}

/** All that a refusal says. Fastify's own would repeat the path. */
const REFUSALS: Readonly<Record<number, { readonly error: string }>> = {
  400: { error: 'bad request' },
  404: { error: 'not found' },
  413: { error: `more than ${BODY_BYTES_MAX / 1_024} kB` },
  415: { error: 'application/json only' },
  503: { error: 'try again later' },
};

/** Throws `ListenRefused`. */
export async function listenOn(
  server: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new ListenRefused(
      `${host}:${port} cannot be listened on: ${why}. Set DAYBOOK_LISTEN to an address of this machine that is free.`,
      { cause: error },
    );
  }
}
