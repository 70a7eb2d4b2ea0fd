/**
 * Where the platform pushes results: sp3101 and sp3401 (docs/platform.md 6). Kept, then 200; looked at later,
 * elsewhere.
 */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import type { Inbox } from '../notifications/inbox.ts';
import { NOTIFY_SECRET, type NotificationKind } from '../store/notifications/notify-path.ts';

const KINDS: readonly NotificationKind[] = ['onboarding', 'beneficiary'];

/**
 * A known path, an unknown one, sense and nonsense go the same way and get the same answer: 200 once the post is
 * committed, 503 where it cannot be. The document names no content type (docs/platform.md 6.1), and what is
 * turned away may never be sent again: a post is kept whatever type it claims, or none, and with or without a
 * slash behind its path.
 */
export function addNotify(server: FastifyInstance, inbox: Inbox): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(ANY_TYPE, { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  const paths = KINDS.flatMap((kind) =>
    ['', '/'].map((end) => ({ kind, path: `/notify/${kind}/:secret${end}` })),
  );
  for (const { kind, path } of paths) {
    server.post<{ Params: { secret: string } }>(
      path,
      {
        onRequest: (request, _reply, done) => {
          request.raw.headers['content-type'] = ANY_TYPE;
          done();
        },
      },
      async (request, reply) => {
        const { secret } = request.params;
        if (!NOTIFY_SECRET.test(secret)) {
          reply.callNotFound();
          return reply;
        }
        await inbox.keep({ kind, secret, body: textOf(request.body), source: request.ip });
        return reply.code(200).send({ received: true });
      },
    );
  }
}

/** What every post is taken for: a type that cannot be read would be refused before anybody saw the post. */
const ANY_TYPE = 'application/octet-stream';

/** The body without loss. What is no UTF-8 is no JSON either, and is spelt so that it stays neither. */
function textOf(body: unknown): string {
  if (!Buffer.isBuffer(body)) return '';
  return isUtf8(body) ? body.toString('utf8') : `base64:${body.toString('base64')}`;
}
