/**
 * Converts failures of the embedded database's folder to errors that say what to do: PGlite itself says next to
 * nothing.
 */
import { statfs } from 'node:fs/promises';
import { ExpectedError } from '../../ledger/ending.ts';
import { codeOf, DatabaseFull, DatabaseUnusable } from './errors.ts';
import { troubleOf } from './troubles.ts';

/**
 * Errors of PGlite's file system have a number and no text. The numbers are Emscripten's, not the operating system's.
 */
const FILE_ERRORS: Readonly<Record<number, string>> = {
  2: 'it must not be opened (EACCES)',
  20: 'a file lies where a folder should (EEXIST)',
  29: 'its disk fails (EIO)',
  44: 'a file is missing (ENOENT)',
  51: 'no space is left (ENOSPC)',
  54: 'a file lies where a folder should (ENOTDIR)',
  63: 'it must not be changed (EPERM)',
  69: 'it is read-only (EROFS)',
};
const NO_SPACE = /ENOSPC|EDQUOT|no space|disk is full/i;
/** Names of the errors that PGlite throws when it ends. */
const ENGINE_ERRORS: readonly string[] = ['RuntimeError', 'ExitStatus'];

/** The error number. An error of PGlite's file system is not an `Error` but a plain object with a number. */
const fileErrorOf = (error: unknown): number | null =>
  typeof error === 'object' && error !== null && 'errno' in error && !(error instanceof Error)
    ? Number(error.errno)
    : null;

function reasonOf(error: unknown): string {
  const fileError = fileErrorOf(error);
  if (fileError !== null) return FILE_ERRORS[fileError] ?? `file error ${fileError}`;
  return error instanceof Error && codeOf(error) !== '' ? error.message : 'its files are damaged';
}

const ADVICE =
  'DAYBOOK_DATA_DIR must be a folder that can be written, and its db as daybook left it: restore it from a backup, or ' +
  'move it away, and the ledger is read anew.';

async function isFull(folder: string): Promise<boolean> {
  const { bavail } = await statfs(folder).catch(() => ({ bavail: 1 }));
  return bavail === 0;
}

async function folderTrouble(folder: string, dataDir: string, error: unknown): Promise<ExpectedError> {
  const why = reasonOf(error);
  const cause = new Error(why, { cause: error });
  const place = `the embedded database in ${folder}`;
  if (NO_SPACE.test(why) || (await isFull(dataDir))) return new DatabaseFull(cause, place);
  return new DatabaseUnusable(cause, place, ADVICE);
}

/** Why the folder could not be opened. Every failure there is caused by what lies in the folder. */
export const openingTrouble = (folder: string, dataDir: string, error: unknown): Promise<ExpectedError> =>
  error instanceof ExpectedError ? Promise.resolve(error) : folderTrouble(folder, dataDir, error);

/**
 * The error for a statement that failed. PostgreSQL's own errors are handled as on a server. If PGlite itself ended,
 * the folder is to blame.
 */
export function statementTrouble(folder: string, dataDir: string, error: unknown): Promise<unknown> {
  const ended =
    !(error instanceof Error) ||
    ENGINE_ERRORS.includes(error.name) ||
    /^PGlite is closed/.test(error.message);
  return ended ? folderTrouble(folder, dataDir, error) : Promise.resolve(troubleOf(error));
}
