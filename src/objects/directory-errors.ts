/** Converts errors of the file system to sentences that say what to do. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from './object-store.ts';

export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The file or folder that the error is about; empty if it names none. */
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
  if (advice === undefined) return `${error instanceof Error ? error.message : String(error)}.`;
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
export const directoryUnreachable = (location: string, error: unknown): Error =>
  error instanceof ObjectStoreUnreachable
    ? error
    : new ObjectStoreUnreachable(`statements in ${location}: ${why(location, error)}`, { cause: error });
