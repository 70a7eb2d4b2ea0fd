/**
 * The folder of the embedded database: checked before it is opened, as PGlite takes any folder that it does not know for a
 * new one; locked for one process; its owner's alone; and what its failures mean, of which PGlite says next to nothing.
 */
import { readdir, readFile, writeFile, chmod, mkdir, stat, statfs } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import {
  codeOf,
  DatabaseUnusable,
  EmbeddedDatabaseBusy,
  DatabaseFull,
  troubleOf,
} from '../../store/engine/errors.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { chmodText, isTooOpen, modeText, makeFolder } from '../../host/files.ts';
import { ExpectedError } from '../../ledger/ending.ts';
import { DatabaseSync } from 'node:sqlite';
import type { PGlite } from '@electric-sql/pglite';
import type { NodeFS } from '@electric-sql/pglite/nodefs';

/** The version of PostgreSQL that PGlite contains. It cannot read a folder of another version. */
export const EMBEDDED_POSTGRES_MAJOR = '18';

const VERSION_FILE = 'PG_VERSION';
const NAMED_MAX = 5;
const NAME_CHARACTERS_MAX = 40;

/**
 * Whether the folder is empty, so that a database has to be made in it. Throws `DatabaseUnusable` if it holds
 * something that is not a database, or a database of another version: nothing is overwritten.
 */
export async function isNewFolder(folder: string): Promise<boolean> {
  const names = (await readdir(folder)).sort();
  if (names.length === 0) return true;
  const major = await versionIn(folder);
  if (major === EMBEDDED_POSTGRES_MAJOR) return false;
  const place = `the embedded database in ${folder}`;
  if (major === null) {
    throw new DatabaseUnusable(
      new Error(`it is no database, as it has no ${VERSION_FILE}, but is not empty (${listOf(names)})`),
      place,
      'Restore the folder from a backup; where that is all that is left of it, or its making was cut short, remove what ' +
        'lies there, and the ledger is read anew.',
    );
  }
  throw new DatabaseUnusable(
    new Error(
      `it was made by PostgreSQL ${major || '(nothing)'}, and this version of daybook has PostgreSQL ${EMBEDDED_POSTGRES_MAJOR}`,
    ),
    place,
    'Use the version of daybook that made it, or restore the folder from a backup; or move it away, and the ledger is ' +
      'read anew.',
  );
}

/** The number in the folder's version file, cut to the longest a version can be; null without such a file. */
async function versionIn(folder: string): Promise<string | null> {
  try {
    const text = await readFile(join(folder, VERSION_FILE), 'utf8');
    return text.trim().slice(0, NAME_CHARACTERS_MAX);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function listOf(names: readonly string[]): string {
  const named = names.slice(0, NAMED_MAX).map((name) => name.slice(0, NAME_CHARACTERS_MAX));
  return named.join(', ') + (names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '');
}

const SQLITE_BUSY = 5;

export interface FolderLock {
  readonly release: () => void;
}

/**
 * Locks `folder`, for this process and this part of it. The lock is the operating system's own, taken through SQLite, as
 * Node has no other way to it: it ends together with its process, however that ends. It is on the file `<folder>.lock` next to it;
 * `<folder>.holder` says who has it. Throws `EmbeddedDatabaseBusy` while somebody else has it.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const file = new DatabaseSync(`${folder}.lock`, { timeout: 0 });
  try {
    file.exec('BEGIN IMMEDIATE');
  } catch (error) {
    file.close();
    if (!isBusy(error)) throw error;
    throw new EmbeddedDatabaseBusy(
      `the embedded database in ${folder} is in use by ${await ownerText(`${folder}.holder`)}. It takes one process at ` +
        'a time: stop that one or wait for it to end. To work side by side, set DATABASE_URL to a PostgreSQL server.',
    );
  }
  await writeFile(`${folder}.holder`, `${thisHolder()}\n${commandIn(process.argv)}\n`);
  return { release: () => file.close() };
}

/** The command's words alone: what follows may be anybody's number or name. */
const commandIn = (argv: readonly string[]): string => {
  const words = argv.slice(2);
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  return ['daybook', ...words.slice(0, end === -1 ? 2 : Math.min(end, 2))].join(' ');
};

/** `daybook serve (process 812 on host), since 2026-03-01T01:30:00Z`, of what the owner wrote when it took the lock. */
async function ownerText(path: string): Promise<string> {
  try {
    const [holder = '', command = ''] = (await readFile(path, 'utf8')).split('\n');
    const [, host, pid] = /^(.*):(\d+):[^:]*$/.exec(holder) ?? [];
    if (pid === undefined) return 'another process';
    const since = (await stat(path)).mtime.toISOString().replace(/\.\d+Z$/, 'Z');
    return `\`${command || 'daybook'}\` (process ${pid} on ${host}), since ${since}`;
  } catch {
    return 'another process';
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Makes the folder if there is none. Throws `DatabaseUnusable` if other users may open it. */
export async function ownFolder(path: string): Promise<void> {
  try {
    await makeFolder({ mkdir, stat, dirname }, path, { mode: FOLDER_MODE });
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error;
    throw Object.assign(new Error(`a file lies where a folder should (${code})`, { cause: error }), { code });
  }
  const { mode } = await stat(path);
  if (process.platform === 'win32' || !isTooOpen(mode, 'owner')) return;
  throw new DatabaseUnusable(
    new Error(`others may open it (mode ${modeText(mode)})`),
    `the embedded database's folder ${path}`,
    `Type \`${chmodText(path, 'owner')}\`, or set DAYBOOK_DATA_DIR to a folder inside it that daybook makes itself.`,
  );
}

/** The part of PGlite's file system that is used here. */
interface EngineFiles {
  readonly chmod: (file: unknown, mode: number, dontFollow?: boolean) => void;
}

/**
 * PGlite's file system for a folder, with file mode 0600. PGlite itself uses 0666 and ignores the umask. The mode has
 * to be set from the first file on, as PGlite writes some when it starts.
 */
export async function ownFiles(folder: string): Promise<NodeFS> {
  // Loaded together with PGlite, which setups with a server never need.
  const { NodeFS: Files } = await import('@electric-sql/pglite/nodefs');
  const files = new Files(folder);
  const init = files.init.bind(files);
  files.init = async (pglite, options) => {
    const { emscriptenOpts } = await init(pglite, options);
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), keepOwn] } };
  };
  return files;
}

function keepOwn({ FS }: Pick<PGlite['Module'], 'FS'>): void {
  const files = FS as unknown as EngineFiles;
  const chmodAsAsked = files.chmod.bind(files);
  const chmodOwn: EngineFiles['chmod'] = (file, mode, dontFollow) =>
    chmodAsAsked(file, mode & FOLDER_MODE, dontFollow);
  Object.assign(files, { chmod: chmodOwn });
}

/** Sets the mode of all files of a database that was just made, as PGlite makes them without `ownFiles`. */
export async function closeFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? FOLDER_MODE : FILE_MODE);
  }
}

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
