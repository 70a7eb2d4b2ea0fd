/** Creates a folder and its missing parents, and never loops for ever. The file system is a parameter. */

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
