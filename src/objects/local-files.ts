/**
 * The file operations of a directory store on a local disk. Most of them touch nothing but memory (the page cache), and
 * to wake a thread for one costs several times as much as the operation. So they are done at once.
 */
import * as fs from 'node:fs';
import * as promises from 'node:fs/promises';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Files, OpenFile } from './directory-files.ts';

/** What a file holds beyond these bytes is read and written by a thread. */
const AT_ONCE_BYTES = 64 * 1024;
/**
 * After so many operations, or so long spent on them, everything else gets its turn, whoever asked for them: a survey of
 * years, or of files that have to come from the disk first, holds up nothing.
 */
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
