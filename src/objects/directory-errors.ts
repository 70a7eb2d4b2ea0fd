/** What went wrong with a directory, in words that name the mend. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from './object-store.ts';

export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The file or folder that the system refused, or an empty text. */
const pathOf = (error: unknown): string =>
  error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : '';

const WRITE =
  'daybook may not write there: give its user write permission, or set STATEMENTS_URL to another folder.';
const READ_ONLY = 'the file system is read-only: mount it writable, or set STATEMENTS_URL to another folder.';

const MENDS: Readonly<Record<string, string>> = {
  EACCES: WRITE,
  EPERM: WRITE,
  EROFS: READ_ONLY,
  // What making a folder ends with on a read-only file system, too.
  ENOENT:
    'it cannot be made, or was taken away meanwhile: see that the disk is mounted, and writable, and run again.',
  ENOTDIR: 'a part of the path is a file: move it away, or set STATEMENTS_URL to another folder.',
  EEXIST: 'a file has this name: set STATEMENTS_URL to a folder, or move the file away.',
  EISDIR: 'a folder has the name of a file that daybook writes: move it away and run again.',
  ENOSPC: 'the disk is full: make room and run again.',
  EDQUOT: 'the disk quota is used up: make room and run again.',
  EIO: 'the disk reports a fault: check it, and run again.',
};

function why(told: string, error: unknown): string {
  const mend = MENDS[errorCode(error)];
  if (mend === undefined) return `${error instanceof Error ? error.message : String(error)}.`;
  const path = pathOf(error);
  return path === '' || told.endsWith(path) ? mend : `${path}: ${mend}`;
}

/** The disk may have room, or answer, the next time; everything else has to be mended first. */
const MAY_PASS = ['ENOSPC', 'EDQUOT', 'EIO'];

/** For the check before any work: tells what has to be mended from what may pass. */
export const directoryRefusal = (root: string, error: unknown): Error =>
  error instanceof ObjectStoreRefused
    ? error
    : MAY_PASS.includes(errorCode(error))
      ? directoryUnreachable(root, error)
      : new ObjectStoreRefused(`statements cannot be stored in ${root}: ${why(root, error)}`, {
          cause: error,
        });

/** For work under way: whatever the cause, the work can be taken up again once it is mended. */
export const directoryUnreachable = (location: string, error: unknown): Error =>
  error instanceof ObjectStoreUnreachable
    ? error
    : new ObjectStoreUnreachable(`statements in ${location}: ${why(location, error)}`, { cause: error });
