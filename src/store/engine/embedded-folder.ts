/**
 * Checks the embedded database's folder before it is opened, as PGlite takes any folder that it does not know for a
 * new one.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, DatabaseUnusable } from './errors.ts';

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
