/**
 * Lets only one process at a time use a folder. The lock is the operating system's own. It is taken through SQLite,
 * as Node has no other way to it. It ends together with its process, however that ends, so no lock is ever left
 * behind.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { EmbeddedDatabaseBusy } from './errors.ts';
import { thisHolder } from '../../host/process-identity.ts';

const SQLITE_BUSY = 5;

export interface FolderLock {
  readonly release: () => void;
}

/**
 * Locks `folder`, for this process and this part of it. The lock is on the file `<folder>.lock` next to it;
 * `<folder>.holder` says who has it. Throws `EmbeddedDatabaseBusy` while somebody else has it.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const file = new DatabaseSync(`${folder}.lock`, { timeout: 0 });
  try {
    file.exec('BEGIN IMMEDIATE');
  } catch (error) {
    file.close();
    if (!isBusy(error)) throw error;
    const holder = await readFile(`${folder}.holder`, 'utf8').catch(() => 'another process');
    throw new EmbeddedDatabaseBusy(
      `the embedded database in ${folder} is in use by ${holder.trim()}. It takes one process at a time: wait for ` +
        'that one to end, or set DATABASE_URL to a PostgreSQL server to work side by side.',
    );
  }
  await writeFile(`${folder}.holder`, `${thisHolder()}\n`);
  return { release: () => file.close() };
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
