/** Faults in which a person or a disk changes files or objects during a run. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { PLACES, pickOf } from '../case.ts';
import type { Fate } from '../../support/proxy.ts';
import { atEffect, atNth, calls, type Kind, type Planted, type Scene } from '../kind.ts';
import { clientOf, QUIET_DAY, type Site } from '../world.ts';
import { endless } from './database.ts';
import { MERCHANTS_PREFIX, STORE_MARK_KEY } from '../../../src/verify/names.ts';

const FOLDERS = ['directory', 'embedded'] as const;
const PREFIX = 'ledger/statements/';

const statementsOf = ({ dataDir }: Site): string => join(dataDir, 'statements');

/** All files that have their final name already. */
async function namedFiles(site: Site): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of site.objects.survey(MERCHANTS_PREFIX)) keys.push(key);
  return keys;
}

async function spoil({ site, world }: Scene, key: string, how: 'delete' | 'alter'): Promise<void> {
  const path = join(statementsOf(site), key);
  if (site.bucket === null) return how === 'delete' ? rm(path) : appendFile(path, ' ');
  const client = clientOf(world.s3);
  const object = { Bucket: site.bucket, Key: PREFIX + key };
  if (how === 'delete') await client.send(new DeleteObjectCommand(object));
  else await client.send(new PutObjectCommand({ ...object, Body: 'altered' }));
  client.destroy();
}

/**
 * Spoils a file of a day without late entries, while the ledger is still being read. The run checks that file later.
 */
const spoiledBefore =
  (how: 'delete' | 'alter') =>
  (scene: Scene): Planted => {
    atNth(scene, 'platform', calls(scene, 'platform'), async (): Promise<Fate> => {
      const files = (await namedFiles(scene.site)).filter((key) => key.includes(QUIET_DAY));
      await spoil(scene, pickOf(files, scene.drawn.pick), how);
      return 'pass';
    });
    return {};
  };

/**
 * Spoils a file of the merchant that is being published, right before another file of that merchant gets its name.
 * The run compares this file later. It does not compare days that it publishes for the first time, nor merchants it has
 * finished: the next run sees their changes.
 */
const spoiledMeanwhile =
  (how: 'delete' | 'alter') =>
  (scene: Scene): Planted =>
    atEffect(scene, 'names', async () => {
      const files = await namedFiles(scene.site);
      const last = files
        .map((key) => key.split('/')[0]!)
        .sort()
        .at(-1);
      const own = files.filter((key) => key.startsWith(`${last}/`) && key.includes(QUIET_DAY));
      if (own.length > 0) await spoil(scene, pickOf(own, scene.drawn.pick), how);
    });

async function chmod(mode: string, folder: string): Promise<void> {
  await promisify(execFile)('chmod', ['-R', mode, folder]);
}
const readOnly = (folder: string) => chmod('a-w', folder);
const writable = (folder: string) => chmod('u+w', folder);

const filled = (scene: Scene): Planted => {
  const filler = join(scene.site.dataDir, 'filler');
  return {
    ...atEffect(scene, scene.drawn.place === 'embedded' ? 'database' : 'statements', async () => {
      await writeFile(filler, endless()).catch(() => undefined);
    }),
    fix: () => rm(filler, { force: true }),
  };
};

export const FOLDER_KINDS: readonly Kind[] = [
  {
    name: 'file-deleted',
    fault: 'a published file is deleted while the ledger is read',
    places: PLACES,
    stories: ['late'],
    exits: [0],
    names: /statement/,
    plant: spoiledBefore('delete'),
  },
  {
    name: 'file-altered',
    fault: 'a published file is altered while the ledger is read',
    places: PLACES,
    stories: ['late'],
    exits: [0],
    names: /statement/,
    plant: spoiledBefore('alter'),
  },
  {
    name: 'file-deleted-publishing',
    fault: 'a file is deleted while its merchant is published',
    places: FOLDERS,
    stories: ['late'],
    exits: [0, 4],
    names: /statement/,
    plant: spoiledMeanwhile('delete'),
  },
  {
    name: 'file-altered-publishing',
    fault: 'a file is altered while its merchant is published',
    places: FOLDERS,
    stories: ['late'],
    exits: [0, 4],
    names: /statement/,
    plant: spoiledMeanwhile('alter'),
  },
  {
    name: 'folder-removed',
    fault: 'the statements folder is removed while a file gets its name',
    places: FOLDERS,
    stories: ['first'],
    exits: [0, 2, 4],
    names: /statements/,
    plant: (scene) => ({
      ...atEffect(scene, 'names', () => rm(statementsOf(scene.site), { recursive: true, force: true })),
      // If files were written after the store's mark was removed, a person has to say whose they are.
      fix: async () => {
        const isMarked = existsSync(join(statementsOf(scene.site), STORE_MARK_KEY));
        if (!isMarked && (await namedFiles(scene.site)).length > 0) await scene.site.adopt();
      },
    }),
  },
  {
    name: 'folder-read-only',
    fault: 'the statements folder becomes read-only at an effect on it',
    places: FOLDERS,
    exits: [0, 2, 4],
    names: /statements/,
    plant: (scene) => ({
      ...atEffect(scene, 'statements', async () => {
        await readOnly(statementsOf(scene.site));
      }),
      fix: () => writable(statementsOf(scene.site)),
    }),
  },
  {
    name: 'folder-full',
    fault: 'the disk of the statements is full (a small tmpfs)',
    places: ['directory'],
    small: 'folder',
    exits: [0, 4],
    names: /statements/,
    plant: filled,
  },
  {
    name: 'embedded-full',
    fault: 'the disk of the embedded database is full (a small tmpfs)',
    places: ['embedded'],
    small: 'folder',
    exits: [0, 2, 4],
    names: /database|statements/,
    plant: filled,
  },
  {
    name: 'embedded-removed',
    fault: 'the folder of the embedded database is removed at one of its writes',
    places: ['embedded'],
    stories: ['first'],
    exits: [0, 2, 4],
    names: /database/,
    plant: (scene) => ({
      ...atEffect(scene, 'database', () =>
        rm(join(scene.site.dataDir, 'db'), { recursive: true, force: true }),
      ),
      // The ledger is read anew. A merchant that was added by hand is added again, and the published statements are
      // adopted.
      fix: async () => {
        await scene.site.addMerchant();
        await scene.site.adopt();
      },
    }),
  },
  {
    name: 'embedded-read-only',
    fault: 'the folder of the embedded database becomes read-only at one of its writes',
    places: ['embedded'],
    exits: [0, 2, 4],
    names: /database/,
    plant: (scene) => ({
      ...atEffect(scene, 'database', () => readOnly(join(scene.site.dataDir, 'db'))),
      fix: () => writable(join(scene.site.dataDir, 'db')),
    }),
  },
];
