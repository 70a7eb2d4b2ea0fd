/** Writes files of a directory store so that a reader sees each complete or not at all, even after a power cut. */
import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../host/files.ts';
import {
  directoryUnreachable,
  errorCode,
  type Directory,
  type Files,
  type OpenFile,
} from './directory-files.ts';
import { fenced, metered, type Digest, type ObjectContent, type PutOptions } from './object-store.ts';

/** Statements are for their owner alone, whatever the umask. */
const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/** Makes a folder that only its owner may open, and its parents. Returns the first folder that is new; null: none. */
export const makePrivateFolder = (files: Files, folder: string): Promise<string | null> =>
  makeFolder({ mkdir: files.mkdir, stat: (path) => files.stat(path, { bigint: true }), dirname }, folder, {
    mode: FOLDER_MODE,
  });

interface WrittenFile {
  readonly digest: Digest;
  readonly isNamed: boolean;
}

/**
 * Writes a file under another name in its own folder, flushes it, and then names it. It does not get its name where
 * `isUnchanged`, asked right before, says no, or `ifAbsent` is set and the name is taken. The folder is flushed as well,
 * unless the next file does it: nothing refers to the file before that.
 */
export async function writeNamed(
  directory: Directory,
  path: string,
  content: ObjectContent,
  options: PutOptions,
  isUnchanged: () => Promise<boolean>,
): Promise<WrittenFile> {
  const { files, attempt } = directory;
  const { fence, isFollowed = false } = options;
  const folder = dirname(path);
  const part = join(folder, `.${basename(path)}.${fence?.epoch ?? 0}.${randomUUID()}.part`);
  const file = await attempt(() => openNew(files, part));
  let left: string | null = part;
  let digest: Digest;
  let isNamed: boolean;
  try {
    digest = await writeFlushed(directory, file, fenced(content, fence));
    const named = (await isUnchanged()) ? await nameFile(directory, part, path, options) : 'taken';
    if (named === 'moved') left = null;
    isNamed = named !== 'taken';
  } finally {
    if (left !== null) await files.unlink(left).catch(() => undefined);
  }
  if (!isFollowed) await attempt(() => flushFolder(files, folder));
  return { digest, isNamed };
}

async function openNew(files: Files, path: string): Promise<OpenFile> {
  try {
    return await files.open(path, 'wx', FILE_MODE);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await makeFlushedFolder(files, dirname(path));
    return files.open(path, 'wx', FILE_MODE);
  }
}

async function writeFlushed(
  { location }: Directory,
  file: OpenFile,
  content: ObjectContent,
): Promise<Digest> {
  const source = metered(content);
  try {
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

/** Gives a finished file its name, as a second one or instead of the first. `taken`: `ifAbsent` is set and it was not free. */
async function nameFile(
  { files, location }: Directory,
  part: string,
  path: string,
  { ifAbsent, fence }: PutOptions,
): Promise<'linked' | 'moved' | 'taken'> {
  try {
    if (ifAbsent === true) {
      const linked = await linkFile(files, part, path);
      if (linked !== 'no links') return linked;
      if (await isThere(files, path)) return 'taken';
    }
    await files.rename(part, path);
    return 'moved';
  } catch (error) {
    // Another holder who took over removes unfinished files: then the lost lease is the reason to report.
    if (errorCode(error) === 'ENOENT') await fence?.assertHeld();
    throw directoryUnreachable(location, error);
  }
}

/** A hard link never replaces another file. `no links`: the file system has none; a check and a rename are as good there, as the lease keeps others out. */
async function linkFile(files: Files, part: string, path: string): Promise<'linked' | 'taken' | 'no links'> {
  try {
    await files.link(part, path);
    return 'linked';
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return 'taken';
    if (['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(errorCode(error))) return 'no links';
    throw error;
  }
}

async function isThere(files: Files, path: string): Promise<boolean> {
  try {
    await files.stat(path, { bigint: true });
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

async function makeFlushedFolder(files: Files, folder: string): Promise<void> {
  const first = (await makeOneFolder(files, folder)) ?? (await makePrivateFolder(files, folder));
  if (first === null) return;
  for (let at = folder; at.length >= first.length; at = dirname(at)) await flushFolder(files, dirname(at));
}

/** Makes a folder whose parent is there, as that of a merchant's next day is. Null if that was not all. */
async function makeOneFolder(files: Files, folder: string): Promise<string | null> {
  try {
    await files.mkdir(folder, { mode: FOLDER_MODE });
    return folder;
  } catch (error) {
    if (['ENOENT', 'EEXIST'].includes(errorCode(error))) return null;
    throw error;
  }
}

async function flushFolder(files: Files, folder: string): Promise<void> {
  const handle = await files.open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
