/** The receiver of notifications as a process, with processing stopped: takes a database's URL, prints its address. */
import { randomBytes } from 'node:crypto';
import { createInbox } from '../src/notifications/inbox.ts';
import { openDatabase } from '../src/store/connection.ts';
import { createWebServer } from '../src/web/server.ts';

const { databaseUrl } = JSON.parse(process.argv[2] ?? '{}') as { databaseUrl: string };
const { db } = await openDatabase({ databaseUrl, dataDir: '' });
const server = createWebServer({
  inbox: createInbox({ db, secretKeys: [{ id: 'bench', key: randomBytes(32) }], now: () => new Date() }),
  readiness: () => Promise.resolve({ ready: true, checks: {} }),
  onRefusal: ({ status, reason }) => process.stderr.write(`refused with ${status}: ${reason}\n`),
});
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
