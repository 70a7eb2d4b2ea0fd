/** Chooses the operations of a directory store by the file system that its folder is in. */
import * as fs from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './directory-errors.ts';
import type { Files } from './directory-files.ts';
import { createLocalFiles } from './local-files.ts';

/** File systems on a disk of this machine or in its memory, by the number that Linux gives each (statfs(2)). */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
]);

/** Whether files of this type of file system are on this machine. False for a type that is not known. */
export const isLocalType = (platform: NodeJS.Platform, type: number): boolean =>
  platform === 'linux' && LOCAL_TYPES.has(type);

/** The machine that is asked for the type of the file system that a path is in. `statfs` throws as `node:fs/promises` does. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly statfs: (path: string) => Promise<{ readonly type: number }>;
}

/** Whether a folder is, or would be made, on a local disk. False where unknown. */
async function isOnLocalDisk(folder: string, { platform, statfs }: Machine): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      return isLocalType(platform, (await statfs(at)).type);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || dirname(at) === at) return false;
    }
  }
}

/**
 * The operations that suit the file system of a folder. On a local disk most are done at once. Anywhere else a thread
 * does each: a server that hangs must not hang this process. The first operation finds out which.
 */
export function filesIn(
  folder: string,
  machine: Machine = { platform: process.platform, statfs: fs.statfs },
): Files {
  let asked: Promise<Files> | null = null;
  const suitable = (): Promise<Files> =>
    (asked ??= isOnLocalDisk(folder, machine).then((isLocal) => (isLocal ? createLocalFiles() : fs)));
  return {
    link: async (...args) => (await suitable()).link(...args),
    mkdir: async (...args) => (await suitable()).mkdir(...args),
    open: async (...args) => (await suitable()).open(...args),
    readdir: async (...args) => (await suitable()).readdir(...args),
    rename: async (...args) => (await suitable()).rename(...args),
    rm: async (...args) => (await suitable()).rm(...args),
    stat: async (...args) => (await suitable()).stat(...args),
    unlink: async (...args) => (await suitable()).unlink(...args),
  };
}
