/** The files of the working tree as git sees them. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const git = (root: string, ...args: string[]): string[] =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26, stdio: 'pipe' })
    .split('\0')
    .filter((path) => path !== '');

/** All files, also new ones, but none that git ignores. */
export const filesOf = (root: string): string[] =>
  git(root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').filter((path) =>
    existsSync(join(root, path)),
  );

/** What changed since a commit; nothing where it is not there, as in a clone without its past. */
export function changedSince(root: string, commit: string): Set<string> {
  try {
    return new Set(git(root, 'diff', '-z', '--name-only', '--no-renames', commit));
  } catch {
    return new Set();
  }
}
