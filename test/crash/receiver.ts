/**
 * A process that stores notifications, to be killed by tests. Its arguments are the database's URL (or folder) and
 * the key.
 */
import '../../src/plugins.ts';
import { createInbox } from '../../src/plugins/submissions/inbox.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { createInboxServer } from '../../src/plugins/submissions/server.ts';

const [place = '', key = ''] = process.argv.slice(2);
const isUrl = place.startsWith('postgres');
const { db } = await openDatabase({ databaseUrl: isUrl ? place : null, dataDir: isUrl ? '' : place });
await migrate(db);
const server = createInboxServer({
  inbox: createInbox({
    db,
    secretKeys: [{ id: 'k1', key: Buffer.from(key, 'base64') }],
    now: () => new Date(),
  }),
  readiness: () => Promise.resolve({ ready: true, checks: {} }),
  onRefusal: () => undefined,
});
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
