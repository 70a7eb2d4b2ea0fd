/** Debian's minisign, where it is installed. `.ci/run` installs it, and then no test may go without. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const found = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'minisign'))
  .find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

if (found === undefined && process.env['DAYBOOK_TEST_MINISIGN'] === 'required')
  throw new Error(
    'minisign is not installed, and DAYBOOK_TEST_MINISIGN requires it: apt-get install minisign',
  );

/** Where it is; null where it is not installed, and its tests are skipped. */
export const minisign: string | null = found ?? null;
