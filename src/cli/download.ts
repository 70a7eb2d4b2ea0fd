/** Writes downloads. */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeFolder } from '../host/files.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';

const FILE_ERRORS = new Set([
  ...['EACCES', 'EEXIST', 'EISDIR', 'ENAMETOOLONG', 'ENOSPC', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS'],
]);

const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && FILE_ERRORS.has(String(error.code));

/** Writes a file that its owner alone can read: to a temporary file in the same folder and renames it once all bytes are proven. Its name cannot be guessed, and links are not followed. */
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
