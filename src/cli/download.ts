/** Files for a person: whole or not at all, and for nobody else's eyes. */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeFolder } from '../host/make-folder.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';

const FILE_ERRORS = new Set([
  'EACCES',
  'EEXIST',
  'EISDIR',
  'ENAMETOOLONG',
  'ENOSPC',
  'ENOENT',
  'ENOTDIR',
  'EPERM',
  'EROFS',
]);

const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && FILE_ERRORS.has(String(error.code));

/**
 * Written beside its name and moved there once it is proven, so that a file that is there is whole. Under a name nobody
 * can know before, and never through a link that somebody put there.
 */
export async function download(
  bytes: AsyncIterable<Uint8Array>,
  folder: string,
  name: string,
): Promise<string> {
  const path = join(folder, name);
  const part = join(folder, `.${name}.${randomUUID()}.part`);
  try {
    await makeFolder({ mkdir, stat, dirname }, folder);
    await pipeline(Readable.from(bytes), createWriteStream(part, { flags: 'wx', mode: 0o600 }));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw isFileError(error)
      ? new UsageError(`${path} cannot be written (${error.code}); choose another --out.`)
      : error;
  }
  return path;
}
