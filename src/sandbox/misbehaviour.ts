/** Spoils whole replies where a strike falls on them. */
import type { FastifyReply } from 'fastify';
import { REPLY_STRIKES, type Striker } from './hostility.ts';

const RETRY_AFTER_S = 1;

export const refuse = (reply: FastifyReply, status: number, code: string, message: string): FastifyReply =>
  reply.code(status).send({ code, message });

export function cut(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}

/** True where it answered, or let the connection die, in the operation's place. */
export async function strike(striker: Striker, reply: FastifyReply): Promise<boolean> {
  for (const way of REPLY_STRIKES) {
    if (way === 'truncatedEvery' || !striker.strikes(way)) continue;
    switch (way) {
      case 'http429Every':
        await reply
          .header('retry-after', String(RETRY_AFTER_S))
          .code(429)
          .send({ code: 'E42900', message: 'slow down' });
        break;
      case 'http500Every':
        await refuse(reply, 500, 'E50000', 'out of order');
        break;
      case 'resetEvery':
        cut(reply);
        break;
      case 'stallEvery':
        // The connection stays open and silent until the client gives up.
        reply.hijack();
        break;
      case 'htmlEvery':
        await reply.type('text/html').send('<!doctype html><title>Maintenance</title><p>Back soon.');
        break;
      case 'errorDocumentEvery':
        await reply.send({ code: 'E99999', message: 'system busy' });
        break;
    }
    return true;
  }
  return false;
}
