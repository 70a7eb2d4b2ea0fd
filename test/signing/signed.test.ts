/** Manifests are signed, and each names the one before it: whatever is changed, taken away or put back is found. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { ObjectStoreUnreachable, readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import type { SigningKey } from '../../src/ledger/signature.ts';
import { keyPairOf, readPublicKey, readSigningKey } from '../../src/signing.ts';
import { adoptStore, forkedDays } from '../../src/months/adopt.ts';
import { sha256Of } from '../../src/host/sha256.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { manifestKey } from '../../src/verify/names.ts';
import { signatureKey } from '../../src/statements/keys.ts';
import { parseManifest, type Manifest } from '../../src/verify/manifest.ts';
import { repairFiles } from '../../src/statements/repair-files.ts';
import type { PublishDayOptions, ForeignManifest } from '../../src/statements/publish-options.ts';
import { verifyChains } from '../../src/verify/chain.ts';
import type { Problem, ReadManifest } from '../../src/verify/days.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { acquireLease, type Lease } from '../../src/store/engine/lease.ts';
import { minisign } from './minisign.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { verifyPaths } from '../statements/verified-twice.ts';
import { MERCHANT, openBook, watched, ZONE, type Book } from '../statements/book.ts';

const DAYS = ['2026-03-28', '2026-03-29', '2026-03-30', '2026-03-31'] as const;
const pairOf = (byte: number) => {
  const pair = keyPairOf(Buffer.alloc(32, byte), Buffer.alloc(8, byte));
  return { key: readSigningKey(pair.secretKey) as SigningKey, publicKey: pair.publicKey, id: pair.id };
};
const OURS = pairOf(1);
const OTHERS = pairOf(2);

/** Three entries a day; of `late` days the second one is still to come. */
const shown = (late: readonly string[] = []): LedgerEntry[] =>
  accountEntries(
    100_00,
    DAYS.flatMap((day) => ['08', '12', '16'].map((hour): [string, number] => [`${day} ${hour}:00:00`, 5_00])),
  )
    .map((entry) => ({ ...entry, batchNo: `B${entry.bookedAt}` }))
    .filter(({ bookedAt }) => !late.some((day) => bookedAt === `${day} 12:00:00`));

let database: Database;
let book: Book;
let folder: string;
let store: ObjectStore;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await emptyTables(database.db);
  book = await openBook(database);
  folder = await mkdtemp(join(tmpdir(), 'daybook-signed-'));
  store = createDirectoryStore(folder);
});
afterEach(() => rm(folder, { recursive: true }));

type Keyed = Pick<PublishDayOptions, 'signingKey' | 'onForeign'>;
const SIGNED: Keyed = { signingKey: OURS.key };

const night = async (
  days: readonly string[],
  keyed: Keyed = SIGNED,
  late: readonly string[] = [],
  objects = store,
) => {
  await book.synced(shown(late), days);
  await book.reconciled();
  return book.published(objects, keyed);
};
const repaired = (keyed: Keyed = SIGNED, readsAll = false, objects = store, stop = new AbortController()) =>
  repairFiles({
    ...{ db: database.db, lease: book.lease, objects, zone: ZONE, clockToleranceS: 2, runId: 1 },
    ...{ now: () => book.now, signal: stop.signal, merchantNo: MERCHANT, readsAll },
    ...{ fromDay: DAYS[0], toDay: DAYS[3], ...keyed },
  });
const verified = (...keys: readonly string[]) => verifiedAs(false, ...keys);
const verifiedAs = (isComplete: boolean, ...keys: readonly string[]) =>
  verifyPaths(
    [folder],
    STATEMENT_FORMATS,
    keys.map((key) => readPublicKey(key)!),
    isComplete,
  );
const problems = async (...keys: readonly string[]) => (await verified(...keys)).problems.map(textOf);
const textOf = ({ path, problem }: Problem) => `${/date=([^/]*)/.exec(path)![1]!}: ${problem}`;
const takeAway = (day: string): Promise<void> =>
  rm(join(folder, `merchant=${MERCHANT}/date=${day}`), { recursive: true });
const pathOf = (day: string): string => join(folder, manifestKey(MERCHANT, day));
const manifestOf = async (day: string) => parseManifest(await readFile(pathOf(day), 'utf8'))!;
const signatureOf = (day: string): Promise<string> => readFile(`${pathOf(day)}.minisig`, 'utf8');

describe('a signature', () => {
  test('says whose manifest it is of, of which day and revision, and when it was made', async () => {
    await night([DAYS[0]]);
    expect(await signatureOf(DAYS[0])).toContain(
      `\ntrusted comment: merchant=${MERCHANT}/date=${DAYS[0]}/manifest.json revision 1, signed ${book.now.toISOString()}\n`,
    );
    expect(await verified(OURS.publicKey)).toMatchObject({ problems: [], manifests: 1, signed: 1 });
  });

  test.skipIf(minisign === null)(
    'is what minisign accepts, and refuses once the manifest was changed',
    async () => {
      await night([DAYS[0]]);
      const check = () => promisify(execFile)(minisign!, ['-V', '-m', pathOf(DAYS[0]), '-P', OURS.publicKey]);
      expect((await check()).stdout).toContain(
        'Signature and comment signature verified\nTrusted comment: merchant=',
      );
      await writeFile(pathOf(DAYS[0]), (await readFile(pathOf(DAYS[0]), 'utf8')).replace('5.00', '6.00'));
      await expect(check()).rejects.toMatchObject({ code: 1 });
    },
  );

  test('is there before its manifest is, which is written last', async () => {
    const seen = watched(store);
    await night([DAYS[0]], SIGNED, [], seen);
    expect(seen.puts.slice(-2)).toEqual([signatureKey(MERCHANT, DAYS[0]), manifestKey(MERCHANT, DAYS[0])]);
  });

  test.each([
    ['the signature', signatureKey],
    ['the manifest', manifestKey],
  ])('is healed by the next run where the store failed at %s', async (_, keyOf) => {
    await night([DAYS[0]], SIGNED, [DAYS[0]]);
    const failing = watched(store, (key) =>
      key === keyOf(MERCHANT, DAYS[0]) ? new ObjectStoreUnreachable('away') : null,
    );
    await expect(night([DAYS[0]], SIGNED, [], failing)).rejects.toThrow('away');
    await book.published(store, SIGNED);
    expect(await repaired()).toMatchObject({ repaired: [], unrepaired: [] });
    expect(await manifestOf(DAYS[0])).toMatchObject({ revision: 2, place: 2 });
    expect(await problems(OURS.publicKey)).toEqual([]);
  });

  test('is written again where it is missing or was altered, with the same bytes', async () => {
    await night(DAYS);
    const before = await signatureOf(DAYS[0]);
    await rm(`${pathOf(DAYS[0])}.minisig`);
    await writeFile(`${pathOf(DAYS[1])}.minisig`, before);
    expect((await repaired()).repaired).toEqual([
      { merchantNo: MERCHANT, day: DAYS[0], key: signatureKey(MERCHANT, DAYS[0]), damage: 'missing' },
      { merchantNo: MERCHANT, day: DAYS[1], key: signatureKey(MERCHANT, DAYS[1]), damage: 'altered' },
    ]);
    expect(await signatureOf(DAYS[0])).toBe(before);
    expect(await problems(OURS.publicKey)).toEqual([]);
  });
});

describe('the key', () => {
  test('switched on later signs what was published, and changes no manifest', async () => {
    await night(DAYS.slice(0, 2), {});
    expect(await repaired({})).toMatchObject({ repaired: [], unrepaired: [] });
    const before = await readFile(pathOf(DAYS[0]), 'utf8');
    expect(await problems(OURS.publicKey)).toEqual([
      `${DAYS[0]}: it is not signed: there is no .minisig file next to it`,
      `${DAYS[1]}: it is not signed: there is no .minisig file next to it`,
    ]);
    await night(DAYS.slice(2));
    expect(await repaired()).toMatchObject({ repaired: [], unrepaired: [] });
    expect(await readFile(pathOf(DAYS[0]), 'utf8')).toBe(before);
    expect(await problems(OURS.publicKey)).toEqual([]);
    const later = watched(store);
    expect(await repaired(SIGNED, true, later)).toMatchObject({ repaired: [], unrepaired: [] });
    expect(later.puts).toEqual([]);
  });

  test('replaced by another one signs what comes, and earlier signatures stay', async () => {
    await night(DAYS.slice(0, 2));
    const next = { signingKey: OTHERS.key };
    await night(DAYS.slice(2), next);
    expect(await repaired(next, true)).toMatchObject({ repaired: [], unrepaired: [] });
    expect(await problems(OURS.publicKey, OTHERS.publicKey)).toEqual([]);
    expect(await problems(OURS.publicKey)).toEqual(
      DAYS.slice(2).map((day) => `${day}: it is signed by another key, ${OTHERS.id}; given is ${OURS.id}`),
    );
  });

  test('switched off leaves signatures, and takes one back where the manifest is replaced', async () => {
    await night(DAYS.slice(0, 2), SIGNED, [DAYS[1]]);
    await night(DAYS.slice(1), {});
    expect(await repaired({}, true)).toMatchObject({ repaired: [], unrepaired: [] });
    expect(await problems(OURS.publicKey)).toEqual([
      `${DAYS[1]}: it is not signed: it was published without the key`,
      `${DAYS[2]}: it is not signed: there is no .minisig file next to it`,
      `${DAYS[3]}: it is not signed: there is no .minisig file next to it`,
    ]);
    expect(await repaired()).toMatchObject({ repaired: [], unrepaired: [] });
    expect(await problems(OURS.publicKey)).toEqual([]);
  });
});

describe('verify with a public key', () => {
  /** Six manifests: the second day is revised after the third one, which then names its new statement. */
  beforeEach(async () => {
    await night(DAYS.slice(0, 3), SIGNED, [DAYS[1]]);
    await night([DAYS[1], DAYS[3]]);
  });

  test('finds the chain whole over a late revision, and names its end', async () => {
    const { problems: found, chains, signed } = await verified(OURS.publicKey);
    expect({ found, signed }).toEqual({ found: [], signed: 4 });
    const last = { day: DAYS[2], revision: 2, sha256: sha256Of(await readFile(pathOf(DAYS[2]))) };
    expect(chains).toEqual([
      {
        merchantNo: MERCHANT,
        manifests: 4,
        from: 1,
        through: 6,
        last,
        outdated: [],
        missing: [],
        outside: [],
      },
    ]);
    const second = await manifestOf(DAYS[1]);
    const third = await manifestOf(DAYS[2]);
    expect(second).toMatchObject({ place: 4, supersededManifests: [{ revision: 1, place: 2 }] });
    expect(second.previousManifest).toEqual({
      day: DAYS[2],
      revision: 1,
      sha256: third.supersededManifests![0]!.sha256,
    });
    expect(third.supersededManifests![0]!.previousManifest?.sha256).toBe(
      second.supersededManifests![0]!.sha256,
    );
  });

  test('finds a manifest that was taken away, with its signature and without', async () => {
    await rm(pathOf(DAYS[0]));
    await rm(pathOf(DAYS[1]));
    await rm(`${pathOf(DAYS[1])}.minisig`);
    const found = await problems(OURS.publicKey);
    expect(found).toContain(`${DAYS[0]}: the manifest that it signs is missing here`);
    await takeAway(DAYS[0]);
    await night([DAYS[0]]);
    await repaired();
    await takeAway(DAYS[1]);
    expect(await problems(OURS.publicKey)).toEqual([
      `${DAYS[3]}: revision 2 of ${DAYS[1]}, which it follows, is missing here`,
      `${DAYS[2]}: revision 1 of ${DAYS[1]}, which it follows, is missing here`,
    ]);
    expect(await problems()).toEqual([]);
  });

  test.each<[string, readonly string[], readonly string[]]>([
    [
      'the newest',
      DAYS.slice(2),
      [`${DAYS[1]}: manifest 3 of the chain, revision 1 of ${DAYS[2]}, is not here`],
    ],
    [
      'the oldest',
      DAYS.slice(0, 2),
      [
        `${DAYS[3]}: manifest 4 of the chain, revision 2 of ${DAYS[1]}, is not here`,
        `${DAYS[2]}: manifests 1 to 2 of the chain are not here, the last of which is revision 1 of ${DAYS[1]}`,
      ],
    ],
  ])('notes %s days that are not here, and with --whole makes them a problem', async (_, days, reported) => {
    for (const day of days) await takeAway(day);
    const { problems: found, chains } = await verified(OURS.publicKey);
    expect(found).toEqual([]);
    expect(chains[0]!.outside.map(textOf)).toEqual(reported);
    const whole = await verifiedAs(true, OURS.publicKey);
    expect(whole.problems.map(textOf)).toEqual(reported);
  });

  test('names all that is missing in a row of days between those here', async () => {
    for (const day of DAYS.slice(1, 3)) await takeAway(day);
    expect(await problems(OURS.publicKey)).toEqual([
      `${DAYS[3]}: revision 2 of ${DAYS[1]}, which it follows, is missing here, with manifests 2 to 3 of the chain`,
    ]);
  });

  test('finds a manifest that was moved to another day, with its signature', async () => {
    for (const name of ['manifest.json', 'manifest.json.minisig'])
      await cp(
        join(folder, `merchant=${MERCHANT}/date=${DAYS[0]}`, name),
        join(folder, `merchant=${MERCHANT}/date=${DAYS[3]}`, name),
      );
    expect(await problems(OURS.publicKey)).toContain(
      `${DAYS[3]}: it is the manifest of ${MERCHANT}, ${DAYS[0]}: it was moved here`,
    );
  });

  test('finds a changed manifest and a changed comment', async () => {
    const changed = (await readFile(pathOf(DAYS[3]), 'utf8')).replace('"epoch": ', '"epoch": 1');
    await writeFile(pathOf(DAYS[3]), changed);
    const comment = (await signatureOf(DAYS[0])).replace('revision 1', 'revision 2');
    await writeFile(`${pathOf(DAYS[0])}.minisig`, comment);
    await writeFile(`${pathOf(DAYS[1])}.minisig`, 'nothing');
    expect(await problems(OURS.publicKey)).toEqual([
      `${DAYS[0]}: it is wrongly signed: the manifest or its signature was changed`,
      `${DAYS[1]}: its signature cannot be read`,
      `${DAYS[3]}: it is wrongly signed: the manifest or its signature was changed`,
      `${DAYS[2]}: it follows revision 1 of ${DAYS[3]}, and the manifest of that day here is another one, revision 1, ` +
        `which does not name it: one of the two was changed; download both days again`,
    ]);
  });
});

test('a manifest that is put back to an earlier revision, with its own signature, is found', async () => {
  await night(DAYS.slice(0, 3), SIGNED, [DAYS[0]]);
  const earlier = join(folder, 'earlier');
  await cp(join(folder, `merchant=${MERCHANT}`), earlier, { recursive: true });
  await night([DAYS[0], DAYS[3]]);
  for (const name of ['manifest.json', 'manifest.json.minisig'])
    await cp(
      join(earlier, `date=${DAYS[0]}`, name),
      join(folder, `merchant=${MERCHANT}/date=${DAYS[0]}`, name),
    );
  await rm(earlier, { recursive: true });
  expect(await problems(OURS.publicKey)).toContain(
    `${DAYS[3]}: it follows revision 2 of ${DAYS[0]}, and the manifest of that day here is another one, revision 1: ` +
      `that one is out of date, or was put back; download both days again`,
  );
  // Without a key, it may be a download from before the day was revised.
  const { problems: found, chains } = await verified();
  expect(found.filter(({ problem }) => problem.includes('out of date'))).toEqual([]);
  expect(chains[0]!.outdated).toContainEqual({
    path: expect.stringContaining(DAYS[3]) as string,
    problem: expect.stringContaining('out of date') as string,
  });
});

/** Takes a copy of what the database knows to be published; what is returned puts it back. */
async function backedUp(): Promise<() => Promise<void>> {
  const tables = ['event', 'statement', 'artifact'] as const;
  const kept = await Promise.all(tables.map((table) => database.db.selectFrom(table).selectAll().execute()));
  return async () => {
    for (const [at, table] of tables.entries()) {
      await database.db.deleteFrom(table).execute();
      if (kept[at]!.length > 0) await database.db.insertInto(table).values(kept[at]!).execute();
    }
  };
}

test('a database that was restored to an earlier day goes on, and the chain stays whole', async () => {
  await night(DAYS.slice(0, 2));
  const restore = await backedUp();
  await night(DAYS.slice(2));
  await restore();
  await database.db.updateTable('account_day').set({ published_version: 0 }).execute();
  await night(DAYS.slice(2));
  await repaired();
  const last = await manifestOf(DAYS[3]);
  expect(last).toMatchObject({
    revision: 2,
    place: 4,
    supersededManifests: [{ revision: 1 }, { revision: 1 }],
  });
  expect(await problems(OURS.publicKey)).toEqual([]);
});

let adoptions = 0;
function adopted(keyed: Keyed = {}) {
  const leases = new Map<string, Promise<Lease>>();
  adoptions += 1;
  return adoptStore({
    ...{ db: database.db, objects: store, now: () => book.now, signal: new AbortController().signal },
    ...keyed,
    leaseOf: (name) => {
      const wanted = { name: `adoption ${adoptions} of ${name}`, holder: 'other:2:-', ttlMs: 600_000 };
      const lease = leases.get(name) ?? acquireLease(database.db, wanted);
      leases.set(name, lease);
      return lease;
    },
  });
}

describe('a database that was restored and went on before it adopted the store', () => {
  /** The first day is revised before the restore, and the third one is published before it and after it. */
  beforeEach(async () => {
    await night(DAYS.slice(0, 2), SIGNED, [DAYS[0]]);
    const restore = await backedUp();
    await night([DAYS[0], DAYS[2]]);
    await restore();
    await database.db
      .updateTable('account_day')
      .set({ published_version: 0 })
      .where('day', '=', DAYS[2])
      .execute();
    await book.published(store, SIGNED);
  });

  test('keeps a manifest that it does not know as evidence, with its signature', async () => {
    const before = await signatureOf(DAYS[0]);
    await database.db.updateTable('artifact').set({ signature: null }).execute();
    const why = expect.stringContaining('`daybook statements adopt`') as string;
    // The second day's manifest names the first one's statement, so it was made anew as well.
    expect((await repaired()).unrepaired).toMatchObject([
      { day: DAYS[0], why },
      { day: DAYS[1], why },
    ]);
    expect(await signatureOf(DAYS[0])).toBe(before);
  });

  test('publishes above a revision that it does not know, and names it', async () => {
    const unknown = sha256Of(await readFile(pathOf(DAYS[0]), 'utf8'));
    await database.db.updateTable('account_day').set({ published_version: 0 }).execute();
    await book.published(store, SIGNED);
    const { revision, supersededManifests } = await manifestOf(DAYS[0]);
    expect(revision).toBe(3);
    expect(supersededManifests).toContainEqual(expect.objectContaining({ revision: 2, sha256: unknown }));
  });

  test('adopts it, and the next repair leads both branches of the chain together', async () => {
    expect(await problems(OURS.publicKey)).toContain(
      `${DAYS[2]}: it is out of order: the manifest of ${DAYS[0]} follows the same one as it`,
    );
    expect(await adopted(SIGNED)).toMatchObject({ left: [], forked: 1 });
    await repaired();
    expect(await problems(OURS.publicKey)).toEqual([]);
    expect(await adopted(SIGNED)).toMatchObject({ left: [], statements: 0, forked: 0 });
    await night([DAYS[3]]);
    expect((await verifiedAs(true, OURS.publicKey)).problems).toEqual([]);
  });
});

test.each([
  ['in one line', [one('D1', 1), one('D2', 2), one('D3', 3)], []],
  ['revised, so that a listed one is followed', [one('D1', 4, 3, [1]), one('D2', 2, 1), one('D3', 3)], []],
  [
    'that follow the same one',
    [one('D1', 1), one('D2', 2), one('D3', 2.5, 1), one('D4', 3, 2.5)],
    ['D2', 'D3'],
  ],
  ['that none follows, and is not the last', [one('D1', 1), one('D2', 2), one('D3', 3, 1.5)], ['D2']],
  [
    'that one follows which is out of the chain by now',
    [one('D1', 1), one('D2', 2), { ...one('D3', 3), place: null }, one('D5', 5)],
    [],
  ],
  [
    'whose first writing is followed, as one that was found stood above it',
    [one('D1', 1), { ...one('D2', 2), sha256: '2b', superseded: ['2'] }, one('D3', 3)],
    [],
  ],
])('manifests %s', (_, manifests, days) => {
  expect(forkedDays(manifests)).toEqual(days);
});

/** A manifest at this place, which follows the one at another, with the places that it took over. */
function one(day: string, place: number, follows = place - 1, over: readonly number[] = []) {
  const names = [follows, ...over.map((old) => old - 1)].filter((at) => at > 0).map(String);
  const superseded = over.map(String);
  return {
    day,
    place,
    sha256: String(place),
    follows: follows === 0 ? null : String(follows),
    names,
    superseded,
  };
}

test('a store that was adopted keeps its signatures, and its chain goes on', async () => {
  await night(DAYS.slice(0, 2));
  await emptyTables(database.db);
  book = await openBook(database);
  await adopted();
  await night(DAYS, { signingKey: OTHERS.key });
  await repaired({ signingKey: OTHERS.key });
  expect((await readObject(store, signatureKey(MERCHANT, DAYS[0])))?.toString()).toContain(`key ${OURS.id}`);
  expect(await manifestOf(DAYS[3])).toMatchObject({ place: expect.any(Number) });
  expect((await verified(OURS.publicKey, OTHERS.publicKey)).problems).toEqual([]);
});

test.each([
  [
    'whose signature is of another text',
    (text: string) => text.replace('"epoch": ', '"epoch": 1'),
    'of another text',
  ],
  [
    'whose place leaves no room',
    (text: string) => text.replace('"place": 1,', '"place": 2147483647,'),
    'higher than',
  ],
])('a manifest %s is not adopted, and the next run publishes above it', async (_, change, why) => {
  await night([DAYS[0]]);
  await writeFile(pathOf(DAYS[0]), change(await readFile(pathOf(DAYS[0]), 'utf8')));
  await emptyTables(database.db);
  book = await openBook(database);
  const { left } = await adopted(SIGNED);
  expect(left).toEqual([
    { key: manifestKey(MERCHANT, DAYS[0]), why: expect.stringContaining(why) as string },
  ]);
  await night(DAYS.slice(0, 2));
  expect(await repaired()).toMatchObject({ repaired: [], unrepaired: [] });
  expect(await problems(OURS.publicKey)).toEqual([]);
});

test('a recorded signature that does not fit is made anew where all is read', async () => {
  await night([DAYS[0]], {});
  const other = OURS.key.sign(Buffer.from('another text'), 'of nothing here');
  await writeFile(`${pathOf(DAYS[0])}.minisig`, other);
  await emptyTables(database.db);
  book = await openBook(database);
  await adopted();
  expect(await problems(OURS.publicKey)).toContain(
    `${DAYS[0]}: it is wrongly signed: the manifest or its signature was changed`,
  );
  await repaired(SIGNED, true);
  expect(await problems(OURS.publicKey)).toEqual([]);
});

test('a first signing that was cut short is gone on with, and told as no damage', async () => {
  await night(DAYS, {});
  const failing = watched(store, (key) =>
    key === signatureKey(MERCHANT, DAYS[2]) ? new ObjectStoreUnreachable('away') : null,
  );
  await expect(repaired(SIGNED, false, failing)).rejects.toThrow('away');
  expect(await repaired()).toMatchObject({ repaired: [], unrepaired: [] });
  expect(await problems(OURS.publicKey)).toEqual([]);
});

test('a repair that is asked to stop writes neither the next file nor signatures', async () => {
  await night(DAYS.slice(0, 2), {});
  const files = DAYS.slice(0, 2).map((day) => manifestKey(MERCHANT, day));
  for (const key of files) await rm(join(folder, key));
  for (const key of files) {
    const stop = new AbortController();
    const seen = watched(store, () => {
      stop.abort(new Error('asked to stop'));
      return null;
    });
    await expect(repaired(SIGNED, false, seen, stop)).rejects.toThrow('asked to stop');
    expect(seen.puts).toEqual([key]);
  }
});

test('a day put above a forgotten manifest says when it is final, and is not made anew for it', async () => {
  const lateness = {
    watched: [{ month: '2025-12-01', entries: 100_000, sampledOn: '2026-03-28' }],
    late: [],
  };
  const measured = { ...SIGNED, lateness };
  await night([DAYS[0]]);
  await emptyTables(database.db);
  book = await openBook(database);
  await book.synced(shown(), [DAYS[0]]);
  await book.reconciled();
  await book.published(store, measured);
  const made = await manifestOf(DAYS[0]);
  expect(made).toMatchObject({ revision: 2, final: { by: expect.any(String) as string } });
  await database.db.updateTable('account_day').set({ published_version: 0 }).execute();
  expect(await book.published(store, measured)).toMatchObject({ published: [], unchanged: 1 });
  expect(await manifestOf(DAYS[0])).toEqual(made);
});

test('a manifest that somebody without the key put there is named, and nothing that it says', async () => {
  await night(DAYS.slice(0, 2));
  const own = await manifestOf(DAYS[1]);
  const forged = `${JSON.stringify({
    ...{ ...own, day: DAYS[2], revision: 7, place: 9 },
    previousManifest: { day: DAYS[0], revision: 9, sha256: '0'.repeat(64) },
    supersededManifests: [{ revision: 1, sha256: '1'.repeat(64), place: 1 }],
  })}\n`;
  await store.put(manifestKey(MERCHANT, DAYS[2]), Buffer.from(forged), { contentType: 'application/json' });
  const foreign: ForeignManifest[] = [];
  await night([DAYS[2]], { ...SIGNED, onForeign: (found) => foreign.push(found) });
  const key = manifestKey(MERCHANT, DAYS[2]);
  expect(foreign).toEqual([
    { merchantNo: MERCHANT, day: DAYS[2], key, revision: 7, sha256: sha256Of(forged) },
  ]);
  const made = await manifestOf(DAYS[2]);
  expect(made).toMatchObject({ revision: 8, place: 3 });
  expect(made.supersededManifests).toEqual([
    { revision: 7, sha256: sha256Of(forged) },
    { revision: 1, sha256: expect.any(String) as string, place: 3, previousManifest: made.previousManifest },
  ]);
  expect(await problems(OURS.publicKey)).toEqual([]);
});

test('without the key, the signature of a manifest that was forgotten is taken back', async () => {
  await night([DAYS[0]], SIGNED, [DAYS[0]]);
  await emptyTables(database.db);
  book = await openBook(database);
  await night([DAYS[0]], {});
  expect(await manifestOf(DAYS[0])).toMatchObject({ revision: 2 });
  expect(await problems(OURS.publicKey)).toContain(
    `${DAYS[0]}: it is not signed: it was published without the key`,
  );
});

test('a manifest that a later one lists by its SHA-256 alone is no gap in the chain', () => {
  const link = (day: string, sha256: string) => ({ day, revision: 1, sha256 });
  const read = (day: string, sha256: string, place: number, more: Partial<Manifest>): ReadManifest => ({
    ...{ path: `date=${day}/manifest.json`, sha256, isComplete: true },
    manifest: { merchantNo: 'M', day, revision: 1, place, ...more } as Manifest,
  });
  const { chains, problems: found } = verifyChains([
    read('2026-03-01', 'a', 1, { previousManifest: null }),
    read('2026-03-02', 'b', 2, { previousManifest: link('2026-03-01', 'a') }),
    // The third one was by somebody else's key, so what it says was not taken over.
    read('2026-03-04', 'd', 4, { previousManifest: link('2026-03-03', 'c') }),
    read('2026-03-03', 'e', 5, {
      previousManifest: link('2026-03-04', 'd'),
      supersededManifests: [{ revision: 1, sha256: 'c' }],
    }),
  ]);
  expect(found).toEqual([]);
  expect(chains).toMatchObject([{ from: 1, through: 5, missing: [], outside: [] }]);
});

test('a manifest without a row takes no place in the chain on the word of somebody else', async () => {
  await night([DAYS[0]]);
  await database.db.deleteFrom('artifact').where('kind', '=', 'manifest').execute();
  const text = await readFile(pathOf(DAYS[0]), 'utf8');
  await writeFile(pathOf(DAYS[0]), text.replace('"place": 1,', '"place": 999999,'));
  const foreign: ForeignManifest[] = [];
  await repaired({ ...SIGNED, onForeign: (one) => foreign.push(one) });
  expect(foreign).toMatchObject([{ day: DAYS[0], revision: 1 }]);
  expect(await manifestOf(DAYS[0])).toMatchObject({ revision: 2, place: 1 });
  expect(await manifestOf(DAYS[0])).toMatchObject({ place: 1 });
  expect(await problems(OURS.publicKey)).toEqual([]);
});
