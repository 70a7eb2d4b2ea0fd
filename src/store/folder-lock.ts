/** One process at a time on a folder, by a file beside it that names the process; a dead one's file is taken over. */
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { EmbeddedDatabaseBusy } from './errors.ts';
import { isGone, thisHolder } from './process-identity.ts';

/** Rounds of finding the file gone or stale before giving up: each means another process came or went meanwhile. */
const LOCK_ROUNDS_MAX = 5;

export interface FolderLock {
  readonly release: () => Promise<void>;
}

const hasCode = (error: unknown, code: string) =>
  error instanceof Error && 'code' in error && error.code === code;

const readOrNull = async (path: string): Promise<string | null> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
};

/**
 * Takes `folder` for this process. Throws `EmbeddedDatabaseBusy` while another one, or another part of this one,
 * has it.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const path = `${folder}.lock`;
  const token = `${thisHolder()}\n${randomUUID()}\n`;
  const mine = `${path}.${randomUUID()}`;
  await writeFile(mine, token);
  try {
    for (let round = 0; round < LOCK_ROUNDS_MAX; round++) {
      try {
        // A link appears whole or not at all: nobody ever reads half a lock.
        await link(mine, path);
        return { release: () => unlockFolder(path, token) };
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
      }
      const held = await readOrNull(path);
      if (held === null) continue;
      const holder = held.split('\n')[0] ?? '';
      if (!isGone(holder)) throw busy(folder, holder);
      await removeStale(path, held);
    }
    throw busy(folder, 'a process that keeps coming and going');
  } finally {
    await rm(mine, { force: true });
  }
}

/** Moves the file away and looks again: when another process took over in between, its file is put back. */
async function removeStale(path: string, stale: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  if ((await readOrNull(aside)) !== stale) {
    await link(aside, path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
  }
  await rm(aside, { force: true });
}

async function unlockFolder(path: string, token: string): Promise<void> {
  if ((await readOrNull(path)) === token) await rm(path, { force: true });
}

const busy = (folder: string, holder: string) =>
  new EmbeddedDatabaseBusy(
    `the embedded database in ${folder} is in use by ${holder}. It takes one process at a time: wait for that one to ` +
      'end, or set DATABASE_URL to a PostgreSQL server to work side by side.',
  );
