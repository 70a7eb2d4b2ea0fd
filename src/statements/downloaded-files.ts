/** The files that somebody asks to have checked, and what lies next to them. */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { manifestFileNextTo, STORE_MARK_KEY } from './keys.ts';

/** A path that is not there. */
export class NothingToVerify extends ExpectedError {
  override readonly name = 'NothingToVerify';
  readonly exitCode = EXIT.usage;
}

export interface Found {
  readonly path: string;
  /**
   * It was found in a folder, or it is a manifest that was named, or lies next to one. All current files that such a
   * manifest lists have to be there.
   */
  readonly isComplete: boolean;
}

/** Whether a file counts as a manifest, by its name. */
export const isManifest = (path: string): boolean => path.endsWith('.json');

/**
 * Every file under the paths. For a file that is named alone also the manifest next to it; for a manifest also the files
 * next to it. Throws `NothingToVerify`.
 */
export async function filesUnder(paths: readonly string[]): Promise<Found[]> {
  const found = new Map<string, Found>();
  const add = (path: string, isComplete: boolean): void => {
    if (basename(path) === STORE_MARK_KEY) return;
    if (!found.has(path)) found.set(path, { path, isComplete });
  };
  for (const path of paths) {
    const kind = await stat(path).catch(() => null);
    if (kind === null) throw new NothingToVerify(`${path} does not exist`);
    if (kind.isDirectory()) {
      const entries = await readdir(path, { recursive: true, withFileTypes: true });
      for (const entry of entries.filter((one) => one.isFile() && !one.name.startsWith('.'))) {
        add(join(entry.parentPath, entry.name), true);
      }
    } else if (isManifest(path)) {
      add(path, true);
      for (const name of await readdir(dirname(path))) {
        if (!isManifest(name)) add(join(dirname(path), name), true);
      }
    } else {
      add(path, false);
      for (const name of ['manifest.json', manifestFileNextTo(basename(path))]) {
        const background = join(dirname(path), name);
        if ((await stat(background).catch(() => null)) !== null) add(background, false);
      }
    }
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
