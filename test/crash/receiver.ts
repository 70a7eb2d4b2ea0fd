/**
 * A process that stores notifications, to be killed by tests. Its arguments are the database's URL (or folder) and
 * the key.
 */
import '../../src/plugins.ts';
import { thisHolder } from '../../src/host/process-identity.ts';
import { applicationByMerOrderNo, recordApplication } from '../../src/plugins/submissions/applications.ts';
import { createInbox } from '../../src/plugins/submissions/notifications.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { notifyHashOf } from '../../src/store/notify-path.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { createInboxServer } from '../../src/plugins/submissions/serve.ts';

const [place = '', key = '', secret = ''] = process.argv.slice(2);
const isUrl = place.startsWith('postgres');
const { db } = await openDatabase({ databaseUrl: isUrl ? place : null, dataDir: isUrl ? '' : place });
await migrate(db);
const secretKeys = [{ id: 'k1', key: Buffer.from(key, 'base64') }];
const now = new Date();
if ((await applicationByMerOrderNo(db, 'GIVEN')) === null)
  await recordApplication(db, {
    ...{
      merOrderNo: 'GIVEN',
      payload: {},
      notifyHash: notifyHashOf(secret),
      processVersion: null,
      replaces: null,
    },
    ...{ holder: thisHolder(), secretKeys, now },
  });
const server = createInboxServer({
  inbox: createInbox({
    db,
    secretKeys,
    now: () => new Date(),
  }),
  readiness: () => Promise.resolve({ ready: true, checks: {} }),
  onRefusal: () => undefined,
});
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
