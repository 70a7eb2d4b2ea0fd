/** What lies in the embedded database's folder before it is opened: PGlite takes any folder it does not know for a new one. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, DatabaseUnusable } from './errors.ts';

/** The PostgreSQL that PGlite is; a folder of another one cannot be read by it. */
export const EMBEDDED_POSTGRES_MAJOR = '18';

const VERSION_FILE = 'PG_VERSION';
const NAMED_MAX = 5;
const NAME_CHARACTERS_MAX = 40;

/**
 * Whether the folder is empty, so that a database is to be made in it. Throws `DatabaseUnusable` where something lies in it
 * that is no database, or one of another PostgreSQL: nothing is written over it.
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

/** The number in the folder's version file, cut to what a number may be; null where there is none. */
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
