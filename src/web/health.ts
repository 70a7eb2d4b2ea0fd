/** `/healthz` and `/readyz`, for a supervisor: is the process alive, and can it take a notification now. */
import type { FastifyInstance } from 'fastify';

export interface Readiness {
  readonly ready: boolean;
  /** For each thing needed, what is wrong with it, or null. It holds no secrets, as anyone may ask. */
  readonly checks: Readonly<Record<string, string | null>>;
}

export function addHealth(server: FastifyInstance, readiness: () => Promise<Readiness>): void {
  server.get('/healthz', (_request, reply) => reply.send({ alive: true }));
  server.get('/readyz', async (_request, reply) => {
    const found = await readiness();
    return reply.code(found.ready ? 200 : 503).send(found);
  });
}
