/** Where the platform pushes results: sp3101 and sp3401 (section 6). Kept, then 200; looked at later, elsewhere. */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import type { Inbox } from '../notifications/inbox.ts';
import { NOTIFY_SECRET, type NotificationKind } from '../store/notify-path.ts';

const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
const KINDS: readonly NotificationKind[] = ['onboarding', 'beneficiary'];

/**
 * A known path, an unknown one, sense and nonsense go the same way and get the same answer: 200 once the post is
 * committed, 503 where it cannot be.
 */
export function addNotify(server: FastifyInstance, inbox: Inbox): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(JSON_TYPE, { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  for (const kind of KINDS) {
    server.post<{ Params: { secret: string } }>(`/notify/${kind}/:secret`, async (request, reply) => {
      const { secret } = request.params;
      if (!NOTIFY_SECRET.test(secret)) {
        reply.callNotFound();
        return reply;
      }
      await inbox.keep({ kind, secret, body: textOf(request.body), source: request.ip });
      return reply.code(200).send({ received: true });
    });
  }
}

/** The body without loss. What is no UTF-8 is no JSON either, and is spelt so that it stays neither. */
function textOf(body: unknown): string {
  if (!Buffer.isBuffer(body)) return '';
  return isUtf8(body) ? body.toString('utf8') : `base64:${body.toString('base64')}`;
}
