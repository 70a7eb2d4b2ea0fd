/**
 * Freezes a run right before each of its effects in turn. Another run takes over and publishes, and then the late
 * effect happens. After one more run the store must hold what the database says.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { filesIn } from '../../src/objects/directory-files.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { createS3Store } from '../../src/objects/s3.ts';
import { compareFiles } from '../../src/statements/compare-files.ts';
import { repairFiles, type RepairReport } from '../../src/statements/repair-files.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { clientOf, gatewayServer, startFauxqsServer, type S3Server } from '../objects/s3-servers.ts';
import { sha256Of } from '../../src/host/sha256.ts';
import type { SigningKey } from '../../src/ledger/signature.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, ZONE, type Book } from './book.ts';
import { createFreezer, freezableDatabase, freezableFiles, freezeRequests, type Freezer } from './freezer.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from './store-oracle.ts';

const DAYS = ['2026-03-30', '2026-03-31'] as const;
/** Its signature is the content's hash. */
const KEY: SigningKey = {
  ...{ name: 'made-up', text: '' },
  sign: (content) => sha256Of(content),
  check: (content, signature) => ({ keyName: 'made-up', isRight: signature === sha256Of(content) }),
};

interface Place {
  /** The store as a run sees it. With a freezer, each of its calls is an effect. */
  readonly open: (freezer?: Freezer) => ObjectStore;
  /** Names of unfinished files that are left behind. */
  readonly leftovers: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

async function directory(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-late-'));
  return {
    open: (freezer) =>
      createDirectoryStore(
        folder,
        ...(freezer === undefined ? [] : [freezableFiles(freezer, filesIn(folder))]),
      ),
    leftovers: async () =>
      (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.part')),
    close: () => rm(folder, { recursive: true }),
  };
}

async function bucketOn(server: S3Server): Promise<Place> {
  const bucket = `daybook-${randomUUID()}`;
  await clientOf(server).send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    open: (freezer) => {
      const client = clientOf(server);
      if (freezer !== undefined) freezeRequests(client, freezer);
      return createS3Store(client, { bucket, prefix: 'ledger', endpoint: server.env.AWS_ENDPOINT_URL_S3! });
    },
    leftovers: () => Promise.resolve([]),
    close: server.stop,
  };
}

const gateway = gatewayServer();
const GATEWAY = 'the gateway';
const DIRECTORY = 'a directory';
/** For each store, whether it refuses a late write. If not, the write must be repaired. */
const places: readonly (readonly [string, boolean, () => Promise<Place>])[] = [
  [DIRECTORY, true, directory],
  ['fauxqs, which ignores conditions', false, async () => bucketOn(await startFauxqsServer())],
  ...(gateway === null ? [] : ([[GATEWAY, true, () => bucketOn(gateway)]] as const)),
];

/** What the platform shows: the days with that many entries each. */
const shown = (entries: number, days: readonly string[]): LedgerEntry[] =>
  accountEntries(
    100_00,
    days.flatMap((day) =>
      Array.from({ length: entries }, (_, hour): [string, number] => [
        `${day} ${String(8 + hour).padStart(2, '0')}:00:00`,
        5_00,
      ]),
    ),
  ).map((entry) => ({ ...entry, batchNo: `B${entry.bookedAt}` }));

let place: Place;
/** What signs manifests in every run; null where they are not signed. */
let signingKey: SigningKey | null;
let book: Book;
let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(() => place.close());
afterAll(() => database.close());

const signal = new AbortController().signal;
/** A complete run under this lease: it reads what the platform shows, chains, publishes, compares and repairs. */
async function wholeRun(
  objects: ObjectStore,
  entries: number,
  days: readonly string[],
): Promise<RepairReport> {
  await book.synced(shown(entries, days), days);
  await book.reconciled();
  await book.published(objects, { signingKey });
  return repaired(objects);
}
const repaired = (objects: ObjectStore): Promise<RepairReport> =>
  repairFiles({
    db: book.database.db,
    lease: book.lease,
    objects,
    signingKey,
    zone: ZONE,
    clockToleranceS: 2,
    runId: 1,
    now: () => book.now,
    signal,
    merchantNo: MERCHANT,
    fromDay: DAYS[0],
    toDay: DAYS[1],
  });

/** The lease ends, and another run takes it. */
async function takeOver(): Promise<Lease> {
  const { db } = book.database;
  await db
    .updateTable('lease')
    .set({ expires_at: new Date(0) })
    .execute();
  return acquireLease(db, { name: 'ledger', holder: 'other:2:-', ttlMs: 600_000 });
}

interface Outcome {
  /** The effect before which the run was frozen; null if it ended earlier. */
  readonly frozenAt: string | null;
  readonly end: PromiseSettledResult<unknown>;
  readonly afterwards: RepairReport;
  readonly damaged: number;
}

/**
 * Plays the story, with the first run frozen before its effect number `freezeAt`. `standing` entries of each day are
 * already published.
 */
async function lateEffect(freezeAt: number, standing: number, days: readonly string[]): Promise<Outcome> {
  await emptyTables(database.db);
  book = await openBook(database);
  const { db } = book.database;
  const calm = place.open();
  if (standing > 0) await wholeRun(calm, standing, days);
  await book.synced(shown(standing + 1, days), days);
  await book.reconciled();

  const freezer = createFreezer(freezeAt);
  const first = book.published(place.open(freezer), {
    db: freezableDatabase(db, freezer),
    lease: book.lease,
    signingKey,
  });
  const ended = Promise.allSettled([first]).then(([end]) => end);
  const frozenAt = await Promise.race([freezer.frozen, ended.then(() => null)]);
  book.lease = await takeOver();
  await wholeRun(calm, standing + 2, days);
  freezer.thaw();
  const end = await ended;

  let damaged = 0;
  for await (const compared of compareFiles({
    db,
    objects: calm,
    merchantNo: MERCHANT,
    fromDay: DAYS[0],
    toDay: DAYS[1],
  })) {
    damaged += compared.damaged.length;
  }
  book.lease = await takeOver();
  await book.published(calm, { signingKey });
  return { frozenAt, end, afterwards: await repaired(calm), damaged };
}

describe.each(places)('late writes to %s', (store, keepsOut, openPlace) => {
  const cases: readonly (readonly [string, number, readonly string[], SigningKey | null])[] = [
    ['a later revision', 1, DAYS.slice(0, 1), null],
    ['the first statement of a day', 0, DAYS.slice(0, 1), null],
    ...(store === GATEWAY
      ? []
      : ([
          ['the first statement of a signed day', 0, DAYS.slice(0, 1), KEY],
          ['a later revision of a signed day', 1, DAYS.slice(0, 1), KEY],
        ] as const)),
    // Each effect of two days takes the gateway a second. It obeys the same conditions as a directory.
    ...(store === GATEWAY ? [] : [['two days that are published together', 1, DAYS, null] as const]),
  ];
  for (const [nth, [name, standing, days, key]] of cases.entries()) {
    const tags = store === DIRECTORY && nth === 0 ? [] : ['long'];
    const claim = `of ${name}: refused or repaired, before whatever effect the run was frozen`;
    test(claim, { tags, timeout: 300_000 }, async () => {
      signingKey = key;
      const publicKeys = key === null ? [] : [KEY];
      const frozenAt: string[] = [];
      for (let number = 0; ; number += 1) {
        place = await openPlace();
        const outcome = await lateEffect(number, standing, days);
        const about = `effect ${number}, ${outcome.frozenAt ?? 'none'}`;
        const objects = place.open();
        expect(await filesOfStore(objects), about).toEqual(await filesOfDatabase(book.database.db));
        expect(await verifyProblems(objects, publicKeys), about).toEqual([]);
        expect(await place.leftovers(), about).toEqual([]);
        expect(outcome.afterwards.unrepaired, about).toEqual([]);
        expect(outcome.afterwards.repaired, about).toHaveLength(outcome.damaged);
        if (keepsOut) expect(outcome.damaged, about).toBe(0);
        if (outcome.frozenAt === null) break;
        // A run that is frozen in its very last steps may be complete already.
        if (outcome.end.status === 'rejected') {
          expect((outcome.end.reason as Error).name, about).toBe('LeaseLost');
        }
        frozenAt.push(outcome.frozenAt);
        await place.close();
      }
      expect(frozenAt.join('\n')).toMatch(/\.r\d\.csv[^]*summary\.r\d\.csv[^]*manifest\.json[^]*transaction/);
      if (key !== null) expect(frozenAt.join('\n')).toMatch(/\.minisig/);
    });
  }
});
