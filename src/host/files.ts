/** Files and folders of this machine: who may open them, how folders are made, and where daybook's own files are. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shellWord } from '../ledger/text.ts';

/** Bits of a mode. */
const ANYBODY_ELSE = 0o077;
const GROUP_MAY_READ = 0o050;

/** `owner`: no other user has any access. `group`: the group may read too, as PostgreSQL allows. */
export type Audience = 'owner' | 'group';

/** Whether the mode gives others more access than the audience allows. */
export const isTooOpen = (mode: number, audience: Audience): boolean =>
  (mode & ANYBODY_ELSE & (audience === 'group' ? ~GROUP_MAY_READ : ~0)) !== 0;

/** The mode as chmod takes it: `0755`. */
export const modeText = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');

/** The command that a person types to take the access away. */
export const chmodText = (path: string, audience: Audience): string =>
  `chmod -R ${audience === 'group' ? 'g-w,o=' : 'go='} ${shellWord(path)}`;

/** The functions needed of `node:fs/promises` and `node:path`. */
export interface FolderMaking {
  readonly mkdir: (path: string, options: { readonly mode?: number }) => Promise<unknown>;
  readonly stat: (path: string) => Promise<{ readonly isDirectory: () => boolean }>;
  readonly dirname: (path: string) => string;
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/**
 * Like `mkdir` with `recursive`, which loops for ever where a file system says that an existing parent is missing, as
 * /proc does. Returns the uppermost folder it created, or null if all existed. Throws what `mkdir` and `stat` throw.
 * If a file is in the way, that is `ENOTDIR` or `EEXIST`.
 */
export async function makeFolder(
  files: FolderMaking,
  path: string,
  options: { readonly mode?: number } = {},
): Promise<string | null> {
  const lacking: string[] = [];
  for (let at = path; ; at = files.dirname(at)) {
    try {
      const isFolder = (await files.stat(at)).isDirectory();
      if (isFolder || lacking.length > 0) break;
      throw Object.assign(new Error(`EEXIST: ${at} is a file`), { code: 'EEXIST', path: at });
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || files.dirname(at) === at) throw error;
      lacking.unshift(at);
    }
  }
  let first: string | null = null;
  for (const folder of lacking) {
    try {
      await files.mkdir(folder, options);
      first ??= folder;
    } catch (error) {
      // Another process has created it meanwhile.
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
  return first;
}

/**
 * The full path of a file or folder of daybook's own, `path` from the package's top. It is the same in a checkout, where
 * `src` lies there, and in an installed package, where `dist/src` does: the top is the nearest folder with a package.json.
 */
export function packageFile(path: string): string {
  let top = import.meta.dirname;
  while (!existsSync(join(top, 'package.json')) && dirname(top) !== top) top = dirname(top);
  return join(top, path);
}

interface Manifest {
  readonly version: string;
  /** The packages that only some settings need, with the versions that daybook was tested with. */
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** What daybook's own package.json says. */
export const ownManifest = (): Manifest =>
  JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as Manifest;
