import type { FastifyReply } from 'fastify';

/** Aborted when the client has left, or has everything. */
export function leavingOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => controller.abort());
  return controller.signal;
}
