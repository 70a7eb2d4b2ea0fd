/** Days that are published together: the same files as day by day, in whatever portions they come. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import { portionsOf } from '../../src/statements/day-content.ts';
import { manifestKey } from '../../src/verify/names.ts';
import { parseManifest } from '../../src/verify/manifest.ts';
import { dueBatch } from '../../src/store/statements/due-days.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, ZONE, type Book } from './book.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from './store-oracle.ts';

const DAYS = ['2026-03-27', '2026-03-28', '2026-03-29', '2026-03-30'] as const;
/** More than are held in memory at once. */
const LARGE = 4_001;

let folder: string;
let store: ObjectStore;
let book: Book;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-batches-'));
  store = createDirectoryStore(folder);
  book = await openBook(await freshDatabase());
});
afterEach(async () => {
  await book.database.close();
  await rm(folder, { recursive: true });
});

const read = async (entries: readonly LedgerEntry[]) => {
  await book.synced(entries, DAYS);
  await book.reconciled();
};
const at = (day: string, second: number) => `${day} ${new Date(second * 1_000).toISOString().slice(11, 19)}`;
const entriesWith = (counts: readonly number[]) =>
  accountEntries(
    100_00,
    DAYS.flatMap((day, nth) =>
      Array.from({ length: counts[nth]! }, (_, second): [string, number] => [at(day, second), 1_00]),
    ),
  );
const statementOf = async (day: string) =>
  parseManifest((await readObject(store, manifestKey(MERCHANT, day)))!.toString('utf8'))!.statements[0]!;

/** The store holds what the database says, `verify` finds nothing, and each manifest names the statement before it. */
async function expectWhole(): Promise<void> {
  expect(await filesOfStore(store)).toEqual(await filesOfDatabase(book.database.db));
  expect(await verifyProblems(store)).toEqual([]);
  for (const [nth, day] of DAYS.entries()) {
    const before = nth === 0 ? null : (await statementOf(DAYS[nth - 1]!)).sha256;
    expect((await statementOf(day)).previousSha256).toBe(before);
  }
}

/** The days of each portion, and whether its entries are held. */
async function portions(): Promise<[held: boolean, ...days: string[]][]> {
  const { db } = book.database;
  const due = await dueBatch(db, EVERY_ACCOUNT, { after: null });
  const found: [boolean, ...string[]][] = [];
  for await (const { days, held } of portionsOf({ db, zone: ZONE, merchantNo: MERCHANT, days: due!.days }))
    found.push([held !== null, ...days.map(({ day }) => day)]);
  return found;
}

test('a large day between small ones is published alone, and all follow from each other', async () => {
  await read(entriesWith([3, 2, LARGE, 2]));
  expect(await portions()).toEqual([
    [true, DAYS[0], DAYS[1]],
    [false, DAYS[2]],
    [true, DAYS[3]],
  ]);
  const { published, withheld } = await book.published(store);
  expect(published.map(({ day }) => day)).toEqual(DAYS);
  expect(withheld).toEqual([]);
  expect((await statementOf(DAYS[2])).rows).toBe(LARGE);
  await expectWhole();
}, 60_000);

test('small days that are too many to be held at once come in portions', async () => {
  await read(entriesWith([1_500, 1_500, 1_500, 1_500]));
  expect(await portions()).toEqual([
    [true, DAYS[0], DAYS[1]],
    [true, DAYS[2], DAYS[3]],
  ]);
  expect((await book.published(store)).published).toHaveLength(DAYS.length);
  await expectWhole();
}, 60_000);

test('a large day whose entries do not give its figures keeps itself and later days from being published', async () => {
  await read(entriesWith([2, 1, LARGE, 1]));
  const { db } = book.database;
  await db.updateTable('account_day').set({ closing: '1.00' }).where('day', '=', DAYS[2]).execute();
  const { published, withheld } = await book.published(store);
  expect(published.map(({ day }) => day)).toEqual(DAYS.slice(0, 2));
  expect(withheld).toMatchObject([
    { day: DAYS[2], cause: 'misfit' },
    { day: DAYS[3], cause: 'not-reconciled' },
  ]);
  expect(await filesOfStore(store)).toEqual(await filesOfDatabase(db));
  await book.reconciled();
  await book.published(store);
  await expectWhole();
}, 60_000);

test('an unchanged day between two that change gets its manifest anew, and counts as unchanged', async () => {
  const entries = entriesWith([2, 2, 2, 2]);
  await read(entries);
  await book.published(store);
  const changed = entries.map((entry) =>
    [DAYS[0], DAYS[2]].some((day) => entry.bookedAt.startsWith(day))
      ? { ...entry, transactionType: 'FEE' }
      : entry,
  );
  await read(changed);
  const { published, unchanged, withheld } = await book.published(store);
  expect(published.map(({ day, revision }) => [day, revision])).toEqual([
    [DAYS[0], 2],
    [DAYS[2], 2],
  ]);
  expect([unchanged, withheld]).toEqual([2, []]);
  await expectWhole();
  expect(await book.published(store)).toMatchObject({ published: [], unchanged: 0 });
});

test('a published day that is withheld is told once, though the day before it changed', async () => {
  const entries = entriesWith([2, 2, 2, 2]);
  await read(entries);
  await book.published(store);
  const { db } = book.database;
  await read(entries.map((entry, nth) => (nth === 0 ? { ...entry, transactionType: 'FEE' } : entry)));
  await db.updateTable('account_day').set({ published_version: 0 }).execute();
  await db.updateTable('certificate').set({ problem: 'total moved' }).where('day', '=', DAYS[1]).execute();
  const { published, withheld, unchanged } = await book.published(store);
  expect(published.map(({ day }) => day)).toEqual([DAYS[0]]);
  expect(withheld).toMatchObject([{ day: DAYS[1], cause: 'uncertified' }]);
  expect(unchanged).toBe(2);
  // Its manifest names the new revision all the same.
  expect((await statementOf(DAYS[1])).previousSha256).toBe((await statementOf(DAYS[0])).sha256);
});
