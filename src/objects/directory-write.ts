/** Writes files of a directory store so that a reader sees each whole or not at all, even after a power cut. */
import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../host/make-folder.ts';
import { directoryUnreachable, errorCode } from './directory-errors.ts';
import type { Directory, Files } from './directory-files.ts';
import { fenced, metered, type Digest, type ObjectContent, type PutOptions } from './object-store.ts';

/** Statements are for their owner alone, whatever the umask. */
const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/** Makes a folder that only its owner may open, and its parents. Returns the first folder that is new; null: none. */
export const makePrivateFolder = (files: Files, folder: string): Promise<string | null> =>
  makeFolder({ mkdir: files.mkdir, stat: files.stat, dirname }, folder, { mode: FOLDER_MODE });

/**
 * Writes a file under another name in its own folder, flushes it, and then names it. Returns null if it did not get its
 * name: `isUnchanged`, asked right before, says no, or `ifAbsent` is set and the name is taken.
 */
export async function writeNamed(
  directory: Directory,
  path: string,
  content: ObjectContent,
  options: PutOptions,
  isUnchanged: () => Promise<boolean>,
): Promise<Digest | null> {
  const { files, attempt } = directory;
  const { fence } = options;
  const folder = dirname(path);
  await attempt(() => makeFlushedFolder(files, folder));
  const part = join(folder, `.${basename(path)}.${fence?.epoch ?? 0}.${randomUUID()}.part`);
  let written: Digest;
  try {
    written = await writeFlushed(directory, part, fenced(content, fence));
    const isNamed = (await isUnchanged()) && (await nameFile(directory, part, path, options));
    if (!isNamed) return null;
  } finally {
    await files.rm(part, { force: true }).catch(() => undefined);
  }
  await attempt(() => flushFolder(files, folder));
  return written;
}

async function writeFlushed(
  { files, location }: Directory,
  path: string,
  content: ObjectContent,
): Promise<Digest> {
  const source = metered(content);
  try {
    const file = await files.open(path, 'wx', FILE_MODE);
    try {
      for await (const chunk of source.stream) {
        let offset = 0;
        while (offset < chunk.byteLength) {
          offset += (await file.write(chunk, offset, chunk.byteLength - offset)).bytesWritten;
        }
      }
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw source.sourceError() === error ? error : directoryUnreachable(location, error);
  }
  return source.digest();
}

/** Gives a finished file its name; false if `ifAbsent` is set and the name is taken. */
async function nameFile(
  { files, location }: Directory,
  part: string,
  path: string,
  { ifAbsent, fence }: PutOptions,
): Promise<boolean> {
  try {
    if (ifAbsent === true) {
      const linked = await linkFile(files, part, path);
      if (linked !== 'no links') return linked === 'done';
    }
    await files.rename(part, path);
    return true;
  } catch (error) {
    // Another holder who took over removes unfinished files: then the lost lease is the reason to report.
    if (errorCode(error) === 'ENOENT') await fence?.assertHeld();
    throw directoryUnreachable(location, error);
  }
}

/**
 * Names a file by a hard link, which never replaces another file. `no links`: the file system has none. A rename is as
 * good there: the name was free a moment ago, and the lease keeps others out.
 */
async function linkFile(files: Files, part: string, path: string): Promise<'done' | 'taken' | 'no links'> {
  try {
    await files.link(part, path);
    return 'done';
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return 'taken';
    if (['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(errorCode(error))) return 'no links';
    throw error;
  }
}

/** Makes a folder and flushes every folder that a new one was made in. */
async function makeFlushedFolder(files: Files, folder: string): Promise<void> {
  const first = await makePrivateFolder(files, folder);
  if (first === null) return;
  for (let at = folder; at.length >= first.length; at = dirname(at)) await flushFolder(files, dirname(at));
}

async function flushFolder(files: Files, folder: string): Promise<void> {
  const handle = await files.open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
