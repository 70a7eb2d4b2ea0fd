/**
 * Stops a real process in the middle of a write transaction, and starts another run.
 *
 * @module-tag long
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { acquireLease } from '../../src/store/engine/lease.ts';
import { latestRuns } from '../../src/store/runs.ts';
import { freshDatabase } from '../support/database.ts';

const STOPS = fileURLToPath(new URL('stop-in-transaction.ts', import.meta.url));
/** Long enough that the first refusal is seen while the transaction is still open. */
const IDLE_MS = 10_000;

const isStopped = async (pid: number): Promise<boolean> =>
  / T /.test((await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\)/, ''));

test('the other run is told who holds the lock, and takes over once the server has ended the transaction', async () => {
  const { db, url, close } = await freshDatabase();
  onTestFinished(close);
  const child = spawn(process.execPath, [STOPS, url, String(IDLE_MS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = text(child.stdout);
  const ended = once(child, 'exit');
  await expect.poll(() => isStopped(child.pid!), { timeout: 50_000 }).toBe(true);
  const take = () => acquireLease(db, { name: 'night', holder: 'next:1:-', ttlMs: 60_000, lockMs: 50 });
  await expect(take()).rejects.toThrow(
    new RegExp(`still open in the database .*:${child.pid}:.* held the lease last`),
  );
  await expect.poll(() => take().catch(String), { timeout: 30_000 }).toMatchObject({ epoch: 2 });

  child.kill('SIGCONT');
  await ended;
  expect(await said).toBe('LeaseLost');
  expect(await latestRuns(db, { limit: 1 })).toEqual([]);
}, 120_000);
