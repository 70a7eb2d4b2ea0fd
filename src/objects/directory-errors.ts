/** What went wrong with a directory, in words that name the mend. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from './object-store.ts';

export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const MENDS: Readonly<Record<string, string>> = {
  EACCES:
    'daybook may not write there: give its user write permission, or set STATEMENTS_URL to another folder.',
  EPERM:
    'daybook may not write there: give its user write permission, or set STATEMENTS_URL to another folder.',
  EROFS: 'the file system is read-only: mount it writable, or set STATEMENTS_URL to another folder.',
  ENOTDIR: 'a part of the path is a file: set STATEMENTS_URL to a folder.',
  EEXIST: 'a file has this name: set STATEMENTS_URL to a folder.',
  ENOSPC: 'the disk is full: make room and run again.',
  EDQUOT: 'the disk quota is used up: make room and run again.',
};

const why = (error: unknown): string =>
  MENDS[errorCode(error)] ?? `${error instanceof Error ? error.message : String(error)}.`;

export const directoryRefusal = (root: string, error: unknown): Error =>
  error instanceof ObjectStoreRefused
    ? error
    : ['ENOSPC', 'EDQUOT', 'EIO'].includes(errorCode(error))
      ? directoryUnreachable(root, error)
      : new ObjectStoreRefused(`statements cannot be stored in ${root}: ${why(error)}`, { cause: error });

export const directoryUnreachable = (location: string, error: unknown): Error =>
  error instanceof ObjectStoreUnreachable
    ? error
    : new ObjectStoreUnreachable(`statements in ${location}: ${why(error)}`, { cause: error });
