/** The server that takes in what the platform pushes: one route for each kind of result. */
import type { FastifyInstance } from 'fastify';
import { NOTIFY_SECRET, type NotificationKind } from '../../store/notify-path.ts';
import { addHealth, type Readiness } from '../../web/readiness.ts';
import { bareServer, limitedServer, type LimitedServerDeps } from '../../web/server.ts';
import { storedBody } from './body.ts';
import type { Inbox } from './inbox.ts';

export interface InboxServerDeps extends LimitedServerDeps {
  readonly inbox: Inbox;
  /** Null if another address answers it. */
  readonly readiness: (() => Promise<Readiness>) | null;
}

export function createInboxServer(deps: InboxServerDeps): FastifyInstance {
  const { inbox, readiness } = deps;
  const server = limitedServer(bareServer(deps), deps);
  if (readiness !== null) addHealth(server, readiness);
  addNotify(server, inbox);
  return server;
}

const KINDS: readonly NotificationKind[] = ['onboarding', 'beneficiary'];

/**
 * Known and unknown paths, and valid and invalid posts, are treated alike: 200 once the post is committed, 429 if too
 * many came, 503 if it cannot be committed. The platform may never repeat a post that is refused, and the document names no
 * content type (docs/platform.md 6.1). So a post is stored whatever its content type, and with or without a slash at
 * the end of its path.
 */
function addNotify(server: FastifyInstance, inbox: Inbox): void {
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
        await inbox.keep({ kind, secret, body: storedBody(request.body), source: request.sender });
        return reply.code(200).send({ received: true });
      },
    );
  }
}

/** Every post is read as this type. Fastify would refuse an unknown type before our code sees the post. */
const ANY_TYPE = 'application/octet-stream';
