/**
 * Breaks that a person resolved, in published files: statement and verdict stay, manifest and summary show the
 * resolution.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import { readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import { parseManifest, type Manifest } from '../../src/verify/manifest.ts';
import { repairFiles } from '../../src/statements/repair-files.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { recordAuditEvent } from '../../src/store/audit.ts';
import { reopenBreak, resolveBreak } from '../../src/store/breaks/break-cases.ts';
import { listBreaks } from '../../src/store/breaks/breaks.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, watched, type Book } from './book.ts';

const D1 = '2026-03-30';
const D2 = '2026-03-31';
const DAYS = [D1, D2];
const ENTRIES = accountEntries(100_00, [
  [`${D1} 09:00:00`, 50_00],
  [`${D1} 12:00:00`, 1_00],
  [`${D1} 17:30:00`, -25_50],
  [`${D2} 08:00:00`, 10_00],
  [`${D2} 09:00:00`, 20_00],
]);
const without = (...gone: readonly string[]) => ENTRIES.filter(({ batchNo }) => !gone.includes(batchNo));
const AT = new Date('2026-04-02T10:00:00Z');

let database: Database;
let folder: string;
let store: ObjectStore;
let book: Book;
beforeEach(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-explained-'));
  const statementsUrl = pathToFileURL(folder).href;
  store = await openObjectStore({ statementsUrl, s3ForcePathStyle: null, env: {} });
  book = await openBook(database);
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const dayFolder = (day: string) => `merchant=${MERCHANT}/date=${day}`;
const summaryKey = (day: string, revision: number) => `${dayFolder(day)}/summary.r${revision}.csv`;
const textOf = async (key: string) => (await readObject(store, key))?.toString('utf8');
const manifestOf = async (day: string): Promise<Manifest> =>
  parseManifest((await textOf(`${dayFolder(day)}/manifest.json`)) ?? '')!;
/** What a day's manifest says of the breaks of its only account. */
const reportOf = async (day: string) => {
  const { revision, statements, summary } = await manifestOf(day);
  const { verdict, breaks, explained = 0, explanations = [], revision: statement } = statements[0]!;
  return {
    manifest: revision,
    summary: summary!.revision,
    statement,
    verdict,
    breaks,
    explained,
    explanations,
  };
};

async function broken(...gone: readonly string[]): Promise<number> {
  await book.synced(without(...gone), DAYS);
  await book.reconciled();
  await book.published(store);
  return (await listBreaks(database.db))[0]!.id;
}
const stepped = (kind: 'resolved' | 'reopened', id: number, note: string) =>
  database.db.transaction().execute(async (trx) => {
    const auditEvent = {
      by: 'Ada',
      command: kind === 'resolved' ? 'breaks resolve' : 'breaks reopen',
      subject: String(id),
      note,
    };
    await recordAuditEvent(trx, auditEvent, AT);
    if (kind === 'resolved') await resolveBreak(trx, id, note, AT);
    else await reopenBreak(trx, id);
  });
const isProven = async () => (await verifyPaths([folder])).problems;

const EXPLANATION = {
  id: 1,
  afterBatchNo: 'B0000',
  beforeBatchNo: 'B0002',
  missingNet: '1.00',
  note: 'fee, "case" 4711',
  by: 'Ada',
  at: AT.toISOString(),
};
const BEFORE = {
  manifest: 1,
  summary: 1,
  statement: 1,
  verdict: 'broken',
  breaks: 1,
  explained: 0,
  explanations: [],
};
const TOLD = { ...BEFORE, manifest: 2, summary: 2, explained: 1, explanations: [EXPLANATION] };

test('a resolved break is shown with note, person and time; the statement and its verdict stay', async () => {
  const id = await broken('B0001');
  expect(await reportOf(D1)).toEqual(BEFORE);
  await stepped('resolved', id, EXPLANATION.note);
  const writing = watched(store);
  expect(await book.published(writing)).toMatchObject({ published: [], unchanged: 1, withheld: [] });
  expect(writing.puts).toEqual([summaryKey(D1, 2), `${dayFolder(D1)}/manifest.json`]);
  expect(await reportOf(D1)).toEqual(TOLD);
  const [header, row] = (await textOf(summaryKey(D1, 2)))!.split('\r\n');
  expect(header).toMatch(/,verdict,breaks,revision,file,sha256,explained,explanations$/);
  expect(row).toMatch(
    /,broken,1,1,[^,]+,[0-9a-f]{64},1,"break 1: fee, ""case"" 4711 \(Ada, 2026-04-02T10:00:00\.000Z\)"$/,
  );
  expect(await isProven()).toEqual([]);
  // Nothing is left to do.
  const again = watched(store);
  expect(await book.published(again)).toMatchObject({ published: [], unchanged: 0 });
  expect(again.puts).toEqual([]);
});

test('a reopened break is shown as before', async () => {
  const id = await broken('B0001');
  const first = await textOf(summaryKey(D1, 1));
  await stepped('resolved', id, EXPLANATION.note);
  await book.published(store);
  await stepped('reopened', id, 'was no fee');
  await book.published(store);
  expect(await reportOf(D1)).toEqual({ ...BEFORE, manifest: 3, summary: 3 });
  expect(await textOf(summaryKey(D1, 3))).toBe(first);
  expect(await isProven()).toEqual([]);
});

test('if a break is resolved and reopened before the next publishing, nothing is written', async () => {
  const id = await broken('B0001');
  await stepped('resolved', id, 'fee');
  await stepped('reopened', id, 'was no fee');
  const writing = watched(store);
  expect(await book.published(writing)).toMatchObject({ published: [], unchanged: 1 });
  expect(writing.puts).toEqual([]);
});

test.each(['summary.r2.csv', 'manifest.json'])(
  'after a crash at %s the next publishing completes the rest',
  async (file) => {
    const id = await broken('B0001');
    await stepped('resolved', id, EXPLANATION.note);
    const crashing = watched(store, (key) => (key.endsWith(`/${file}`) ? new Error('killed') : null));
    await expect(book.published(crashing)).rejects.toThrow('killed');
    await book.published(store);
    expect(await reportOf(D1)).toEqual(TOLD);
    expect(await isProven()).toEqual([]);
    const again = watched(store);
    await book.published(again);
    expect(again.puts).toEqual([]);
  },
);

test('if a break is reopened while its day is being published, the next publishing shows it', async () => {
  const id = await broken('B0001');
  const meddling: ObjectStore = {
    ...store,
    put: async (key, ...rest) => {
      const stored = await store.put(key, ...rest);
      if (key === summaryKey(D1, 2)) await stepped('reopened', id, 'no fee after all');
      return stored;
    },
  };
  await stepped('resolved', id, 'fee');
  await book.published(meddling);
  expect(await reportOf(D1)).toMatchObject({ explained: 1 });
  await book.published(store);
  expect(await reportOf(D1)).toMatchObject({ explained: 0, summary: 3 });
  const again = watched(store);
  await book.published(again);
  expect(again.puts).toEqual([]);
});

test('a break between two days is shown for both', async () => {
  await book.synced(without('B0003'), DAYS);
  const id = await broken('B0003');
  await stepped('resolved', id, 'fee');
  await book.published(store);
  for (const day of DAYS)
    expect(await reportOf(day)).toMatchObject({ verdict: 'broken', breaks: 1, explained: 1, statement: 1 });
  expect(await isProven()).toEqual([]);
});

test('a break that heals after it was resolved is no longer explained', async () => {
  const id = await broken('B0001');
  await stepped('resolved', id, 'fee');
  await book.published(store);
  await book.synced(ENTRIES, DAYS);
  await book.reconciled();
  await book.published(store);
  expect(await reportOf(D1)).toMatchObject({ verdict: 'continuous', breaks: 0, explained: 0, statement: 2 });
  expect(await listBreaks(database.db, { ...EVERY_ACCOUNT, all: true })).toMatchObject([
    { id, status: 'healed', note: 'fee' },
  ]);
});

test('a damaged summary with a resolved break is written again, superseded or not', async () => {
  const id = await broken('B0001');
  await stepped('resolved', id, 'fee');
  await book.published(store);
  await stepped('reopened', id, 'was no fee');
  await book.published(store);
  const reported = await textOf(summaryKey(D1, 2));
  await writeFile(join(folder, summaryKey(D1, 2)), 'damaged');
  await rm(join(folder, summaryKey(D1, 1)));
  const signal = new AbortController().signal;
  const report = await repairFiles({
    db: database.db,
    lease: book.lease,
    objects: store,
    zone: 'UTC',
    clockToleranceS: 2,
    runId: 1,
    now: () => book.now,
    signal,
    merchantNo: MERCHANT,
    fromDay: D1,
    toDay: D2,
  });
  expect(report.unrepaired).toEqual([]);
  expect(report.repaired.map(({ key }) => key).sort()).toEqual([summaryKey(D1, 1), summaryKey(D1, 2)]);
  expect(await textOf(summaryKey(D1, 2))).toBe(reported);
  expect(await isProven()).toEqual([]);
});
