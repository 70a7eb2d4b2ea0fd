/**
 * Statements in a directory, for one machine and for tests: the twin of s3.ts. A reader sees each file complete or not at
 * all, even after a power cut.
 */
import { randomUUID } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chmodText, isTooOpen, modeText, makeFolder } from '../host/files.ts';
import {
  assertInside,
  isPart,
  partEpoch,
  walkKeys,
  type Directory,
  type Files,
  type OpenFile,
  directoryRefusal,
  directoryUnreachable,
  errorCode,
  filesIn,
} from './directory-files.ts';
import {
  digestOf,
  fenced,
  foundAs,
  metered,
  ObjectStoreRefused,
  verifyStored,
  type Digest,
  type ObjectContent,
  type ObjectStore,
  type PutOptions,
} from './object-store.ts';

const READ_CHUNK_BYTES = 256 * 1024;
const CHECK_FILE = '.daybook-check.part';

/**
 * Each object is a file. It is written under another name in its own folder, flushed, and only then named. A file
 * system renames without a condition: a writer that was frozen right before its rename is stopped because its
 * successor removes the file that has no name yet (`discardUnfinished`). `files` suits the file system the folder
 * is in; tests pass others.
 */
export function createDirectoryStore(root: string, files: Files = filesIn(root)): ObjectStore {
  const directory = directoryAt(root, files);
  const { location, attempt } = directory;
  const folder = resolve(root);
  const pathOf = async (key: string): Promise<string> => {
    const path = `${folder}/${key}`;
    await assertInside(directory, path);
    return path;
  };

  const store: ObjectStore = {
    location,

    check: () => checkDirectory(directory),

    put: async (key, content, options = {}) => {
      const { ifEtag, fence } = options;
      const isUnchanged = async () => ifEtag === undefined || (await store.head(key))?.etag === ifEtag;
      const { digest, isNamed } = await writeNamed(
        directory,
        await pathOf(key),
        content,
        options,
        isUnchanged,
      );
      return isNamed ? verifyStored(store, key, digest, fence) : foundAs(store, key, digest);
    },

    get: async (key) => {
      const file = await ifThere(directory, files.open(await pathOf(key), 'r'));
      return file && readFile(() => file.createReadStream({ highWaterMark: READ_CHUNK_BYTES }), location);
    },

    digest: async (key) => {
      const file = await ifThere(directory, files.open(await pathOf(key), 'r'));
      if (file === null) return null;
      try {
        const { bytes, etag } = await attempt(async () => marked(await file.stat({ bigint: true })));
        return { ...(await digestOf(readFile(() => readThroughOneBuffer(file, bytes), location))), etag };
      } finally {
        await file.close();
      }
    },

    head: async (key) => {
      const found = await ifThere(directory, files.stat(await pathOf(key), { bigint: true }));
      return found && marked(found);
    },

    survey: async function* (prefix, range = {}) {
      for await (const { key, isFinished } of walkKeys(directory, prefix, range)) {
        const found = isFinished ? await store.head(key) : null;
        if (found !== null) yield { key, ...found };
      }
    },

    discardUnfinished: async (prefix, { epoch }) => {
      for await (const { key } of walkKeys(directory, prefix, {})) {
        if (isPart(key) && partEpoch(key) < epoch)
          await attempt(async () => files.rm(await pathOf(key), { force: true }));
      }
    },
  };
  return store;
}

function directoryAt(root: string, files: Files): Directory {
  const location = pathToFileURL(root).href;
  return {
    root,
    location,
    files,
    attempt: async (work) => {
      try {
        return await work();
      } catch (error) {
        throw directoryUnreachable(location, error);
      }
    },
  };
}

async function checkDirectory({ files, root }: Directory): Promise<void> {
  try {
    await makePrivateFolder(files, root);
    await assertPrivate(files, root);
    const probe = join(root, CHECK_FILE);
    await (await files.open(probe, 'w', FILE_MODE)).close();
    await files.rm(probe, { force: true });
    await files.readdir(root, { withFileTypes: true });
  } catch (error) {
    throw directoryRefusal(root, error);
  }
}

async function assertPrivate(files: Files, root: string): Promise<void> {
  const mode = Number((await files.stat(root, { bigint: true })).mode);
  if (process.platform === 'win32' || !isTooOpen(mode, 'owner')) return;
  throw new ObjectStoreRefused(
    `others may open the statements in ${root} (mode ${modeText(mode)}): type \`${chmodText(root, 'owner')}\`, or set ` +
      'STATEMENTS_URL to a folder inside it that daybook makes itself.',
  );
}

/** What a call on a file finds; null where there is no such file. */
async function ifThere<Found>({ location }: Directory, call: Promise<Found>): Promise<Found | null> {
  try {
    return await call;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return null;
    throw directoryUnreachable(location, error);
  }
}

/** The etag: the number of the file (inode) and the time of its last change (ctime), which cannot be set back. */
const marked = ({ size, ino, ctimeNs }: { size: bigint; ino: bigint; ctimeNs: bigint }) => ({
  bytes: Number(size),
  etag: `${ino}-${ctimeNs}`,
});

/**
 * All of a file that has `bytes`; its name stands for the same bytes as long as it exists. A chunk is valid until the
 * next one is read. A buffer for each would pile up until the next garbage collection.
 */
async function* readThroughOneBuffer(file: OpenFile, bytes: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(READ_CHUNK_BYTES, bytes));
  for (let read = 0; read < bytes;) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) return;
    read += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* readFile(
  openStream: () => AsyncIterable<Uint8Array>,
  location: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* openStream();
  } catch (error) {
    throw directoryUnreachable(location, error);
  }
}

/** Statements are for their owner alone, whatever the umask. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Makes a folder that only its owner may open, and its parents. Returns the first folder that is new; null: none. */
const makePrivateFolder = (files: Files, folder: string): Promise<string | null> =>
  makeFolder({ mkdir: files.mkdir, stat: (path) => files.stat(path, { bigint: true }), dirname }, folder, {
    mode: FOLDER_MODE,
  });

/**
 * Writes a file under another name in its own folder, flushes it, and then names it. It does not get its name where
 * `isUnchanged`, asked right before, says no, or `ifAbsent` is set and the name is taken. The folder is flushed as well,
 * unless the next file does it: nothing refers to the file before that.
 */
async function writeNamed(
  directory: Directory,
  path: string,
  content: ObjectContent,
  options: PutOptions,
  isUnchanged: () => Promise<boolean>,
): Promise<{ readonly digest: Digest; readonly isNamed: boolean }> {
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
  directory: Directory,
  part: string,
  path: string,
  { ifAbsent, fence }: PutOptions,
): Promise<'linked' | 'moved' | 'taken'> {
  const { files, location } = directory;
  try {
    if (ifAbsent === true) {
      const linked = await linkFile(files, part, path);
      if (linked !== 'no links') return linked;
      if ((await ifThere(directory, files.stat(path, { bigint: true }))) !== null) return 'taken';
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
