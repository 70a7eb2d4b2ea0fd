/** The files of a directory store: which are unfinished, and a walk through all of them in the order of their keys. */
import type { Dirent } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { errorCode } from './directory-errors.ts';
import type { KeyRange } from './object-store.ts';

/** What a directory store needs of the file system. */
export type Files = Pick<
  typeof fs,
  'link' | 'mkdir' | 'open' | 'readdir' | 'rename' | 'rm' | 'stat' | 'unlink'
>;

/** A folder that holds a store, and the file system it is in. */
export interface Directory {
  readonly root: string;
  /** `file:///folder`, for messages. */
  readonly location: string;
  readonly files: Files;
  /** Does work with files. What goes wrong is thrown as `ObjectStoreUnreachable` with the folder's name. */
  readonly attempt: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** Names of files that are still being written. They are hidden and never listed. */
const PART = /(^|\/)\.[^/]*\.part$/;
const PART_OF_EPOCH = /\.(\d+)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;

export const isPart = (key: string): boolean => PART.test(key);

/** The epoch of the lease under which a file was begun; 0 if its name does not say. */
export const partEpoch = (key: string): number => Number(PART_OF_EPOCH.exec(key)?.[1] ?? 0);

export interface WalkedKey {
  readonly key: string;
  /** False for a file that is still being written, or whose writer died meanwhile. */
  readonly isFinished: boolean;
}

/** Keys that start with `prefix` and lie in the range, in order. Folders that can hold none of them are not read. */
export async function* walkKeys(
  directory: Directory,
  prefix: string,
  range: KeyRange,
  folderKey = prefix.slice(0, prefix.lastIndexOf('/') + 1),
): AsyncGenerator<WalkedKey> {
  const { root, files, attempt } = directory;
  const entries = await attempt(() => entriesOf(files, `${root}/${folderKey}`));
  const found: { readonly key: string; readonly isFolder: boolean }[] = [];
  for (const entry of entries) {
    const isFolder = entry.isDirectory();
    const key = `${folderKey}${entry.name}${isFolder ? '/' : ''}`;
    const isWanted = isFolder
      ? mayHold(key, prefix, range)
      : entry.isFile() && key.startsWith(prefix) && isWithin(key, range);
    if (isWanted) found.push({ key, isFolder });
  }
  for (const { key, isFolder } of found.sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (isFolder) yield* walkKeys(directory, prefix, range, key);
    else yield { key, isFinished: !isPart(key) };
  }
}

async function entriesOf(files: Files, folder: string): Promise<Dirent[]> {
  try {
    return await files.readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

const isWithin = (key: string, { after, through }: KeyRange): boolean =>
  (after === undefined || key > after) && (through === undefined || key <= through);

/** Whether a folder can hold keys with the prefix and in the range. `folderKey` ends with a slash. */
const mayHold = (folderKey: string, prefix: string, { after, through }: KeyRange): boolean =>
  (folderKey.startsWith(prefix) || prefix.startsWith(folderKey)) &&
  (after === undefined || folderKey > after || after.startsWith(folderKey)) &&
  (through === undefined || folderKey <= through);
