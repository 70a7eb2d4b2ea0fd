/** Publishing with a real database to every object store: a folder, fauxqs, and a gateway if one is given. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accountsOf, EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import {
  digestOf,
  ObjectDenied,
  ObjectStoreUnreachable,
  readObject,
  type ObjectStore,
} from '../../src/objects/object-store.ts';
import { parseManifest, type Manifest } from '../../src/verify/manifest.ts';
import { acquireLease } from '../../src/store/engine/lease.ts';
import { listStatements } from '../../src/store/statements/statements.ts';
import { storeWindow } from '../support/store-window.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { freshBucket, gatewayServer, startFauxqsServer } from '../objects/s3-servers.ts';
import { MERCHANT, openBook, watched, type Book } from './book.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const gateway = gatewayServer();
const places: readonly (readonly [
  string,
  () => Promise<{ store: ObjectStore; close: () => Promise<void> }>,
])[] = [
  [
    'a directory',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'daybook-publish-'));
      const statementsUrl = pathToFileURL(folder).href;
      return {
        store: await openObjectStore({ statementsUrl, s3ForcePathStyle: null, env: {} }),
        close: () => rm(folder, { recursive: true }),
      };
    },
  ],
  [
    'fauxqs',
    async () => {
      const server = await startFauxqsServer();
      return { store: (await freshBucket(server)).store, close: server.stop };
    },
  ],
  ...(gateway === null
    ? []
    : ([
        [
          'the gateway',
          async () => ({ store: (await freshBucket(gateway)).store, close: () => Promise.resolve() }),
        ],
      ] as const)),
];

const D1 = '2026-03-30';
const D2 = '2026-03-31';
const folder = (day: string) => `merchant=${MERCHANT}/date=${day}`;
const csv = (day: string, revision: number, currency = 'USD') =>
  `${folder(day)}/${MERCHANT}_${currency}_${day}.r${revision}.csv`;

const ENTRIES = accountEntries(100_00, [
  [`${D1} 09:00:00`, 50_00],
  [`${D1} 17:30:00`, -25_50],
  [`${D2} 08:00:00`, 10_00],
]);
/** What the platform holds after a late entry of the first day. */
const LATER = accountEntries(100_00, [
  [`${D1} 09:00:00`, 50_00],
  [`${D1} 12:00:00`, 1_00],
  [`${D1} 17:30:00`, -25_50],
  [`${D2} 08:00:00`, 10_00],
]).map((entry, index) => ({ ...entry, batchNo: ['B0000', 'LATE', 'B0001', 'B0002'][index]! }));

const keysOf = async (store: ObjectStore): Promise<string[]> => {
  const keys: string[] = [];
  for await (const { key } of store.survey('')) keys.push(key);
  return keys;
};
const textOf = async (store: ObjectStore, key: string): Promise<string | undefined> =>
  (await readObject(store, key))?.toString('utf8');
const manifestOf = async (store: ObjectStore, day: string): Promise<Manifest> =>
  parseManifest((await textOf(store, `${folder(day)}/manifest.json`)) ?? '')!;

for (const { options, cases } of shortAndLong(places))
  describe.each(cases)('publishing to %s', options, (_, open) => {
    let store: ObjectStore;
    let close: () => Promise<void>;
    let book: Book;
    beforeEach(async () => {
      ({ store, close } = await open());
      book = await openBook(await freshDatabase());
    });
    afterEach(async () => {
      await book.database.close();
      await close();
    });

    const syncedAndReconciled = async (entries: readonly LedgerEntry[], days = [D1, D2]) => {
      await book.synced(entries, days);
      await book.reconciled();
    };

    test('two days become statements, summaries and manifests, all manifests last', async () => {
      await syncedAndReconciled(ENTRIES);
      const objects = watched(store);
      const report = await book.published(objects);

      expect(report).toEqual({
        published: [
          {
            account: { merchantNo: MERCHANT, currency: 'USD' },
            day: D1,
            revision: 1,
            key: csv(D1, 1),
            reason: null,
          },
          {
            account: { merchantNo: MERCHANT, currency: 'USD' },
            day: D2,
            revision: 1,
            key: csv(D2, 1),
            reason: null,
          },
        ],
        unchanged: 0,
        withheld: [],
        unlinked: [],
      });
      for (const day of [D1, D2]) {
        expect(objects.puts.filter((key) => key.startsWith(folder(day)))).toEqual([
          csv(day, 1),
          `${folder(day)}/summary.r1.csv`,
          `${folder(day)}/manifest.json`,
        ]);
      }
      expect(objects.puts.slice(-2).toSorted()).toEqual(
        [D1, D2].map((day) => `${folder(day)}/manifest.json`),
      );
      expect(await textOf(store, csv(D1, 1))).toBe(
        'batch_no,booked_at,currency,transaction_type,credit,debit,balance\r\n' +
          'B0000,2026-03-30 09:00:00,USD,PAY,50.00,,150.00\r\n' +
          'B0001,2026-03-30 17:30:00,USD,PAY,,25.50,124.50\r\n',
      );
      const { sha256 } = await digestOf((await store.get(csv(D2, 1)))!);
      expect(await textOf(store, `${folder(D2)}/summary.r1.csv`)).toBe(
        'merchant_no,day,currency,opening,credit_total,credit_count,debit_total,debit_count,closing,verdict,breaks,' +
          'revision,file,sha256\r\n' +
          `${MERCHANT},${D2},USD,124.50,10.00,1,0.00,0,134.50,continuous,0,1,${MERCHANT}_USD_${D2}.r1.csv,${sha256}\r\n`,
      );
      const manifest = await manifestOf(store, D2);
      expect(manifest.statements).toMatchObject([
        {
          currency: 'USD',
          sha256,
          rows: 1,
          opening: '124.50',
          closing: '134.50',
          openingDerived: false,
          previousDay: D1,
          previousSha256: (await digestOf((await store.get(csv(D1, 1)))!)).sha256,
          superseded: [],
        },
      ]);
      expect(manifest.certificates).toMatchObject([
        { currency: null, total: 1, distinct: 1, quarantined: 0 },
      ]);
    });

    test('a day proven to be empty is published without rows and with the same balance; a late entry revises it', async () => {
      const first = ENTRIES.slice(0, 2);
      await syncedAndReconciled(first);
      expect((await book.published(store)).published.map(({ key }) => key)).toEqual([csv(D1, 1), csv(D2, 1)]);
      expect(await textOf(store, csv(D2, 1))).toBe(
        'batch_no,booked_at,currency,transaction_type,credit,debit,balance\r\n',
      );
      expect((await textOf(store, `${folder(D2)}/summary.r1.csv`))?.split('\r\n')[1]).toMatch(
        new RegExp(`^${MERCHANT},${D2},USD,124.50,0.00,0,0.00,0,124.50,continuous,0,1,`),
      );
      expect((await manifestOf(store, D2)).statements).toMatchObject([
        { rows: 0, opening: '124.50', closing: '124.50', openingDerived: false, previousDay: D1 },
      ]);
      await syncedAndReconciled(ENTRIES);
      expect((await book.published(store)).published.map(({ key, reason }) => [key, reason])).toEqual([
        [csv(D2, 2), '1 late entry (B0002)'],
      ]);
    });

    test('publishing again uploads nothing, even after chaining the same days again', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      const objects = watched(store);
      expect(await book.published(objects)).toEqual({
        published: [],
        unchanged: 0,
        withheld: [],
        unlinked: [],
      });
      await book.database.db.updateTable('account_day').set({ published_version: 0 }).execute();
      expect(await book.published(objects)).toEqual({
        published: [],
        unchanged: 2,
        withheld: [],
        unlinked: [],
      });
      expect(objects.puts).toEqual([]);
    });

    test('a late entry makes new revisions that say why, and does not change the old bytes', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      const before = await textOf(store, csv(D1, 1));
      await syncedAndReconciled(LATER);
      const { published } = await book.published(store);

      expect(published.map(({ key, reason }) => [key, reason])).toEqual([
        [csv(D1, 2), '1 late entry (LATE), 1 entry amended (B0001)'],
        [csv(D2, 2), '1 entry amended (B0002), opening moved by 1.00'],
      ]);
      expect(await textOf(store, csv(D1, 1))).toBe(before);
      const [current] = (await manifestOf(store, D1)).statements;
      expect(current).toMatchObject({
        revision: 2,
        superseded: [
          { revision: 1, supersededBy: 2, reason: '1 late entry (LATE), 1 entry amended (B0001)' },
        ],
      });
      expect((await manifestOf(store, D2)).statements[0]?.previousSha256).toBe(current?.sha256);
      expect(
        await listStatements(book.database.db, { ...EVERY_ACCOUNT, fromDay: D1, toDay: D1 }),
      ).toMatchObject([
        { revision: 1, supersedes: null, reason: null },
        { revision: 2, supersedes: 1 },
      ]);
    });

    test('an entry that an amendment moves to another day is named by both days, a returned entry by its own', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      const [first, , last] = ENTRIES;
      const moved = { ...last!, bookedAt: `${D1} 23:00:00`, bookedMs: Date.parse(`${D1}T23:00:00Z`) };
      await syncedAndReconciled([first!, ENTRIES[1]!, moved]);
      const { published } = await book.published(store);
      expect(published.map(({ reason }) => reason)).toEqual([
        `1 entry moved here (B0002 from ${D2})`,
        `1 entry moved away (B0002 to ${D1}), opening moved by 10.00`,
      ]);

      await syncedAndReconciled([first!, ENTRIES[1]!]);
      await book.published(store);
      book.now = new Date(book.now.getTime() + 1);
      await syncedAndReconciled([first!, ENTRIES[1]!, moved]);
      const back = await book.published(store);
      expect(back.published.map(({ reason }) => reason)).toEqual([
        '1 entry that came back (B0002)',
        'opening moved by 10.00',
      ]);
    });

    test('a revision whose earlier file cannot be read is still published, and says so', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      await syncedAndReconciled(LATER);
      const archived = new ObjectDenied('it lies in an archive');
      const get = (key: string) => (key === csv(D1, 1) ? Promise.reject(archived) : store.get(key));
      const { published } = await book.published({ ...store, get });
      const unread = 'the file of the revision before could not be read, so entries are not named';
      expect(published.map(({ reason }) => reason)).toEqual([
        `1 entry more, ${unread}`,
        '1 entry amended (B0002), opening moved by 1.00',
      ]);
    });

    test('a revision waits for a store that fails for a while, and names its entries then', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      await syncedAndReconciled(LATER);
      const cut = new ObjectStoreUnreachable('the connection was cut');
      const get = (key: string) => (key === csv(D1, 1) ? Promise.reject(cut) : store.get(key));
      await expect(book.published({ ...store, get })).rejects.toBe(cut);
      const { published } = await book.published(store);
      expect(published.map(({ reason }) => reason)).toEqual([
        '1 late entry (LATE), 1 entry amended (B0001)',
        '1 entry amended (B0002), opening moved by 1.00',
      ]);
    });

    test('a day with changed bytes but the same closing changes only the manifest of the next day', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      await syncedAndReconciled(
        ENTRIES.map((entry) => (entry.batchNo === 'B0000' ? { ...entry, transactionType: 'FEE' } : entry)),
      );
      const objects = watched(store);
      const { published, unchanged } = await book.published(objects);
      expect(published).toMatchObject([{ day: D1, revision: 2, reason: '1 entry amended (B0000)' }]);
      expect(unchanged).toBe(1);
      expect(objects.puts.filter((key) => key.startsWith(folder(D2)))).toEqual([
        `${folder(D2)}/manifest.json`,
      ]);
      expect((await manifestOf(store, D2)).statements[0]?.previousSha256).toBe(
        (await manifestOf(store, D1)).statements[0]?.sha256,
      );
    });

    test('a day without certificates, or not over, is withheld with the reason', async () => {
      await syncedAndReconciled(ENTRIES);
      await storeWindow(book.database.db, book.lease, {
        merchantNo: MERCHANT,
        window: { beginMs: Date.parse(`${D1}T12:00:00Z`), endMs: Date.parse(`${D1}T12:59:59.999Z`) },
        reading: {
          entries: [],
          unreadable: [],
          total: 1,
          requests: 1,
          certified: false,
          problem: 'total moved',
        },
        runId: 1,
        now: book.now,
      });
      const clock = () => new Date(`${D2}T23:59:59.999Z`);
      const { published, withheld } = await book.published(store, { now: clock });
      expect(published).toEqual([]);
      expect(withheld).toEqual([
        {
          account: { merchantNo: MERCHANT, currency: 'USD' },
          day: D1,
          cause: 'uncertified',
          why: 'no certificate covers 2026-03-30 00:00:00 to 2026-03-31 00:00:00 (UTC)',
        },
        {
          account: { merchantNo: MERCHANT, currency: 'USD' },
          day: D2,
          cause: 'not-over',
          why: 'the day is not over before 2026-04-01 00:00:00 (UTC)',
        },
      ]);
      expect(await keysOf(store)).toEqual([]);
    });

    test('only the days, currencies and merchant asked for are published', async () => {
      const euro = accountEntries(0, [[`${D1} 10:00:00`, 5_00]], 'E').map((entry) => ({
        ...entry,
        currency: 'EUR',
      }));
      await syncedAndReconciled([...ENTRIES, ...euro]);
      const keys = async (change: Parameters<Book['published']>[1]) =>
        (await book.published(store, change)).published.map(({ key }) => key);
      expect(await keys({ accounts: accountsOf('M-OTHER') })).toEqual([]);
      // The second day is proven to hold no euro: it is published as well.
      expect(await keys({ accounts: { merchants: null, currencies: ['EUR'] } })).toEqual([
        csv(D1, 1, 'EUR'),
        csv(D2, 1, 'EUR'),
      ]);
      expect(await keys({ accounts: accountsOf(MERCHANT), fromDay: D2, toDay: D2 })).toEqual([csv(D2, 1)]);
      expect(await keys({})).toEqual([csv(D1, 1)]);
      expect((await textOf(store, `${folder(D1)}/summary.r2.csv`))?.split('\r\n')).toHaveLength(4);
      // The second day was published before the first. Its manifest was corrected once the first was there.
      expect((await manifestOf(store, D2)).statements[0]?.previousDay).toBe(D1);
    });

    test.each([
      ['the first statement', csv(D1, 1)],
      ['the summary', `${folder(D1)}/summary.r1.csv`],
      ['the manifest', `${folder(D1)}/manifest.json`],
      ['the next day', csv(D2, 1)],
    ])('stopped at %s and run again, the result is the same as without a stop', async (__, stopAt) => {
      await syncedAndReconciled(ENTRIES);
      const stopped = watched(store, (key) => (key === stopAt ? new Error('stopped') : null));
      await expect(book.published(stopped)).rejects.toThrow('stopped');
      await book.published(store);
      expect(await keysOf(store)).toEqual([
        csv(D1, 1),
        `${folder(D1)}/manifest.json`,
        `${folder(D1)}/summary.r1.csv`,
        csv(D2, 1),
        `${folder(D2)}/manifest.json`,
        `${folder(D2)}/summary.r1.csv`,
      ]);
      expect(await listStatements(book.database.db)).toMatchObject([
        { day: D1, revision: 1 },
        { day: D2, revision: 1 },
      ]);
      expect((await manifestOf(store, D1)).statements).toMatchObject([{ revision: 1 }]);
      expect(await book.published(watched(store, () => new Error('nothing is due')))).toMatchObject({
        unchanged: 0,
      });
    });

    test('a file that an aborted try left under the same name is replaced, as nothing refers to it', async () => {
      await syncedAndReconciled(ENTRIES);
      await store.put(csv(D1, 1), Buffer.from('half a day'));
      await book.published(store);
      expect(await textOf(store, csv(D1, 1))).toContain('B0001');
    });

    test('a statement that is unknown to the database stays, and the next number is used', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      const before = await textOf(store, csv(D1, 1));
      await book.database.close();
      book = await openBook(await freshDatabase());
      await syncedAndReconciled(LATER);
      const { published } = await book.published(store);
      expect(published).toMatchObject([
        { key: csv(D1, 2), reason: 'revision 1 was published, and this database does not know it' },
        { key: csv(D2, 2) },
      ]);
      expect(await textOf(store, csv(D1, 1))).toBe(before);
    });

    test('nothing is written once the lease is lost', async () => {
      await syncedAndReconciled(ENTRIES);
      const { db } = book.database;
      await db.updateTable('lease').set({ expires_at: null }).execute();
      await acquireLease(db, { name: 'ledger', holder: 'other:1:-', ttlMs: 60_000 });
      await expect(book.published(store)).rejects.toMatchObject({ name: 'LeaseLost' });
      expect(await listStatements(db)).toEqual([]);
      expect(await keysOf(store)).toEqual([]);
    });

    test('a day whose entries all vanished gets an empty revision', async () => {
      await syncedAndReconciled(ENTRIES);
      await book.published(store);
      await syncedAndReconciled(ENTRIES.slice(0, 2));
      const { published } = await book.published(store);
      expect(published).toMatchObject([
        { key: csv(D2, 2), reason: '1 entry no longer held by the platform (B0002)' },
      ]);
      expect((await textOf(store, csv(D2, 2)))?.split('\r\n')).toHaveLength(2);
    });
  });
