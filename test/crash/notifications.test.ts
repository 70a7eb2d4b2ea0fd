/**
 * kill -9 while notifications come in: every one that was answered with 200 is in the inbox, complete.
 *
 * @module-tag long
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { newNotifySecret } from '../../src/store/notify-path.ts';
import { keptBodies, KEYS } from '../plugins/submissions/notifications/support.ts';
import { freshDatabase, hasEmbedded } from '../support/database.ts';

const RECEIVER = fileURLToPath(new URL('receiver.ts', import.meta.url));
const SENDERS = 8;
/** Of the one path that is posted to. */
const SECRET = newNotifySecret();

interface Receiver {
  readonly url: string;
  readonly kill: () => Promise<void>;
}

async function startReceiver(place: string): Promise<Receiver> {
  const key = KEYS[0]!.key.toString('base64');
  const receiver = spawn(process.execPath, [RECEIVER, place, key, SECRET], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(createInterface(receiver.stdout), 'line')) as [string];
  return {
    url,
    kill: async () => {
      const gone = once(receiver, 'exit');
      receiver.kill('SIGKILL');
      await gone;
    },
  };
}

/** Posts without pause, and kills the receiver at the moment when that many posts are answered. */
async function acknowledgedBeforeKill(receiver: Receiver, answers: number): Promise<string[]> {
  const acknowledged: string[] = [];
  let sent = 0;
  let killed: Promise<void> | undefined;
  const send = async (): Promise<void> => {
    while (killed === undefined) {
      const body = `{"post":${sent++},"padding":"${'p'.repeat(sent % 4_096)}"}`;
      const response = await fetch(`${receiver.url}/notify/onboarding/${SECRET}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      }).catch(() => null);
      if (response?.status === 200) acknowledged.push(body);
      if (acknowledged.length >= answers) killed ??= receiver.kill();
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
  await killed;
  return acknowledged;
}

describe('kill -9 right after the commit', () => {
  it('loses no acknowledged notification on a PostgreSQL server', async () => {
    const database = await freshDatabase();
    const acknowledged: string[] = [];
    for (const answers of [1, 5, 60]) {
      acknowledged.push(...(await acknowledgedBeforeKill(await startReceiver(database.url), answers)));
      expect(await keptBodies(database.db)).toEqual(expect.arrayContaining(acknowledged));
    }
    await database.close();
  });

  it.runIf(hasEmbedded)('loses none with the embedded database', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'daybook-killed-'));
    const acknowledged: string[] = [];
    for (const answers of [1, 60]) {
      acknowledged.push(...(await acknowledgedBeforeKill(await startReceiver(folder), answers)));
      const { db, close } = await openDatabase({ databaseUrl: null, dataDir: folder });
      expect(await keptBodies(db)).toEqual(expect.arrayContaining(acknowledged));
      await close();
    }
    await rm(folder, { recursive: true });
  });
});
