/** Which operations a directory store gets, by the file system that its folder is in. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { filesIn, isLocalType } from '../../src/objects/directory-files.ts';
import { isDoneAtOnce } from './done-at-once.ts';

const EXT4 = 0xef53;
const NFS = 0x6969;

test.each([
  ['ext4', EXT4, true],
  ['XFS', 0x58465342, true],
  ['Btrfs', 0x9123683e, true],
  ['ZFS', 0x2fc12fc1, true],
  ['tmpfs', 0x01021994, true],
  ['NFS', NFS, false],
  ['CIFS', 0xff534d42, false],
  ['SMB 2', 0xfe534d42, false],
  ['FUSE', 0x65735546, false],
  ['9p', 0x01021997, false],
  ['Ceph', 0x00c36400, false],
  ['overlay, whose layers may be anything', 0x794c7630, false],
  ['one that is not known', 0x12345678, false],
])('%s', (_, type, isLocal) => {
  expect(isLocalType('linux', type)).toBe(isLocal);
});

test('on other systems than Linux the number says nothing', () => {
  expect(isLocalType('darwin', EXT4)).toBe(false);
  expect(isLocalType('win32', EXT4)).toBe(false);
});

describe('the files in a folder', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'daybook-files-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** A machine with these file systems, by path: their type, or the code of the error. It notes what it is asked for. */
  function machine(systems: Readonly<Record<string, number | string>>) {
    const asked: string[] = [];
    const statfs = (path: string): Promise<{ type: number }> => {
      asked.push(path);
      const found = systems[path] ?? 'ENOENT';
      return typeof found === 'number'
        ? Promise.resolve({ type: found })
        : Promise.reject(Object.assign(new Error(found), { code: found }));
    };
    return { asked, platform: 'linux', statfs } as const;
  }
  const looks = (files: ReturnType<typeof filesIn>) =>
    isDoneAtOnce(() => files.stat(folder, { bigint: true }));

  test.each([
    ['on a local disk, at once', EXT4, true],
    ['on a server, by a thread', NFS, false],
    ['where asking fails, by a thread', 'EACCES', false],
  ])('are looked at %s', async (_, system, isAtOnce) => {
    const asked = machine({ '/data/statements': system, '/data': EXT4, '/': EXT4 });
    expect(await looks(filesIn('/data/statements', asked))).toBe(isAtOnce);
    expect(asked.asked).toEqual(['/data/statements']);
  });

  test.each([
    ['a local disk', EXT4, true],
    ['a server', NFS, false],
  ])('that is not made yet are where its nearest parent is: on %s', async (_, system, isAtOnce) => {
    const asked = machine({ '/data': system, '/': system === NFS ? EXT4 : NFS });
    expect(await looks(filesIn('/data/deep/statements', asked))).toBe(isAtOnce);
    expect(asked.asked).toEqual(['/data/deep/statements', '/data/deep', '/data']);
  });

  test('are somewhere else where no parent is found', async () => {
    expect(await looks(filesIn('/data/statements', machine({})))).toBe(false);
  });

  test('are asked about once, with the first operation', async () => {
    const asked = machine({ '/data': NFS });
    const files = filesIn('/data', asked);
    expect(asked.asked).toEqual([]);
    await Promise.all([looks(files), looks(files)]);
    await looks(files);
    expect(asked.asked).toEqual(['/data']);
  });

  test('of a server that hangs hold up nothing else', async () => {
    let isAnswered = false;
    const hanging = { platform: 'linux', statfs: () => new Promise<never>(() => undefined) } as const;
    void filesIn('/data', hanging)
      .readdir(folder, { withFileTypes: true })
      .finally(() => (isAnswered = true));
    await loopTurn();
    expect(isAnswered).toBe(false);
  });
});
