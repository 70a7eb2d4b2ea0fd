/** Statements in a directory, for one machine and for tests: the twin of s3.ts. */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chmodText, isTooOpen, modeText } from '../host/files.ts';
import {
  isPart,
  partEpoch,
  walkKeys,
  type Directory,
  type Files,
  type OpenFile,
  directoryRefusal,
  directoryUnreachable,
  errorCode,
} from './directory-files.ts';
import { FILE_MODE, makePrivateFolder, writeNamed } from './directory-write.ts';
import { filesIn } from './local-files.ts';
import { digestOf, foundAs, ObjectStoreRefused, verifyStored, type ObjectStore } from './object-store.ts';

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
  const pathOf = (key: string): string => `${folder}/${key}`;

  const store: ObjectStore = {
    location,

    check: () => checkDirectory(directory),

    put: async (key, content, options = {}) => {
      const { ifEtag, fence } = options;
      const isUnchanged = async () => ifEtag === undefined || (await store.head(key))?.etag === ifEtag;
      const { digest, isNamed } = await writeNamed(directory, pathOf(key), content, options, isUnchanged);
      return isNamed ? verifyStored(store, key, digest, fence) : foundAs(store, key, digest);
    },

    get: async (key) => {
      const file = await openFile(directory, pathOf(key));
      if (file === null) return null;
      return readFile(() => file.createReadStream({ highWaterMark: READ_CHUNK_BYTES }), location);
    },

    digest: async (key) => {
      const file = await openFile(directory, pathOf(key));
      if (file === null) return null;
      try {
        const { bytes, etag } = await attempt(async () => marked(await file.stat({ bigint: true })));
        return { ...(await digestOf(readFile(() => readThroughOneBuffer(file, bytes), location))), etag };
      } finally {
        await file.close();
      }
    },

    head: async (key) => {
      try {
        return marked(await files.stat(pathOf(key), { bigint: true }));
      } catch (error) {
        if (isMissing(error)) return null;
        throw directoryUnreachable(location, error);
      }
    },

    list: async function* (prefix) {
      for await (const { key } of store.survey(prefix)) yield key;
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
          await attempt(() => files.rm(pathOf(key), { force: true }));
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

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errorCode(error));

/** The etag: the number of the file (inode) and the time of its last change (ctime), which cannot be set back. */
const marked = ({ size, ino, ctimeNs }: { size: bigint; ino: bigint; ctimeNs: bigint }) => ({
  bytes: Number(size),
  etag: `${ino}-${ctimeNs}`,
});

async function openFile({ files, location }: Directory, path: string): Promise<OpenFile | null> {
  try {
    return await files.open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw directoryUnreachable(location, error);
  }
}

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
