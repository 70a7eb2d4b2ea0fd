/** One more column: its definition is all it takes, and files with fewer columns stay what they are. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { fetchInFormat } from '../../src/statements/fetch.ts';
import { findLine } from '../../src/statements/find-line.ts';
import { STATEMENT_COLUMNS, type EntryColumn } from '../../src/statements/formats/columns.ts';
import { SPREADSHEET } from '../../src/statements/formats/spreadsheet.ts';
import { rowsBetween } from '../../src/statements/revision-diff.ts';
import { verifyPaths } from '../../src/statements/verify.ts';
import { statementOf } from '../../src/store/statements/statements.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, type Book } from './book.ts';

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
  for await (const chunk of fetchInFormat(store, await revision(2), SPREADSHEET, COLUMNS)) chunks.push(chunk);
  expect(Buffer.concat(chunks).toString('utf8').split('\r\n')[2]).toBe(
    `B0001,${DAY} 17:30:00,USD,PAY,,25.50,124.50,-25.50,'-`,
  );
});
