/** Finds the files that daybook reads of itself: migrations, examples, its own package.json. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The full path of a file or folder of daybook's own, `path` from the package's top. It is the same in a checkout, where
 * `src` lies there, and in an installed package, where `dist/src` does: the top is the nearest folder with a package.json.
 */
export function packageFile(path: string): string {
  let top = import.meta.dirname;
  while (!existsSync(join(top, 'package.json')) && dirname(top) !== top) top = dirname(top);
  return join(top, path);
}
