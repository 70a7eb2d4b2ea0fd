/** Statements in a directory: the twin of s3.ts for one machine and for tests. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chmodText, isTooOpen, modeText } from '../ledger/file-mode.ts';
import { directoryRefusal, directoryUnreachable, errorCode } from './directory-errors.ts';
import {
  compareStored,
  digestOf,
  metered,
  ObjectStoreRefused,
  verifyStored,
  type Digest,
  type ObjectContent,
  type ObjectStore,
  type PutOptions,
} from './object-store.ts';

/** Names of files still being written: hidden, and never listed. */
const PART = /^\..*\.part$/;
/** Statements are for their owner alone, whatever the umask. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const READ_CHUNK_BYTES = 256 * 1024;

/**
 * Each object is a file, written under another name in its own folder, flushed, and only then named: a reader sees it
 * whole or not at all, a power cut included.
 */
export function createDirectoryStore(root: string): ObjectStore {
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
        await mkdir(root, { recursive: true, mode: FOLDER_MODE });
        await assertPrivate(root);
        const probe = join(root, `.${randomUUID()}.part`);
        await (await open(probe, 'wx', FILE_MODE)).close();
        await unlink(probe);
        await readdir(root);
      } catch (error) {
        throw directoryRefusal(root, error);
      }
    },

    put: async (key: string, content: ObjectContent, options: PutOptions = {}): Promise<Digest> => {
      const path = pathOf(key);
      if (options.ifAbsent === true && (await store.head(key)) !== null) {
        return compareStored(store, key, content);
      }
      await attempt(() => makeFolder(dirname(path)));
      const part = join(dirname(path), `.${basename(path)}.${randomUUID()}.part`);
      try {
        const written = await writeFlushed(part, content, location);
        const named = await attempt(() => nameFile(part, path, options.ifAbsent === true));
        if (!named) return await compareStored(store, key, content);
        await attempt(() => flushFolder(dirname(path)));
        return await verifyStored(store, key, written);
      } finally {
        await rm(part, { force: true }).catch(() => undefined);
      }
    },

    get: async (key: string) => {
      const file = await openFile(pathOf(key), location);
      if (file === null) return null;
      return readFile(() => createReadStream('', { fd: file, highWaterMark: READ_CHUNK_BYTES }), location);
    },

    digest: async (key: string) => {
      const file = await openFile(pathOf(key), location);
      if (file === null) return null;
      try {
        return await digestOf(readFile(() => readThroughOneBuffer(file), location));
      } finally {
        await file.close();
      }
    },

    head: async (key: string) => {
      try {
        return { bytes: (await stat(pathOf(key))).size };
      } catch (error) {
        if (isMissing(error)) return null;
        throw directoryUnreachable(location, error);
      }
    },

    list: async function* (prefix: string) {
      const names = await attempt(async () => {
        try {
          return await readdir(root, { recursive: true, withFileTypes: true });
        } catch (error) {
          if (isMissing(error)) return [];
          throw error;
        }
      });
      const keys = names
        .filter((entry) => entry.isFile() && !PART.test(entry.name))
        .map((entry) =>
          join(entry.parentPath, entry.name).slice(root.length).split(/[\\/]/).filter(Boolean).join('/'),
        );
      yield* keys.filter((key) => key.startsWith(prefix)).sort();
    },
  };
  return store;
}

/** Throws `ObjectStoreRefused` where others may open the folder. */
async function assertPrivate(root: string): Promise<void> {
  const { mode } = await stat(root);
  if (process.platform === 'win32' || !isTooOpen(mode, 'owner')) return;
  throw new ObjectStoreRefused(
    `others may open the statements in ${root} (mode ${modeText(mode)}): type \`${chmodText(root, 'owner')}\`, or set ` +
      'STATEMENTS_URL to a folder inside it that daybook makes itself.',
  );
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errorCode(error));

async function openFile(path: string, location: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw directoryUnreachable(location, error);
  }
}

/** Each chunk is over with the next one; a new buffer a chunk would pile up until garbage is next collected. */
async function* readThroughOneBuffer(file: FileHandle): AsyncGenerator<Uint8Array> {
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

async function writeFlushed(path: string, content: ObjectContent, location: string): Promise<Digest> {
  const source = metered(content);
  try {
    const file = await open(path, 'wx', FILE_MODE);
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
async function nameFile(part: string, path: string, ifAbsent: boolean): Promise<boolean> {
  if (!ifAbsent) {
    await rename(part, path);
    return true;
  }
  try {
    await link(part, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(errorCode(error))) throw error;
    // A file system without hard links: the key was free a moment ago, and the lease keeps others out.
    await rename(part, path);
    return true;
  }
}

/** Makes a folder and flushes every folder that got a new name in it. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined) return;
  for (let at = folder; at.length >= first.length; at = dirname(at)) await flushFolder(dirname(at));
}

async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
