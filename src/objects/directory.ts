/** Statements in a directory: the twin of s3.ts for one machine and for tests. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chmodText, isTooOpen, modeText } from '../host/file-mode.ts';
import { makeFolder } from '../host/make-folder.ts';
import { isPart, partEpoch, walkKeys, type Files } from './directory-files.ts';
import { directoryRefusal, directoryUnreachable, errorCode } from './directory-errors.ts';
import {
  compareStored,
  digestOf,
  fenced,
  metered,
  ObjectStoreRefused,
  verifyStored,
  type Digest,
  type KeyRange,
  type ListedObject,
  type ObjectContent,
  type ObjectStore,
  type PutOptions,
  type StoredDigest,
} from './object-store.ts';

/** Statements are for their owner alone, whatever the umask. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const READ_CHUNK_BYTES = 256 * 1024;
const CHECK_FILE = '.daybook-check.part';

/**
 * Each object is a file, written under another name in its own folder, flushed, and only then named: a reader sees it
 * whole or not at all, a power cut included. A file system renames without a condition, so a writer that was frozen
 * right before is stopped by its successor taking away the unnamed file: see `discardUnfinished`. `files` is the
 * system's; tests hand in one they can halt.
 */
export function createDirectoryStore(root: string, files: Files = fs): ObjectStore {
  const location = pathToFileURL(root).href;
  const pathOf = (key: string): string => join(root, ...key.split('/'));

  /** Runs file work, naming the folder in whatever goes wrong. */
  const attempt = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw directoryUnreachable(location, error);
    }
  };

  const store: ObjectStore = {
    location,

    check: async () => {
      try {
        await makeFolder({ mkdir: files.mkdir, stat: files.stat, dirname }, root, { mode: FOLDER_MODE });
        await assertPrivate(files, root);
        const probe = join(root, CHECK_FILE);
        await (await files.open(probe, 'w', FILE_MODE)).close();
        await files.rm(probe, { force: true });
        await files.readdir(root, { withFileTypes: true });
      } catch (error) {
        throw directoryRefusal(root, error);
      }
    },

    put: async (key: string, content: ObjectContent, options: PutOptions = {}): Promise<StoredDigest> => {
      const path = pathOf(key);
      const { fence } = options;
      if (options.ifAbsent === true && (await store.head(key)) !== null) {
        return compareStored(store, key, content);
      }
      await attempt(() => makeFlushedFolder(files, dirname(path)));
      const part = join(dirname(path), `.${basename(path)}.${fence?.epoch ?? 0}.${randomUUID()}.part`);
      let written: Digest;
      try {
        written = await writeFlushed(files, part, fenced(content, fence), location);
        const isUnchanged = options.ifEtag === undefined || (await store.head(key))?.etag === options.ifEtag;
        const isNamed = isUnchanged && (await nameFile(files, part, path, options, location));
        if (!isNamed) return await compareStored(store, key, content);
      } finally {
        await files.rm(part, { force: true }).catch(() => undefined);
      }
      await attempt(() => flushFolder(files, dirname(path)));
      return verifyStored(store, key, written, fence);
    },

    get: async (key: string) => {
      const file = await openFile(files, pathOf(key), location);
      if (file === null) return null;
      return readFile(() => createReadStream('', { fd: file, highWaterMark: READ_CHUNK_BYTES }), location);
    },

    digest: async (key: string) => {
      const file = await openFile(files, pathOf(key), location);
      if (file === null) return null;
      try {
        const { etag } = await attempt(async () => marked(await file.stat({ bigint: true })));
        return { ...(await digestOf(readFile(() => readThroughOneBuffer(file), location))), etag };
      } finally {
        await file.close();
      }
    },

    head: async (key: string) => {
      try {
        return marked(await files.stat(pathOf(key), { bigint: true }));
      } catch (error) {
        if (isMissing(error)) return null;
        throw directoryUnreachable(location, error);
      }
    },

    list: async function* (prefix: string) {
      for await (const { key } of store.survey(prefix)) yield key;
    },

    survey: async function* (prefix: string, range: KeyRange = {}): AsyncGenerator<ListedObject> {
      for await (const { key, isFinished } of walkKeys(files, root, prefix, range, attempt)) {
        const found = isFinished ? await store.head(key) : null;
        if (found !== null) yield { key, ...found };
      }
    },

    discardUnfinished: async (prefix: string, epoch: number) => {
      for await (const { key } of walkKeys(files, root, prefix, {}, attempt)) {
        if (isPart(key) && partEpoch(key) < epoch)
          await attempt(() => files.rm(pathOf(key), { force: true }));
      }
    },
  };
  return store;
}

/** Throws `ObjectStoreRefused` where others may open the folder. */
async function assertPrivate(files: Files, root: string): Promise<void> {
  const { mode } = await files.stat(root);
  if (process.platform === 'win32' || !isTooOpen(mode, 'owner')) return;
  throw new ObjectStoreRefused(
    `others may open the statements in ${root} (mode ${modeText(mode)}): type \`${chmodText(root, 'owner')}\`, or set ` +
      'STATEMENTS_URL to a folder inside it that daybook makes itself.',
  );
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errorCode(error));

/** A file's own number and its last change, which nobody can set back: together they mark its bytes. */
const marked = ({ size, ino, ctimeNs }: { size: bigint; ino: bigint; ctimeNs: bigint }) => ({
  bytes: Number(size),
  etag: `${ino}-${ctimeNs}`,
});

async function openFile(files: Files, path: string, location: string): Promise<fs.FileHandle | null> {
  try {
    return await files.open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw directoryUnreachable(location, error);
  }
}

/** Each chunk is over with the next one; a new buffer a chunk would pile up until garbage is next collected. */
async function* readThroughOneBuffer(file: fs.FileHandle): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(READ_CHUNK_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) return;
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

async function writeFlushed(
  files: Files,
  path: string,
  content: ObjectContent,
  location: string,
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

/** Gives a finished file its name; false where `ifAbsent` and the name is taken. */
async function nameFile(
  files: Files,
  part: string,
  path: string,
  { ifAbsent, fence }: PutOptions,
  location: string,
): Promise<boolean> {
  try {
    if (ifAbsent === true) {
      try {
        await files.link(part, path);
        return true;
      } catch (error) {
        if (errorCode(error) === 'EEXIST') return false;
        if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(errorCode(error))) throw error;
        // A file system without hard links: the key was free a moment ago, and the lease keeps others out.
      }
    }
    await files.rename(part, path);
    return true;
  } catch (error) {
    // A holder who took over removes unfinished files: then the lost lease is the reason to tell.
    if (errorCode(error) === 'ENOENT') await fence?.assertHeld();
    throw directoryUnreachable(location, error);
  }
}

/** Makes a folder and flushes every folder that got a new name in it. */
async function makeFlushedFolder(files: Files, folder: string): Promise<void> {
  const first = await makeFolder({ mkdir: files.mkdir, stat: files.stat, dirname }, folder, {
    mode: FOLDER_MODE,
  });
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
