/** Stored entries that contradict the figures of their day: none of their statements becomes current. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { dayContent } from '../../src/statements/day-content.ts';
import { listStatements } from '../../src/store/statements/statements.ts';
import { storeWindow } from '../support/store-window.ts';
import { freshBucket, startFauxqsServer } from '../objects/s3-servers.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, ZONE, type Book } from './book.ts';

const D1 = '2026-03-30';
const D2 = '2026-03-31';
const ACCOUNT = { merchantNo: MERCHANT, currency: 'USD' };
const ENTRIES = accountEntries(100_00, [
  [`${D1} 09:00:00`, 50_00],
  [`${D1} 17:30:00`, -25_50],
  [`${D2} 08:00:00`, 10_00],
]);
let book: Book;
beforeEach(async () => {
  book = await openBook(await freshDatabase());
});
afterEach(() => book.database.close());

const keysOf = async (store: ObjectStore) => {
  const keys: string[] = [];
  for await (const { key } of store.survey('')) keys.push(key);
  return keys;
};
const textOf = async (day: string) => {
  const chunks: Uint8Array[] = [];
  const content = dayContent(ACCOUNT, day, {
    db: book.database.db,
    zone: ZONE,
    clockToleranceS: 2,
    signal: new AbortController().signal,
  });
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

const places: readonly (readonly [
  string,
  () => Promise<{ store: ObjectStore; close: () => Promise<void> }>,
])[] = [
  [
    'a directory',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'daybook-misfit-'));
      return { store: createDirectoryStore(folder), close: () => rm(folder, { recursive: true }) };
    },
  ],
  [
    'fauxqs',
    async () => {
      const server = await startFauxqsServer();
      return { store: (await freshBucket(server)).store, close: server.stop };
    },
  ],
];

describe.each(places)('in %s', (_, open) => {
  let store: ObjectStore;
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ store, close } = await open());
  });
  afterEach(() => close());

  test.each([
    ['the opening and the closing', { opening: '90.00', closing: '114.50' }, 'the opening is 100'],
    ['the closing', { closing: '1.00' }, 'the closing is 124.5'],
    ['the sum of credits', { credit_total: '1.00' }, 'the sum of credits is 50'],
    ['the number of debits', { debit_count: 2 }, 'debits: 1 by its rows and 2 by its figures'],
    ['the number of breaks', { break_count: 1 }, 'breaks: 0 by its rows and 1 by its figures'],
    ['the verdict', { verdict: 'broken' }, 'verdict: continuous by its rows and broken by its figures'],
  ])('%s: there is no object and no row, and the next reconcile corrects it', async (__, wrong, clause) => {
    await book.synced(ENTRIES, [D1, D2]);
    await book.reconciled();
    const { db } = book.database;
    await db.updateTable('account_day').set(wrong).where('day', '=', D1).execute();
    const report = await book.published(store);
    expect(report).toMatchObject({
      published: [],
      withheld: [
        { day: D1, cause: 'misfit' },
        { day: D2, cause: 'not-reconciled' },
      ],
    });
    expect(report.withheld[0]!.why).toContain(clause);
    expect(await keysOf(store)).toEqual([]);
    expect(await listStatements(db)).toEqual([]);

    await book.reconciled();
    expect((await book.published(store)).published).toMatchObject([
      { day: D1, revision: 1 },
      { day: D2, revision: 1 },
    ]);
  });

  test('a published statement stays, and so does its manifest', async () => {
    await book.synced(ENTRIES, [D1, D2]);
    await book.reconciled();
    await book.published(store);
    const keys = await keysOf(store);
    await book.database.db
      .updateTable('account_day')
      .set({ closing: '1.00', published_version: 0 })
      .where('day', '=', D1)
      .execute();
    expect((await book.published(store)).withheld).toMatchObject([{ day: D1, cause: 'misfit' }]);
    expect(await keysOf(store)).toEqual(keys);
    expect(await listStatements(book.database.db)).toHaveLength(2);
  });
});

test('a day that begins anew is not chained in one go with the day before, even without a clean end', async () => {
  // Broken at its very end, so that the end is not clean. The next day's second entry starts from its last balance.
  const last = accountEntries(40_00, [[`${D1} 23:59:58`, -23_00]], 'L');
  const held = [
    ...accountEntries(0, [[`${D1} 12:00:00`, 10_00]], 'A'),
    ...last,
    ...accountEntries(10_00, [
      [`${D2} 00:00:01`, 7_00],
      [`${D2} 00:00:01`, -7_00],
    ]),
  ];
  await book.synced(held, [D1, D2]);
  const gap = { beginMs: Date.parse(`${D1}T23:59:59Z`), endMs: Date.parse(`${D1}T23:59:59.999Z`) };
  await storeWindow(book.database.db, book.lease, {
    merchantNo: MERCHANT,
    window: gap,
    reading: { entries: [], unreadable: [], total: 1, requests: 1, certified: false, problem: 'total moved' },
    runId: 1,
    now: book.now,
  });
  await book.reconciled();
  const days = await book.database.db.selectFrom('account_day').selectAll().orderBy('day').execute();
  expect(days).toMatchObject([
    { day: D1, clean_end: false },
    { day: D2, restarted: true, opening: '10.00', closing: '10.00', verdict: 'continuous' },
  ]);
  const rows = async (day: string) => (await textOf(day)).split('\r\n').slice(1, -1);
  expect((await rows(D2)).map((line) => line.slice(0, 5))).toEqual(['B0000', 'B0001']);
  expect(await rows(D1)).toHaveLength(2);
});
