/** A running web server with a test database, and posts to it. */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { bodyPlace, createInbox, type InboxDeps } from '../../../../src/plugins/submissions/notifications.ts';
import type { DB } from '../../../../src/store/engine/schema.ts';
import { decryptSecret, type SecretKey } from '../../../../src/store/secrets/secrets.ts';
import { createReadiness } from '../../../../src/web/readiness.ts';
import { createInboxServer, type InboxServerDeps } from '../../../../src/plugins/submissions/serve.ts';
import type { WebEvent } from '../../../../src/web/server.ts';

export const KEYS: readonly SecretKey[] = [{ id: 'k1', key: randomBytes(32) }];
export const NOW = new Date('2026-03-10T02:00:00Z');

export interface Served {
  readonly url: string;
  readonly events: readonly WebEvent[];
  readonly stopping: AbortController;
  readonly post: (path: string, body: string | Uint8Array<ArrayBuffer>, type?: string) => Promise<Answer>;
  readonly get: (path: string) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The server as `serve` runs it, but without processing. */
export async function serveOver(
  db: Kysely<DB>,
  deps: Partial<InboxDeps> = {},
  web: Partial<InboxServerDeps> = {},
): Promise<Served> {
  const events: WebEvent[] = [];
  const stopping = new AbortController();
  const secretKeys = deps.secretKeys ?? KEYS;
  const server = createInboxServer({
    inbox: createInbox({ db, secretKeys, now: () => NOW, ...deps }),
    // A new question each time, so that no test has to wait until an answer is no longer reused.
    readiness: () => createReadiness({ db, secretKeys, signal: stopping.signal })(),
    onRefusal: (event) => void events.push(event),
    ...web,
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, init);
    return { status: response.status, text: await response.text() };
  };
  return {
    url,
    events,
    stopping,
    post: (path, body, type = 'application/json') =>
      ask(path, { method: 'POST', body, headers: { 'content-type': type } }),
    get: (path) => ask(path, {}),
    close: () => server.close(),
  };
}

/** Every post in the inbox, decrypted, in order of arrival. */
export async function keptBodies(db: Kysely<DB>): Promise<string[]> {
  const rows = await db.selectFrom('notification').selectAll().orderBy('number').execute();
  return rows.map((row) => decryptSecret(KEYS, bodyPlace(row.id), row.body_ciphertext!));
}
