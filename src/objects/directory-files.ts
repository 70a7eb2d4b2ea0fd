/** The files of a directory store: which of them are unfinished, and all of them in the order of their keys. */
import type { Dirent } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { errorCode } from './directory-errors.ts';
import type { KeyRange } from './object-store.ts';

/** What a directory store asks of the file system. */
export type Files = Pick<typeof fs, 'link' | 'mkdir' | 'open' | 'readdir' | 'rename' | 'rm' | 'stat'>;

/** Names of files still being written: hidden, and never listed. */
const PART = /(^|\/)\.[^/]*\.part$/;
const PART_OF_EPOCH = /\.(\d+)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;

export const isPart = (key: string): boolean => PART.test(key);

/** The epoch of the lease a file was begun under; 0 where its name does not say. */
export const partEpoch = (key: string): number => Number(PART_OF_EPOCH.exec(key)?.[1] ?? 0);

export interface WalkedKey {
  readonly key: string;
  /** False for a file that is still being written, or was when its writer died. */
  readonly isFinished: boolean;
}

/** Keys that start with `prefix` and lie in the range, in order; folders that can hold none of them are not read. */
export async function* walkKeys(
  files: Files,
  root: string,
  prefix: string,
  range: KeyRange,
  attempt: <Result>(work: () => Promise<Result>) => Promise<Result>,
  folderKey = prefix.slice(0, prefix.lastIndexOf('/') + 1),
): AsyncGenerator<WalkedKey> {
  const entries = await attempt(() => entriesOf(files, `${root}/${folderKey}`));
  const named = entries
    .map((entry) => ({ entry, key: folderKey + entry.name + (entry.isDirectory() ? '/' : '') }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const { entry, key } of named) {
    if (entry.isDirectory()) {
      if (mayHold(key, prefix, range)) yield* walkKeys(files, root, prefix, range, attempt, key);
    } else if (entry.isFile() && key.startsWith(prefix) && isWithin(key, range)) {
      yield { key, isFinished: !isPart(key) };
    }
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

/** Whether a folder, by its key with the slash, can hold keys of the prefix and the range. */
const mayHold = (folderKey: string, prefix: string, { after, through }: KeyRange): boolean =>
  (folderKey.startsWith(prefix) || prefix.startsWith(folderKey)) &&
  (after === undefined || folderKey > after || after.startsWith(folderKey)) &&
  (through === undefined || folderKey <= through);
