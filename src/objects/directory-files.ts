/**
 * The files of a directory store: which are unfinished, a walk through all of them in the order of their keys, and the
 * operations on them, which on a local disk are mostly done at once.
 */
import { messageOf } from '../ledger/text.ts';
import * as fs from 'node:fs';
import * as promises from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type KeyRange, ObjectDenied, ObjectStoreRefused, ObjectStoreUnreachable } from './object-store.ts';

/**
 * Throws `ObjectStoreRefused` where a link leads what lies at `path` out of the folder `root`. Of a path that is not there yet, the part
 * that is there decides.
 */
export async function assertInside({ root, files }: Directory, path: string): Promise<void> {
  const top = resolve(root);
  for (let at = path; at.length > top.length; at = dirname(at)) {
    try {
      const [real, realTop] = [await files.realpath(at), await files.realpath(top)];
      if (real.startsWith(realTop.endsWith(sep) ? realTop : realTop + sep)) return;
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) throw directoryUnreachable(root, error);
      continue;
    }
    throw new ObjectStoreRefused(
      `${at} leads out of ${root}, as it is a link or lies behind one: take the link away, or move what it leads to into ${root}.`,
    );
  }
}

/** What a directory store needs of the file system, as `node:fs/promises` has it. */
export interface Files {
  readonly link: (from: string, to: string) => Promise<void>;
  readonly mkdir: (folder: string, options: { readonly mode?: number }) => Promise<unknown>;
  /** To read a file or a folder, to write a file, or to write a new file. */
  readonly open: (path: string, flags: 'r' | 'w' | 'wx', mode?: number) => Promise<OpenFile>;
  readonly readdir: (folder: string, options: { readonly withFileTypes: true }) => Promise<fs.Dirent[]>;
  /** The path without any link in it. */
  readonly realpath: (path: string) => Promise<string>;
  readonly rename: (from: string, to: string) => Promise<void>;
  readonly rm: (path: string, options: { readonly force: true }) => Promise<void>;
  readonly stat: (path: string, options: { readonly bigint: true }) => Promise<fs.BigIntStats>;
  readonly unlink: (path: string) => Promise<void>;
}

/** An open file or folder. Reading and writing go on where the last call ended, and may move fewer bytes than asked for. */
export interface OpenFile {
  readonly write: (
    from: Uint8Array,
    offset: number,
    length: number,
  ) => Promise<{ readonly bytesWritten: number }>;
  readonly read: (into: Uint8Array) => Promise<{ readonly bytesRead: number }>;
  readonly stat: (options: { readonly bigint: true }) => Promise<fs.BigIntStats>;
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** All of the file. Closes it at the end. */
  readonly createReadStream: (options: { readonly highWaterMark: number }) => AsyncIterable<Uint8Array>;
}

export interface Directory {
  readonly root: string;
  readonly location: string;
  readonly files: Files;
  /** Does work with files. What goes wrong is thrown as `ObjectStoreUnreachable` with the folder's name. */
  readonly attempt: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** Names of files that are still being written. They are hidden and never listed. */
const PART = /(^|\/)\.[^/]*\.part$/;
const PART_OF_EPOCH = /\.(\d+)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;

export const isPart = (key: string): boolean => PART.test(key);

/** The epoch of the lease under which a file was begun; 0 if its name does not say. */
export const partEpoch = (key: string): number => Number(PART_OF_EPOCH.exec(key)?.[1] ?? 0);

interface WalkedKey {
  readonly key: string;
  /** False for a file that is still being written, or whose writer died meanwhile. */
  readonly isFinished: boolean;
}

/** Keys that start with `prefix` and lie in the range, in order. Folders that can hold none of them are not read. */
export async function* walkKeys(
  directory: Directory,
  prefix: string,
  range: KeyRange,
  folderKey = prefix.slice(0, prefix.lastIndexOf('/') + 1),
): AsyncGenerator<WalkedKey> {
  const { root, files, attempt } = directory;
  const entries = await attempt(() => entriesOf(files, `${root}/${folderKey}`));
  const found: { readonly key: string; readonly isFolder: boolean }[] = [];
  for (const entry of entries) {
    const isFolder = entry.isDirectory();
    const key = `${folderKey}${entry.name}${isFolder ? '/' : ''}`;
    const isWanted = isFolder
      ? mayHold(key, prefix, range)
      : entry.isFile() && key.startsWith(prefix) && isWithin(key, range);
    if (isWanted) found.push({ key, isFolder });
  }
  for (const { key, isFolder } of found.sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (isFolder) yield* walkKeys(directory, prefix, range, key);
    else yield { key, isFinished: !isPart(key) };
  }
}

async function entriesOf(files: Files, folder: string): Promise<fs.Dirent[]> {
  try {
    return await files.readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

const isWithin = (key: string, { after, through }: KeyRange): boolean =>
  (after === undefined || key > after) && (through === undefined || key <= through);

/** Whether a folder can hold keys with the prefix and in the range. `folderKey` ends with a slash. */
const mayHold = (folderKey: string, prefix: string, { after, through }: KeyRange): boolean =>
  (folderKey.startsWith(prefix) || prefix.startsWith(folderKey)) &&
  (after === undefined || folderKey > after || after.startsWith(folderKey)) &&
  (through === undefined || folderKey <= through);

export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const pathOf = (error: unknown): string =>
  error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : '';

const WRITE =
  'daybook may not write there: give its user write permission, or set STATEMENTS_URL to another folder.';
const READ_ONLY = 'the file system is read-only: mount it writable, or set STATEMENTS_URL to another folder.';

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: WRITE,
  EPERM: WRITE,
  EROFS: READ_ONLY,
  // Making a folder on a read-only file system fails with this code as well.
  ENOENT:
    'it cannot be made, or was taken away meanwhile: see that the disk is mounted, and writable, and run again.',
  ENOTDIR: 'a part of the path is a file: move it away, or set STATEMENTS_URL to another folder.',
  EEXIST: 'a file has this name: set STATEMENTS_URL to a folder, or move the file away.',
  EISDIR: 'a folder has the name of a file that daybook writes: move it away and run again.',
  ENOSPC: 'the disk is full: free some space and run again.',
  EDQUOT: 'the disk quota is used up: free some space and run again.',
  EIO: 'the disk reports a fault: check it, and run again.',
};

function why(reported: string, error: unknown): string {
  const advice = ADVICE[errorCode(error)];
  if (advice === undefined) return `${messageOf(error)}.`;
  const path = pathOf(error);
  return path === '' || reported.endsWith(path) ? advice : `${path}: ${advice}`;
}

/** These may pass by themselves. Every other error needs a person. */
const MAY_PASS = ['ENOSPC', 'EDQUOT', 'EIO'];

/** The error of `check`: `ObjectStoreRefused` if a person has to do something, else `ObjectStoreUnreachable`. */
export const directoryRefusal = (root: string, error: unknown): Error =>
  error instanceof ObjectStoreRefused
    ? error
    : MAY_PASS.includes(errorCode(error))
      ? directoryUnreachable(root, error)
      : new ObjectStoreRefused(`statements cannot be stored in ${root}: ${why(root, error)}`, {
          cause: error,
        });

/** The error of every other operation: the same work can be repeated once the cause is fixed. */
export function directoryUnreachable(location: string, error: unknown): Error {
  if (error instanceof ObjectStoreUnreachable || error instanceof ObjectStoreRefused) return error;
  const Kind = ['EACCES', 'EPERM'].includes(errorCode(error)) ? ObjectDenied : ObjectStoreUnreachable;
  return new Kind(`statements in ${location}: ${why(location, error)}`, { cause: error });
}

/** What a file holds beyond these bytes is read and written by a thread. */
const AT_ONCE_BYTES = 64 * 1024;
/** After so many operations, or so long spent on them, everything else gets its turn: a survey of years holds up nothing. */
const OPERATIONS_A_TURN = 100;
const TURN_MS = 5;

/** Does an operation at once, or at the next turn of the event loop. What it throws, the promise rejects with. */
type AtOnce = <Result>(operation: () => Result) => Promise<Result>;

/**
 * Most operations touch nothing but memory (the page cache), and to wake a thread for one costs several times as much as
 * the operation. So they are done at once. They reject as those of `node:fs/promises` do. A thread still does what may wait for the disk: flushes,
 * and all that changes a folder. That waits for a flush of the file system's journal, and finding space for one new file
 * takes ext4 up to a millisecond where many were removed lately. `clock` returns ms since any moment.
 */
export function createLocalFiles(clock: () => number = () => performance.now()): Files {
  const atOnce = inTurns(clock);
  const open = promisify(fs.open);
  return {
    link: promises.link,
    mkdir: promises.mkdir,
    open: async (path, flags, mode) =>
      openedFile(
        flags === 'r' ? await atOnce(() => fs.openSync(path, flags)) : await open(path, flags, mode),
        atOnce,
      ),
    readdir: (folder, options) => atOnce(() => fs.readdirSync(folder, options)),
    realpath: (path) => atOnce(() => fs.realpathSync.native(path)),
    rename: promises.rename,
    rm: promises.rm,
    stat: (path, options) => atOnce(() => fs.statSync(path, options)),
    unlink: promises.unlink,
  };
}

function inTurns(clock: () => number): AtOnce {
  let operations = 0;
  let spentMs = 0;
  let turn: Promise<void> | null = null;
  const begin = (): void => {
    operations = 0;
    spentMs = 0;
    turn = null;
  };
  return async (operation) => {
    while (turn !== null) await turn;
    const beganMs = clock();
    try {
      return operation();
    } finally {
      operations += 1;
      spentMs += clock() - beganMs;
      if (operations >= OPERATIONS_A_TURN || spentMs >= TURN_MS) turn ??= loopTurn().then(begin);
    }
  };
}

const sync = promisify(fs.fsync);
const read = promisify(fs.read);
const write = promisify(fs.write);

function openedFile(fd: number, atOnce: AtOnce): OpenFile {
  let movedBytes = 0;
  const isSmall = (bytes: number): boolean => (movedBytes += bytes) <= AT_ONCE_BYTES;
  return {
    write: (from, offset, length) =>
      isSmall(length)
        ? atOnce(() => ({ bytesWritten: fs.writeSync(fd, from, offset, length) }))
        : write(fd, from, offset, length),
    read: (into) =>
      isSmall(into.byteLength)
        ? atOnce(() => ({ bytesRead: fs.readSync(fd, into) }))
        : read(fd, into, 0, into.byteLength, null),
    stat: (options) => atOnce(() => fs.fstatSync(fd, options)),
    sync: () => sync(fd),
    close: () => atOnce(() => fs.closeSync(fd)),
    createReadStream: (options) => fs.createReadStream('', { ...options, fd }),
  };
}

/** File systems on a disk of this machine or in its memory, by the number that Linux gives each (statfs(2)). */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
]);

export const isLocalType = (platform: NodeJS.Platform, type: number): boolean =>
  platform === 'linux' && LOCAL_TYPES.has(type);

/** The machine that is asked for the type of the file system that a path is in. `statfs` throws as `node:fs/promises` does. */
interface Machine {
  readonly platform: NodeJS.Platform;
  readonly statfs: (path: string) => Promise<{ readonly type: number }>;
}

/** Whether a folder is, or would be made, on a local disk. False where unknown. */
async function isOnLocalDisk(folder: string, { platform, statfs }: Machine): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      return isLocalType(platform, (await statfs(at)).type);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || dirname(at) === at) return false;
    }
  }
}

/**
 * The operations that suit the file system of a folder. On a local disk most are done at once. Anywhere else a thread
 * does each: a server that hangs must not hang this process. The first operation finds out which.
 */
export function filesIn(
  folder: string,
  machine: Machine = { platform: process.platform, statfs: promises.statfs },
): Files {
  let asked: Promise<Files> | null = null;
  const suitable = (): Promise<Files> =>
    (asked ??= isOnLocalDisk(folder, machine).then((isLocal) => (isLocal ? createLocalFiles() : promises)));
  return {
    link: async (...args) => (await suitable()).link(...args),
    mkdir: async (...args) => (await suitable()).mkdir(...args),
    open: async (...args) => (await suitable()).open(...args),
    readdir: async (...args) => (await suitable()).readdir(...args),
    realpath: async (path) => (await suitable()).realpath(path),
    rename: async (...args) => (await suitable()).rename(...args),
    rm: async (...args) => (await suitable()).rm(...args),
    stat: async (...args) => (await suitable()).stat(...args),
    unlink: async (...args) => (await suitable()).unlink(...args),
  };
}
