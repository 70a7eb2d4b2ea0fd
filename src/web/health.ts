/** `/healthz`, `/readyz` and `/metrics`, for a supervisor: is the process alive, can it do its work now, how does it go. */
import type { FastifyInstance } from 'fastify';

export interface Readiness {
  readonly ready: boolean;
  /** For each thing needed, what is wrong with it, or null. It holds no secrets, as anyone may ask. */
  readonly checks: Readonly<Record<string, string | null>>;
}

/** The text and content type of `/metrics`: counts and times, no personal data. */
export interface MetricsPage {
  readonly contentType: string;
  readonly text: () => Promise<string>;
}

export function addMetrics(server: FastifyInstance, { contentType, text }: MetricsPage): void {
  server.get('/metrics', async (_request, reply) => reply.type(contentType).send(await text()));
}

export function addHealth(server: FastifyInstance, readiness: () => Promise<Readiness>): void {
  server.get('/healthz', (_request, reply) => reply.send({ alive: true }));
  server.get('/readyz', async (_request, reply) => {
    const found = await readiness();
    return reply.code(found.ready ? 200 : 503).send(found);
  });
}
