/** Days that a run published and leaves to be recorded as done together with other merchants. */
import { sql } from 'kysely';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import type { BusinessDay } from '../../src/ledger/entry.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { PublishedNow } from '../../src/statements/publish-options.ts';
import { repairFiles, type RepairOptions } from '../../src/statements/repair-files.ts';
import { recordSettled } from '../../src/store/statements/record-published.ts';
import { resolveBreak } from '../../src/store/breaks/break-cases.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { noteDays } from '../support/note-days.ts';
import { MERCHANT, openBook, watched, ZONE, type Book } from './book.ts';
import { filesOfDatabase, filesOfStore } from './store-oracle.ts';

const FIRST = '2026-03-30';
const SECOND = addDays(FIRST, 1);
const BOTH = [FIRST, SECOND];

let database: Database;
let book: Book;
let folder: string;
let objects: ObjectStore;
let asked: string[];
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(async () => {
  await emptyTables(database.db);
  book = await openBook(database);
  folder = await mkdtemp(join(tmpdir(), 'daybook-now-'));
  const store = createDirectoryStore(folder);
  asked = [];
  objects = {
    ...store,
    survey: (prefix, range) => {
      asked.push(`survey ${range?.after?.slice(-11, -1)} ${range?.through?.slice(-13, -3)}`);
      return store.survey(prefix, range);
    },
    digest: (key) => {
      asked.push(`read ${key.split('/').at(-1)}`);
      return store.digest(key);
    },
  };
});
afterEach(() => rm(folder, { recursive: true }));
afterAll(() => database.close());

/** So many entries on each of the days are read and chained. */
async function shown(entries: number, days: readonly BusinessDay[], unlike: Record<string, number> = {}) {
  const at = (day: string, nth: number): [string, number] => [
    `${day} ${new Date(nth * 10_000).toISOString().slice(11, 19)}`,
    1_00,
  ];
  const all = accountEntries(
    100_00,
    days.flatMap((day) => Array.from({ length: unlike[day] ?? entries }, (_, nth) => at(day, nth))),
  ).map((entry) => ({ ...entry, batchNo: `B${entry.bookedAt}` }));
  await book.synced(all, days);
  await book.reconciled();
}

const dueDays = async (): Promise<BusinessDay[]> => {
  const rows = await database.db
    .selectFrom('account_day')
    .select('day')
    .where(sql<boolean>`version <> published_version`)
    .orderBy('day')
    .execute();
  return rows.map(({ day }) => day);
};

const record = (publishedNow: PublishedNow): Promise<void> =>
  database.db
    .transaction()
    .execute((trx) => recordSettled(trx, [...publishedNow.stored.values()], publishedNow.settled));

const compared = (change: Partial<RepairOptions> = {}) => {
  asked = [];
  return repairFiles({
    ...{ db: database.db, lease: book.lease, objects, zone: ZONE, clockToleranceS: 2, runId: book.runId },
    ...{ now: () => book.now, signal: new AbortController().signal },
    ...{ merchantNo: MERCHANT, fromDay: FIRST, toDay: SECOND },
    ...change,
  });
};

test('stay due until they are recorded; the next run finds them unchanged and writes nothing', async () => {
  await shown(3, BOTH);
  const publishedNow = new PublishedNow();
  const { published } = await book.published(objects, { publishedNow });
  expect(published.map(({ day }) => day)).toEqual(BOTH);
  expect(await dueDays()).toEqual(BOTH);

  // The process was killed here.
  const again = watched(objects);
  expect(await book.published(again)).toMatchObject({ published: [], unchanged: 2, withheld: [] });
  expect(again.puts.filter((key) => !key.endsWith('manifest.json'))).toEqual([]);
  expect(await dueDays()).toEqual([]);
  expect(await filesOfStore(objects)).toEqual(await filesOfDatabase(database.db));
  expect(await compared()).toMatchObject({ repaired: [], unrepaired: [] });
});

test('are done once they are recorded, and nothing is read again', async () => {
  await shown(3, BOTH);
  const publishedNow = new PublishedNow();
  await book.published(objects, { publishedNow });
  await record(publishedNow);
  expect(await dueDays()).toEqual([]);
  expect(await book.published(objects)).toMatchObject({ published: [], unchanged: 0 });
  await compared();
  expect(asked).toEqual([`survey ${FIRST} ${SECOND}`]);
});

test('are not compared in the same run, as far as they are new', async () => {
  await shown(3, [FIRST]);
  await book.published(objects);
  await shown(3, BOTH);
  const publishedNow = new PublishedNow();
  await book.published(objects, { publishedNow });
  expect(await compared({ publishedNow })).toMatchObject({ repaired: [], unrepaired: [] });
  expect(asked).toEqual([`survey ${FIRST} ${FIRST}`]);
  await compared({ publishedNow, readsAll: true });
  expect(asked.filter((one) => one.startsWith('read '))).toHaveLength(6);
});

test('of which one was revised: its manifest is known, and its earlier files are compared', async () => {
  await shown(3, BOTH);
  await book.published(objects);
  await shown(3, BOTH, { [SECOND]: 4 });
  const publishedNow = new PublishedNow();
  await book.published(objects, { publishedNow });
  await compared({ publishedNow });
  expect(asked).toEqual([`survey ${FIRST} ${SECOND}`]);
});

test('and of which one was revised while another is new: the revised one is compared', async () => {
  await shown(3, [FIRST]);
  await book.published(objects);
  await shown(3, BOTH, { [FIRST]: 4 });
  const publishedNow = new PublishedNow();
  await book.published(objects, { publishedNow });
  expect(await compared({ publishedNow })).toMatchObject({ repaired: [], unrepaired: [] });
  expect(asked).toEqual([`survey ${FIRST} ${FIRST}`]);
});

test('and that a revision makes due meanwhile are published once', async () => {
  // Too many entries for both days to be held together: the second day is published after the first.
  await shown(2_500, BOTH);
  await book.published(objects);
  await shown(2_501, BOTH);
  const publishedNow = new PublishedNow();
  const { published, unchanged } = await book.published(objects, { publishedNow });
  expect(published.map(({ day, revision }) => [day, revision])).toEqual(BOTH.map((day) => [day, 2]));
  expect(unchanged).toBe(0);
  await record(publishedNow);
  expect(await dueDays()).toEqual([]);
  expect(await filesOfStore(objects)).toEqual(await filesOfDatabase(database.db));
});

test('and became due again after that are not recorded', () => {
  const publishedNow = new PublishedNow();
  const on = (day: BusinessDay) => ({
    account: { merchantNo: MERCHANT, currency: 'USD' },
    day,
    version: 1,
  });
  publishedNow.add(BOTH.map(on), []);
  publishedNow.takeBack(on(SECOND));
  expect(publishedNow.settled).toEqual([on(FIRST)]);
});

test('but for a day with a break that a person resolves in between', async () => {
  await shown(3, BOTH);
  await database.db
    .updateTable('ledger_entry')
    .set({ balance: '999' })
    .where('batch_no', '=', `B${SECOND} 00:00:10`)
    .execute();
  await noteDays(database.db, MERCHANT, [SECOND]);
  await book.reconciled();
  const publishedNow = new PublishedNow();
  const { published } = await book.published(objects, { publishedNow });
  expect(published.map(({ day }) => day)).toEqual(BOTH);
  const [found] = await database.db.selectFrom('continuity_break').select('id').execute();
  await resolveBreak(database.db, found!.id, 'a fee', book.now);
  await record(publishedNow);
  expect(await dueDays()).toEqual([SECOND]);
  expect(await book.published(objects)).toMatchObject({ published: [], unchanged: 1 });
  expect(await dueDays()).toEqual([]);
});
