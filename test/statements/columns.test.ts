/** One more column: its definition is all it takes, and files with fewer columns stay what they are. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { fetchInFormat, rowsBetween } from '../../src/statements/fetch.ts';
import { findLine } from '../../src/statements/entry-places.ts';
import { STATEMENT_COLUMNS, type EntryColumn } from '../../src/statements/formats/format.ts';
import { SPREADSHEET } from '../../src/statements/formats/all.ts';
import { repairFiles } from '../../src/statements/repair-files.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { statementOf } from '../../src/store/statements/statements.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, ZONE, type Book } from './book.ts';

const DAY = '2026-03-31';
const ENTRIES = accountEntries(100_00, [
  [`${DAY} 09:00:00`, 50_00],
  [`${DAY} 17:30:00`, -25_50],
]);
const COLUMNS: readonly EntryColumn[] = [
  ...STATEMENT_COLUMNS,
  {
    name: 'net',
    isAmount: true,
    cell: ({ credit, debit }) => credit ?? `-${debit}`,
    meaning: 'credit above zero, debit below',
  },
  {
    name: 'sign',
    isAmount: false,
    cell: ({ credit }) => (credit === null ? '-' : '+'),
    meaning: 'credit or debit',
  },
];

let folder: string;
let book: Book;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-columns-'));
  book = await openBook(await freshDatabase());
  const store = createDirectoryStore(folder);
  await book.synced(
    ENTRIES.map((entry) => ({ ...entry, transactionType: 'FEE' })),
    [DAY],
  );
  await book.reconciled();
  await book.published(store);
  await book.synced(ENTRIES, [DAY]);
  await book.reconciled();
  await book.published(store, { columns: COLUMNS });
});
afterAll(async () => {
  await book.database.close();
  await rm(folder, { recursive: true });
});

const revision = async (number: number) =>
  (await statementOf(book.database.db, { merchantNo: MERCHANT, currency: 'USD' }, DAY, number))!;

test('is in the next revision, behind the others, and the revision before stays as it is', async () => {
  const linesOf = async (number: number) =>
    (await readFile(join(folder, (await revision(number)).object_key), 'utf8')).split('\r\n');
  expect(await linesOf(1)).toEqual([
    'batch_no,booked_at,currency,transaction_type,credit,debit,balance',
    `B0000,${DAY} 09:00:00,USD,FEE,50.00,,150.00`,
    `B0001,${DAY} 17:30:00,USD,FEE,,25.50,124.50`,
    '',
  ]);
  expect(await linesOf(2)).toEqual([
    'batch_no,booked_at,currency,transaction_type,credit,debit,balance,net,sign',
    `B0000,${DAY} 09:00:00,USD,PAY,50.00,,150.00,50.00,+`,
    `B0001,${DAY} 17:30:00,USD,PAY,,25.50,124.50,-25.50,-`,
    '',
  ]);
  expect((await revision(2)).columns).toBe(COLUMNS.map(({ name }) => name).join(','));
});

test('both revisions are right, an entry is found in each, and they can be compared', async () => {
  const store = createDirectoryStore(folder);
  expect((await verifyPaths([folder])).problems).toEqual([]);
  expect((await findLine(store, await revision(1), 'B0001'))?.cells).not.toHaveProperty('net');
  expect((await findLine(store, await revision(2), 'B0001'))?.cells).toMatchObject({ net: '-25.50' });
  const found = [];
  for await (const row of rowsBetween(store, await revision(1), await revision(2))) found.push(row);
  expect(found.map(({ batchNo, changed }) => [batchNo, changed])).toEqual([
    ['B0000', ['transaction_type']],
    ['B0001', ['transaction_type']],
  ]);
});

test('is left alone for spreadsheets where it is an amount, and made harmless where it is text', async () => {
  const chunks: Uint8Array[] = [];
  const store = createDirectoryStore(folder);
  const bytes = fetchInFormat(store, await revision(2), SPREADSHEET, { earlier: [], known: COLUMNS });
  for await (const chunk of bytes) chunks.push(chunk);
  expect(Buffer.concat(chunks).toString('utf8').split('\r\n')[2]).toBe(
    `B0001,${DAY} 17:30:00,USD,PAY,,25.50,124.50,-25.50,'-`,
  );
});

describe('days published with fewer columns', () => {
  const NEXT = '2026-04-01';
  const BOTH = accountEntries(100_00, [
    [`${DAY} 09:00:00`, 50_00],
    [`${NEXT} 09:00:00`, 10_00],
  ]);
  let files: string;
  let own: Book;
  beforeAll(async () => {
    files = await mkdtemp(join(tmpdir(), 'daybook-columns-'));
    own = await openBook(await freshDatabase());
    own.now = new Date('2026-04-03T00:00:00Z');
    await own.synced(BOTH, [DAY, NEXT]);
    await own.reconciled();
    await own.published(createDirectoryStore(files));
  });
  afterAll(async () => {
    await own.database.close();
    await rm(files, { recursive: true });
  });
  const names = async (): Promise<string[]> =>
    (await readdir(files, { recursive: true })).filter((name) => /USD_.*csv$/.test(name)).sort();

  test('keep their revision as long as nothing but the columns is new', async () => {
    // A changed first day makes the day after it due as well, as its manifest names the statement before.
    const [first, second] = BOTH;
    await own.synced([{ ...first!, transactionType: 'FEE' }, second!], [DAY, NEXT]);
    await own.reconciled();
    const report = await own.published(createDirectoryStore(files), { columns: COLUMNS });
    expect(report.published.map(({ day, revision }) => [day, revision])).toEqual([[DAY, 2]]);
    expect((await names()).map((name) => name.slice(name.lastIndexOf('/') + 1))).toEqual([
      `${MERCHANT}_USD_${DAY}.r1.csv`,
      `${MERCHANT}_USD_${DAY}.r2.csv`,
      `${MERCHANT}_USD_${NEXT}.r1.csv`,
    ]);
    expect((await verifyPaths([files])).problems).toEqual([]);
  });

  test('are made again as they were when their file is lost', async () => {
    const lost = (await names()).find((name) => name.includes(`USD_${NEXT}.r1`))!;
    const before = await readFile(join(files, lost), 'utf8');
    await rm(join(files, lost));
    const report = await repairFiles({
      db: own.database.db,
      lease: own.lease,
      objects: createDirectoryStore(files),
      merchantNo: MERCHANT,
      zone: ZONE,
      clockToleranceS: 2,
      runId: own.runId,
      now: () => own.now,
      signal: new AbortController().signal,
      fromDay: DAY,
      toDay: NEXT,
      columns: COLUMNS,
    });
    expect(report.unrepaired).toEqual([]);
    expect(await readFile(join(files, lost), 'utf8')).toBe(before);
  });
});
