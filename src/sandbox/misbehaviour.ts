/** Spoils complete replies: refuses, cuts the connection, or sends something else. */
import type { FastifyReply } from 'fastify';
import { REPLY_STRIKES, type ReplyStrike, type Striker } from './hostility.ts';

const RETRY_AFTER_S = 1;

/** Sends the answer chosen when the request was received. */
export type Answer = (reply: FastifyReply) => FastifyReply;

export const refuse = (reply: FastifyReply, status: number, code: string, message: string): FastifyReply =>
  reply.code(status).send({ code, message });

export function cut(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}

const SPOILED: Readonly<Record<Exclude<ReplyStrike, 'truncatedEvery'>, Answer>> = {
  http429Every: (reply) =>
    reply
      .header('retry-after', String(RETRY_AFTER_S))
      .code(429)
      .send({ code: 'E42900', message: 'slow down' }),
  http500Every: (reply) => refuse(reply, 500, 'E50000', 'out of order'),
  resetEvery: cut,
  // The connection stays open and silent until the client gives up.
  stallEvery: (reply) => reply.hijack(),
  htmlEvery: (reply) =>
    reply.type('text/html').send('<!doctype html><title>Maintenance</title><p>Back soon.'),
  errorDocumentEvery: (reply) => reply.send({ code: 'E99999', message: 'system busy' }),
};

/** What is answered in place of the operation; null if the operation may answer. */
export function spoiled(striker: Striker): Answer | null {
  for (const way of REPLY_STRIKES) {
    if (way !== 'truncatedEvery' && striker.strikes(way)) return SPOILED[way];
  }
  return null;
}
