/** Gives the embedded database's folder and files to their owner alone, as PostgreSQL requires for its own folder. */
import type { PGlite } from '@electric-sql/pglite';
import type { NodeFS } from '@electric-sql/pglite/nodefs';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { chmodText, isTooOpen, modeText, makeFolder } from '../../host/files.ts';
import { codeOf, DatabaseUnusable } from './errors.ts';

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
