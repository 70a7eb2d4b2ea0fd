/**
 * Everything around the runs: a database server, a store for statements, the platform, and a proxy in front of each.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { openObjectStore } from '../../src/objects/open.ts';
import { readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import { createSandbox, type Sandbox } from '../../src/plugins/sandbox/server.ts';
import { MERCHANTS_PREFIX } from '../../src/verify/names.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { createTemplate, startPostgres, TEMPLATE, type PostgresServer } from '../support/postgres-server.ts';
import {
  clientOf,
  freshBucket,
  gatewayServer,
  startFauxqsServer,
  type S3Server,
} from '../objects/s3-servers.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';
import type { FaultCase, Place, Story } from './case.ts';
import { runner, startCommand, type Child, type Ended, type Env } from './child.ts';
import type { Family, HookOrders } from './hook.ts';
import { outcomeOf, type Outcome } from './outcome.ts';

const ZONE = 'Asia/Shanghai';
const FROM = '2026-03-02';
const TO = '2026-03-04';
/** A day without late entries. */
export const QUIET_DAY = '2026-03-03';
const NIGHTS: Readonly<Record<Story, string>> = {
  first: '2026-03-05T01:30:00+08:00',
  late: '2026-03-05T04:30:00+08:00',
};
const FIRST = { merchantNo: 'SBX-M-1', token: 'made-up-token-1' };
const SECOND = { merchantNo: 'SBX-M-2', token: 'made-up-token-2' };
const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;
const HOOK = new URL('hook.ts', import.meta.url).href;
const RUN = ['run', '--from', FROM, '--to', TO, '--json'];

/** Time limit of a run with a fault: several times the longest documented wait. */
const RUN_LIMIT_MS = 180_000;
/** Size of the disk that a fault fills up: enough for three databases of the size used here. */
const SMALL_DISK = '120m';

/** Two merchants with three accounts in all, three days, one of them with two pages, and late entries on two days. */
const SCENARIO = {
  seed: 11,
  timeZone: ZONE,
  from: FROM,
  to: TO,
  entriesPerDay: 30,
  now: NIGHTS.first,
  merchants: [
    { ...FIRST, currencies: ['USD', 'KWD'] },
    { ...SECOND, currencies: ['EUR'] },
  ],
  planted: [
    {
      what: 'burst' as const,
      merchant: FIRST.merchantNo,
      currency: 'USD',
      day: QUIET_DAY,
      nth: 12,
      count: 50,
    },
    {
      what: 'late' as const,
      merchant: FIRST.merchantNo,
      currency: 'USD',
      day: TO,
      nth: 29,
      appears: NIGHTS.late,
    },
    {
      what: 'late' as const,
      merchant: SECOND.merchantNo,
      currency: 'EUR',
      day: FROM,
      nth: 0,
      appears: NIGHTS.late,
    },
  ],
};

export interface Wires {
  readonly database: Proxy;
  readonly platform: Proxy;
  readonly objects: Proxy;
}
export type WireName = keyof Wires;

/** How much a run without a fault does. The moment of a fault is drawn from this. */
export interface Measure {
  readonly bytes: Readonly<Record<WireName, { readonly up: number; readonly down: number }>>;
  readonly commits: number;
  readonly calls: Readonly<Record<WireName, number>>;
  readonly effects: Readonly<Record<Family, number>>;
}

/** A run without a fault: what it leaves behind, and how much it did. */
export interface Undisturbed {
  readonly outcome: Outcome;
  readonly measure: Measure;
}

/** The surroundings of one case, with its own rows, statements and folder. */
export interface Site {
  readonly place: Place;
  readonly story: Story;
  /** DAYBOOK_DATA_DIR. A folder store's statements are in its subfolder `statements`. */
  readonly dataDir: string;
  readonly databaseName: string;
  readonly bucket: string | null;
  /** Environment variables of a run, with or without the proxies. */
  readonly env: (way: 'proxied' | 'direct', orders?: HookOrders) => Env;
  readonly run: (way: 'proxied' | 'direct', orders?: HookOrders, env?: Env, limitMs?: number) => Child;
  /** Adds the second merchant. The first one is in the settings. */
  readonly addMerchant: () => Promise<Ended>;
  /** Adopts the statements that another database published. */
  readonly adopt: () => Promise<Ended>;
  readonly objects: ObjectStore;
  /** Reads rows and files. With the embedded database no run may be at work. */
  readonly outcome: () => Promise<Outcome>;
  readonly close: () => Promise<void>;
}

export interface World {
  readonly server: PostgresServer;
  readonly admin: () => Promise<Database>;
  readonly sandbox: Sandbox;
  readonly s3: S3Server;
  readonly wires: Wires;
  /** Makes a site as the story begins, on a small disk of its own if asked for. */
  readonly site: (drawn: Pick<FaultCase, 'story' | 'place'>, small?: 'folder' | 'database') => Promise<Site>;
  readonly undisturbed: (drawn: Pick<FaultCase, 'story' | 'place'>) => Promise<Undisturbed>;
  /** Every connection passes everything again. */
  readonly calm: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Whether a small file system can be mounted here. A fault that fills up a disk needs one. */
export const canMount = (): boolean => {
  if (process.getuid?.() !== 0) return false;
  const folder = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    execFileSync('rmdir', [folder]);
  }
};

/** By story and place. They are the same in every world. */
const known = new Map<string, Promise<Undisturbed>>();

export async function openWorld(): Promise<World> {
  // A killed process loses nothing even with fsync off. What the server has committed must be there.
  const server = await startPostgres({
    durable: false,
    flags: ['-c', 'synchronous_commit=on', '-c', 'full_page_writes=on'],
  });
  await createTemplate(server.url);
  const sandbox = createSandbox(SCENARIO);
  const { url: platformUrl } = await sandbox.listen({ port: 0 });
  const s3 = gatewayServer() ?? (await startFauxqsServer());
  const wires: Wires = {
    database: await startProxy(server.url),
    platform: await startProxy(platformUrl),
    objects: await startProxy(s3.env['AWS_ENDPOINT_URL_S3']!),
  };
  const root = await mkdtemp(join(tmpdir(), 'daybook-faults-'));
  await chmod(root, 0o755);
  // Without this cache, each run would compile the entire program again.
  const compiled = join(root, 'compiled');
  await mkdir(compiled);
  await own(compiled);
  const admin = () => openDatabase({ databaseUrl: `${server.url}/postgres`, dataDir: '' });
  const calm = async (): Promise<void> => {
    for (const wire of Object.values(wires) as Proxy[]) {
      wire.judge = () => 'pass';
      // This also ends connections on the far side that a swallowed connection still holds.
      await wire.away();
      await wire.back();
    }
    sandbox.setHostility({});
  };

  /** The beginning of each story, from which sites are copied: only a second merchant, or a first night. */
  const beginnings = new Map<string, Promise<Site>>();
  const newSite = async (
    { story, place }: Pick<FaultCase, 'story' | 'place'>,
    from: Site | null,
    small?: 'folder' | 'database',
  ): Promise<Site> => {
    const dataDir = await mkdtemp(join(root, `${story}-`));
    const mounts: string[] = [];
    const mount = async (folder: string) => {
      await mkdir(folder, { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK},mode=700`, 'none', folder]);
      mounts.push(folder);
    };
    if (small === 'folder') await mount(dataDir);
    await own(dataDir);
    const databaseName = `faults_${randomUUID().replaceAll('-', '')}`;
    const tablespace = small === 'database' ? `space_${randomUUID().replaceAll('-', '')}` : null;
    if (place !== 'embedded') {
      const { db, close } = await admin();
      if (tablespace !== null) {
        const folder = await mkdtemp(join(root, 'tablespace-'));
        await mount(folder);
        execFileSync('chown', ['postgres', folder]);
        await sql`CREATE TABLESPACE ${sql.id(tablespace)} LOCATION ${sql.lit(folder)}`.execute(db);
      }
      // Copied file by file, with a checkpoint: a sequence that is copied page by page may go back when the server
      // crashes.
      const where = tablespace === null ? sql`` : sql`TABLESPACE ${sql.id(tablespace)}`;
      await sql`CREATE DATABASE ${sql.id(databaseName)} TEMPLATE ${sql.id(from?.databaseName ?? TEMPLATE)} STRATEGY file_copy ${where}`.execute(
        db,
      );
      await close();
    }
    if (from !== null) await cp(from.dataDir, dataDir, { recursive: true });
    if (from !== null) await own(dataDir, { recursive: true });
    const bucket = place === 's3' ? await filledBucket(s3, from) : null;
    const env: Site['env'] = (way, orders) => ({
      PLATFORM_BASE_URL: way === 'proxied' ? wires.platform.url : platformUrl,
      PLATFORM_TIME_ZONE: ZONE,
      PLATFORM_MERCHANT_NO: FIRST.merchantNo,
      PLATFORM_TOKEN: FIRST.token,
      PLATFORM_RETRIES_MAX: '2',
      PLATFORM_TIMEOUT_MS: '3000',
      DAYBOOK_SECRET_KEYS: SECRET_KEYS,
      DAYBOOK_DATA_DIR: dataDir,
      DAYBOOK_NOW: NIGHTS[story],
      // The account's first entry is late on purpose, which the check of a first opening would report.
      DAYBOOK_CHECKS: 'frontier,wide,zone,empty,shared',
      ...(place === 'embedded'
        ? {}
        : { DATABASE_URL: `${way === 'proxied' ? wires.database.url : server.url}/${databaseName}` }),
      ...(bucket === null
        ? {}
        : {
            ...s3.env,
            STATEMENTS_URL: `s3://${bucket}/ledger/statements`,
            ...(way === 'proxied' ? { AWS_ENDPOINT_URL_S3: wires.objects.url } : {}),
          }),
      NODE_COMPILE_CACHE: compiled,
      NODE_OPTIONS: orders === undefined ? '' : `--import ${HOOK}`,
      ...(orders === undefined ? {} : { FAULT_ORDERS: JSON.stringify(orders) }),
    });
    const objects = await openObjectStore({
      statementsUrl:
        bucket === null
          ? pathToFileURL(join(dataDir, 'statements')).href
          : `s3://${bucket}/ledger/statements`,
      s3ForcePathStyle: null,
      env: s3.env,
    });
    return {
      place,
      story,
      dataDir,
      databaseName,
      bucket,
      env,
      run: (way, orders, more = {}, limitMs = RUN_LIMIT_MS) =>
        startCommand(RUN, { ...env(way, orders), ...more }, limitMs),
      addMerchant: () =>
        startCommand(
          ['merchants', 'add', '--merchant-no', SECOND.merchantNo, '--token-env', 'SECOND_TOKEN'],
          { ...env('direct'), SECOND_TOKEN: SECOND.token },
          RUN_LIMIT_MS,
        ).ended,
      adopt: () => startCommand(['statements', 'adopt'], env('direct'), RUN_LIMIT_MS).ended,
      objects,
      outcome: async () => {
        const database = await openRows(place, `${server.url}/${databaseName}`, dataDir, root);
        try {
          return await outcomeOf(database.db, objects);
        } finally {
          await database.close();
        }
      },
      close: async () => {
        if (place !== 'embedded') {
          const { db, close } = await admin();
          await sql`DROP DATABASE IF EXISTS ${sql.id(databaseName)} WITH (FORCE)`.execute(db);
          if (tablespace !== null) await sql`DROP TABLESPACE ${sql.id(tablespace)}`.execute(db);
          await close();
        }
        for (const folder of mounts) execFileSync('umount', ['--lazy', folder]);
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  };

  const beginning = (drawn: Pick<FaultCase, 'story' | 'place'>): Promise<Site> => {
    const key = `${drawn.story} ${drawn.place}`;
    const begun = beginnings.get(key) ?? begin(drawn);
    beginnings.set(key, begun);
    return begun;
  };
  const begin = async ({ story, place }: Pick<FaultCase, 'story' | 'place'>): Promise<Site> => {
    const site = await newSite({ story: 'first', place }, null);
    assertDone(await site.addMerchant(), 'adding a merchant');
    sandbox.setNow(Date.parse(NIGHTS.first));
    if (story === 'late') assertDone(await site.run('direct').ended, 'the first night');
    return site;
  };

  const world: World = {
    server,
    admin,
    sandbox,
    s3,
    wires,
    calm,
    site: async (drawn, small) => {
      const from = await beginning(drawn);
      sandbox.setNow(Date.parse(NIGHTS[drawn.story]));
      return newSite(drawn, from, small);
    },
    undisturbed: (drawn) => {
      const key = `${drawn.story} ${drawn.place}`;
      const found = known.get(key) ?? undisturbedRun(world, drawn, root);
      known.set(key, found);
      return found;
    },
    close: async () => {
      for (const site of await Promise.all(beginnings.values())) await site.close();
      for (const wire of Object.values(wires) as Proxy[]) await wire.close();
      await sandbox.close();
      await s3.stop();
      await server.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
  return world;
}

function assertDone({ code, reported }: Ended, what: string): void {
  if (code !== 0) throw new Error(`${what} ended with ${code}, so that nothing can be tried:\n${reported}`);
}

/** Gives the folder to the user that runs daybook. */
async function own(folder: string, { recursive = false } = {}): Promise<void> {
  if (runner.uid === undefined) return;
  if (recursive) execFileSync('chown', ['-R', `${runner.uid}:${runner.gid}`, folder]);
  else await chown(folder, runner.uid, runner.gid);
}

/** An embedded database is read from a copy: it belongs to the user of the runs, and allows only one process. */
async function openRows(place: Place, url: string, dataDir: string, root: string): Promise<Database> {
  if (place !== 'embedded') return openDatabase({ databaseUrl: url, dataDir });
  const copy = await mkdtemp(join(root, 'copy-'));
  await cp(join(dataDir, 'db'), join(copy, 'db'), { recursive: true });
  if (runner.uid !== undefined) execFileSync('chown', ['-R', '0:0', copy]);
  const database = await openDatabase({ databaseUrl: null, dataDir: copy });
  return {
    ...database,
    close: async () => {
      await database.close();
      await rm(copy, { recursive: true, force: true });
    },
  };
}

/** A new bucket with the objects of another site's bucket. */
async function filledBucket(s3: S3Server, from: Site | null): Promise<string> {
  const { bucket, store, client } = await freshBucket(s3);
  client.destroy();
  if (from?.bucket != null) {
    for await (const { key } of from.objects.survey(MERCHANTS_PREFIX))
      await store.put(key, (await readObject(from.objects, key))!);
  }
  return bucket;
}

/** Runs without a fault, and counts what passes the proxies. */
async function undisturbedRun(
  world: World,
  drawn: Pick<FaultCase, 'story' | 'place'>,
  root: string,
): Promise<Undisturbed> {
  const site = await world.site(drawn);
  const bytes = { database: { up: 0, down: 0 }, platform: { up: 0, down: 0 }, objects: { up: 0, down: 0 } };
  const calls = { database: 0, platform: 0, objects: 0 };
  let commits = 0;
  for (const name of Object.keys(bytes) as WireName[]) {
    world.wires[name].judge = (chunk) => {
      bytes[name][chunk.direction] += chunk.bytes.length;
      if (isCall(chunk)) calls[name] += 1;
      if (isCommit(chunk)) commits += 1;
      return 'pass';
    };
  }
  const countFile = join(site.dataDir, 'counts.json');
  assertDone(await site.run('proxied', { countFile }).ended, 'a run without a fault');
  await world.calm();
  const effects = JSON.parse(await readFile(countFile, 'utf8')) as Measure['effects'];
  const outcome = await site.outcome();
  await site.close();
  await rm(join(root, 'counts.json'), { force: true });
  return { outcome, measure: { bytes, calls, commits, effects } };
}

const CALL = /^(?:GET|PUT|POST|HEAD|DELETE) \//;

/** Whether an HTTP request begins with this chunk. */
export const isCall = ({
  direction,
  bytes,
}: {
  readonly direction: string;
  readonly bytes: Buffer;
}): boolean => direction === 'up' && CALL.test(bytes.toString('latin1', 0, 10));

/** Whether this chunk asks PostgreSQL to commit. */
export const isCommit = ({
  direction,
  bytes,
}: {
  readonly direction: string;
  readonly bytes: Buffer;
}): boolean => direction === 'up' && /\bcommit\b/i.test(bytes.toString('latin1'));

export { clientOf };
