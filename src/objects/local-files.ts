/**
 * The file operations of a directory store on a local disk. Most of them touch nothing but memory (the page cache), and
 * to wake a thread for one costs several times as much as the operation. So they are done at once.
 */
import * as fs from 'node:fs';
import * as promises from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Files, type OpenFile, errorCode } from './directory-files.ts';

/** What a file holds beyond these bytes is read and written by a thread. */
const AT_ONCE_BYTES = 64 * 1024;
/** After so many operations, or so long spent on them, everything else gets its turn: a survey of years holds up nothing. */
const OPERATIONS_A_TURN = 100;
const TURN_MS = 5;

/** Does an operation at once, or at the next turn of the event loop. What it throws, the promise rejects with. */
type AtOnce = <Result>(operation: () => Result) => Promise<Result>;

/**
 * These operations reject as those of `node:fs/promises` do. A thread still does what may wait for the disk: flushes,
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
    rename: async (...args) => (await suitable()).rename(...args),
    rm: async (...args) => (await suitable()).rm(...args),
    stat: async (...args) => (await suitable()).stat(...args),
    unlink: async (...args) => (await suitable()).unlink(...args),
  };
}
