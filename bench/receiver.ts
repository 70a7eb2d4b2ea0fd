/** The receiver of notifications as a process: takes a database's URL and a key, prints its address. */
import '../src/plugins.ts';
import { givenInput } from './input.ts';
import { createInbox } from '../src/plugins/submissions/notifications.ts';
import { openDatabase } from '../src/store/engine/connection.ts';
import { createInboxServer } from '../src/plugins/submissions/serve.ts';
import { serve } from '../src/plugins/submissions/serve.ts';

/** With `processing` the entire of `serve`; without, taking in alone. */
const { databaseUrl, key, processing } = givenInput() as {
  databaseUrl: string;
  key: string;
  processing: boolean;
};
const database = await openDatabase({ databaseUrl, dataDir: '' });
const secretKeys = [{ id: 'bench', key: Buffer.from(key, 'base64') }];
const app = { database, now: () => new Date() };
const anyPort = { host: '127.0.0.1', port: 0 };
const tell = ({ status, reason }: { status: number; reason: string }) => {
  if (status !== 200) process.stderr.write(`refused with ${status}: ${reason}\n`);
};
process.stdout.write(`${processing ? await serveAll() : await takeIn()}\n`);

async function serveAll(): Promise<string> {
  const { url } = await serve(app, { secretKeys, listen: anyPort }, new AbortController().signal, {
    onRefusal: tell,
    onProcessed: () => undefined,
    onFault: (error) => process.stderr.write(`${String(error)}\n`),
  });
  return url;
}

async function takeIn(): Promise<string> {
  const inbox = createInbox({ db: database.db, secretKeys, now: app.now });
  return createInboxServer({ inbox, readiness: null, onRefusal: tell }).listen(anyPort);
}
