/** Another format than CSV: published next to it, checked, repaired and downloaded, with nothing but its own value. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { fetchInFormat } from '../../src/statements/fetch.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { CSV } from '../../src/statements/formats/csv.ts';
import { type StatementFormat, FormatTooSmall } from '../../src/statements/formats/format.ts';
import { manifestFileNextTo } from '../../src/verify/names.ts';
import { monthOf } from '../../src/months/month.ts';
import { merchantMonth, zippedMonth } from '../../src/months/month-files.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { listStatements, statementOf, type StatementRow } from '../../src/store/statements/statements.ts';
import { MERCHANT, watched, type Book } from './book.ts';
import { DAY, NEXT, openFormatBook, type FormatBook } from './format-book.ts';
import { JSON_LINES } from './json-lines.ts';

const ACCOUNT = { merchantNo: MERCHANT, currency: 'USD' };

/** A format without rows to read back: the day in one line. */
const SENTENCE: StatementFormat = {
  name: 'sentence',
  extension: 'txt',
  contentType: 'text/plain',
  canBePublished: true,
  write: async function* ({ account, day, published, rows }) {
    let count = 0;
    for await (const batch of rows) count += batch.length;
    yield Buffer.from(`${account.currency} ${day}: ${count} rows to ${published.figures.closing}\n`);
  },
};
const BOTH = [JSON_LINES, SENTENCE];
const KNOWN = [...STATEMENT_FORMATS, ...BOTH];

let open: FormatBook;
let folder: string;
let store: ObjectStore;
let book: Book;
beforeEach(async () => {
  open = await openFormatBook();
  ({ folder, store, book } = open);
});
afterEach(() => open.close());

const pathOf: FormatBook['pathOf'] = (...of) => open.pathOf(...of);
const problemsIn = async (path = folder, formats: readonly StatementFormat[] = KNOWN) =>
  (await verifyPaths([path], formats)).problems.map(({ problem }) => problem);
const textOf = async (bytes: AsyncIterable<Uint8Array>): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

const FIRST_ROW =
  `{"batch_no":"B0000","booked_at":"${DAY} 09:00:00","currency":"USD","transaction_type":"PAY",` +
  `"credit":"50.00","debit":"","balance":"150.00"}\n`;

describe('formats published beside the CSV', () => {
  beforeEach(() => book.published(store, { formats: BOTH }));

  test('are written from it, listed in the manifest, and right', async () => {
    const lines = await readFile(pathOf('jsonl'), 'utf8');
    expect(lines.startsWith(FIRST_ROW)).toBe(true);
    expect(lines.trimEnd().split('\n')).toHaveLength(2);
    expect(await readFile(pathOf('txt'), 'utf8')).toBe(`USD ${DAY}: 2 rows to 124.50\n`);
    expect((await open.manifestOf()).statements[0]!['otherFormats']).toEqual([
      {
        format: 'jsonl',
        file: `${MERCHANT}_USD_${DAY}.r1.jsonl`,
        sha256: expect.any(String),
        bytes: lines.length,
      },
      expect.objectContaining({ format: 'sentence', file: `${MERCHANT}_USD_${DAY}.r1.txt` }),
    ]);
    expect(await problemsIn()).toEqual([]);
    expect(await problemsIn(pathOf('jsonl'))).toEqual([]);
  });

  test('leave the CSV as it is without them', async () => {
    const other = await openFormatBook();
    const alone = await mkdtemp(join(tmpdir(), 'daybook-alone-'));
    await other.book.published(createDirectoryStore(alone));
    const rowsOf = async ({ database }: Book) =>
      (await listStatements(database.db)).map((row) => ({ ...row }));
    expect(await rowsOf(book)).toEqual(await rowsOf(other.book));
    expect((await verifyPaths([alone])).problems).toEqual([]);
    await other.close();
    await rm(alone, { recursive: true });
  });

  test('are told by `verify` where they are missing, altered, or say something else', async () => {
    await writeFile(pathOf('txt'), 'nothing');
    await rm(pathOf('txt', { day: NEXT }));
    expect(await problemsIn()).toEqual([
      `${MERCHANT}_USD_${NEXT}.r1.txt is listed in the manifest but is not here`,
      expect.stringMatching(/^the file has 7 bytes/),
      expect.stringMatching(/^its SHA-256 is/),
    ]);
    await writeFile(pathOf('jsonl'), FIRST_ROW.replace('50.00', '51.00'));
    expect(await problemsIn(pathOf('jsonl'))).toEqual([
      expect.stringMatching(/^the file has \d+ bytes/),
      expect.stringMatching(/^its SHA-256 is/),
      'line 1: B0000 starts from 99.00, but the balance before it is 100.00',
      'the sum of credits is 51.00, the manifest says 50.00',
      'the sum of debits is 0, the manifest says 25.50',
      'there are 1 credits and 0 debits, the manifest says 1 and 1',
      'opening + credits - debits with its jumps is 150.00, the manifest says 124.50',
    ]);
    await writeFile(pathOf('jsonl'), 'no row\n');
    expect(await problemsIn(pathOf('jsonl'))).toContain('it cannot be read as JSONL: no row is no JSON');
  });

  test('go on with each revision, and stay listed as the ones before', async () => {
    await open.amended();
    await book.published(store, { formats: BOTH });
    expect((await open.manifestOf()).statements[0]).toMatchObject({
      revision: 2,
      otherFormats: [{ file: `${MERCHANT}_USD_${DAY}.r2.jsonl` }, { format: 'sentence' }],
      superseded: [
        { revision: 1, otherFormats: [{ file: `${MERCHANT}_USD_${DAY}.r1.jsonl` }, { format: 'sentence' }] },
      ],
    });
    expect((await open.manifestOf(NEXT)).statements[0]).toMatchObject({
      otherFormats: [{ format: 'jsonl' }, {}],
    });
    expect(await problemsIn()).toEqual([]);
    await rm(pathOf('jsonl', { revision: 1 }));
    await writeFile(pathOf('txt'), 'nothing');
    expect(await problemsIn()).toHaveLength(2);
  });

  test('are compared with the store and written again; one that is no longer known is told', async () => {
    const lines = await readFile(pathOf('jsonl'), 'utf8');
    await open.amended();
    await book.published(store, { formats: BOTH });
    await rm(pathOf('jsonl'));
    await rm(pathOf('jsonl', { revision: 2 }));
    await writeFile(pathOf('txt', { day: NEXT }), 'nothing');
    const { unrepaired } = await open.repaired([...STATEMENT_FORMATS, JSON_LINES]);
    expect(unrepaired).toMatchObject([
      { damage: 'altered', why: expect.stringMatching(/^this daybook knows no format sentence: /) },
    ]);
    expect(await readFile(pathOf('jsonl'), 'utf8')).toBe(lines);
    expect((await open.repaired(KNOWN)).unrepaired).toEqual([]);
    expect(await open.repaired(KNOWN)).toMatchObject({ repaired: [], unrepaired: [] });
    expect(await problemsIn()).toEqual([]);
  });

  test('that nobody makes any more stay as published: repaired and verified are their bytes alone', async () => {
    expect(await open.repaired([CSV])).toMatchObject({ repaired: [], unrepaired: [] });
    await open.amended();
    await book.published(store);
    expect((await open.manifestOf()).statements[0]).toMatchObject({
      revision: 2,
      superseded: [{ revision: 1, otherFormats: [{ format: 'jsonl' }, { format: 'sentence' }] }],
    });
    expect(await problemsIn(folder, [CSV])).toEqual([]);
    await writeFile(pathOf('txt'), 'nothing');
    expect(await problemsIn(folder, [CSV])).toEqual([
      expect.stringMatching(/^the file has 7 bytes/),
      expect.stringMatching(/^its SHA-256 is/),
    ]);
  });

  test('lie in the ZIP of a month, as its manifests list them', async () => {
    const { db } = book.database;
    const sources = { db, objects: store, format: STATEMENT_FORMATS[0]!, now: () => new Date() };
    const { files } = await merchantMonth(sources, MERCHANT, monthOf('2026-03')!, ['USD']);
    const found = files.find(({ key }) => key.endsWith(`${DAY}.r1.jsonl`))!;
    expect(await textOf(found.read())).toBe(await readFile(pathOf('jsonl'), 'utf8'));
  });
});

test('a publishing that ends amid the formats is made whole by the next one', async () => {
  const failing = watched(store, (key) => (key.endsWith('.txt') ? new Error('the disk is full') : null));
  await expect(book.published(failing, { formats: BOTH })).rejects.toThrow('the disk is full');
  await open.amended();
  await book.published(store, { formats: BOTH });
  expect(await readFile(pathOf('jsonl'), 'utf8')).toContain('FEE');
  expect(await problemsIn()).toEqual([]);
});

describe('formats made for a download', () => {
  beforeEach(() => book.published(store));
  const downloaded = (row: StatementRow, format: StatementFormat) =>
    textOf(fetchInFormat(store, row, format, { earlier: [] }));

  test('come from any published statement, its figures, its rows and its changes: none in a first revision', async () => {
    const row = (await statementOf(book.database.db, ACCOUNT, DAY))!;
    expect((await downloaded(row, JSON_LINES)).startsWith(FIRST_ROW)).toBe(true);
    expect(await downloaded(row, SENTENCE)).toBe(`USD ${DAY}: 2 rows to 124.50\n`);
    const changes: StatementFormat = {
      ...SENTENCE,
      write: async function* (day) {
        yield* JSON_LINES.write(day);
        yield Buffer.from(JSON.stringify(await day.changes()));
      },
    };
    expect((await downloaded(row, changes)).split('\n').at(-1)).toBe('{"rows":[],"more":0}');
  });

  test('fail where the statement is not the one published', async () => {
    const row = (await statementOf(book.database.db, ACCOUNT, DAY))!;
    await writeFile(pathOf('csv'), (await readFile(pathOf('csv'), 'utf8')).replace('PAY', 'FEE'));
    await expect(downloaded(row, JSON_LINES)).rejects.toMatchObject({ name: 'StatementDamaged' });
  });

  test('the days of a month are asked for side by side, and come in their order', async () => {
    let asked = 0;
    let most = 0;
    const db = book.database.db.withPlugin({
      transformQuery: ({ node }) => {
        most = Math.max(most, (asked += 1));
        return node;
      },
      transformResult: async ({ result }) => {
        await new Promise((done) => setImmediate(done));
        asked -= 1;
        return result;
      },
    });
    const sources = { db, objects: store, format: SENTENCE, now: () => new Date() };
    const { files } = await merchantMonth(sources, MERCHANT, monthOf('2026-03')!, null);
    expect(files.map(({ key }) => join(folder, key))).toEqual([pathOf('txt'), pathOf('txt', { day: NEXT })]);
    expect(most).toBe(2);
  });

  test('a month of them is the statements alone', async () => {
    const sources = { db: book.database.db, objects: store, format: SENTENCE, now: () => new Date() };
    const { files } = await merchantMonth(sources, MERCHANT, monthOf('2026-03')!, null);
    expect(files.map(({ key }) => join(folder, key))).toEqual([pathOf('txt'), pathOf('txt', { day: NEXT })]);
    expect(await textOf(files[0]!.read())).toBe(`USD ${DAY}: 2 rows to 124.50\n`);
  });
});

describe('a month in a format that is published', () => {
  /** Verified as another program unpacks it. */
  const verifiedMonth = async (format: StatementFormat) => {
    const sources = { db: book.database.db, objects: store, format, now: () => new Date() };
    const month = monthOf('2026-03')!;
    const { accounts, files } = await merchantMonth(sources, MERCHANT, month, null);
    const zip = join(folder, '.month.zip');
    await writeFile(zip, zippedMonth(month, accounts, files));
    const into = join(folder, '.unpacked');
    execFileSync('python3', ['-m', 'zipfile', '-e', zip, into]);
    const { files: found, problems, notChecked } = await verifyPaths([into], KNOWN);
    return {
      notChecked: notChecked.map(({ path }) => basename(path)).filter((name) => !name.startsWith('month-')),
      found: found.map(({ path }) => basename(path)),
      problems: problems.map(({ problem }) => problem),
    };
  };
  const names = (...extensions: string[]) =>
    extensions.map((extension, at) => basename(pathOf(extension, { day: [DAY, NEXT][at]! })));

  test('has its manifests, so that `verify` finds each file as published', async () => {
    await book.published(store, { formats: BOTH });
    expect(await verifiedMonth(SENTENCE)).toEqual({
      ...{ found: names('txt', 'txt'), problems: [], notChecked: [] },
    });
  });

  test('has one also beside the CSV of a day that the format cannot hold', async () => {
    const small: StatementFormat = {
      ...SENTENCE,
      write: async function* (day) {
        yield* SENTENCE.write(day);
        if (day.day === NEXT) throw new FormatTooSmall(day, 'sentence', 'it is too long');
      },
    };
    await book.published(store, { formats: [small] });
    expect(await verifiedMonth(small)).toEqual({
      ...{ found: names('txt', 'csv'), problems: [], notChecked: [] },
    });
  });

  test('has none beside a file that was made for the download', async () => {
    await book.published(store);
    expect(await verifiedMonth(SENTENCE)).toEqual({
      ...{ found: [], problems: ['there is no manifest.json here'], notChecked: names('txt', 'txt') },
    });
  });
});

test('names and extensions are each one format’s own, and a manifest finds its place beside every file', () => {
  const formats = [...STATEMENT_FORMATS, JSON_LINES];
  expect(new Set(formats.map(({ name }) => name)).size).toBe(formats.length);
  expect(new Set(formats.map(({ extension }) => extension)).size).toBe(formats.length);
  for (const { extension } of formats) {
    expect(extension).not.toMatch(/(?:^|\.)json$/);
    expect(manifestFileNextTo(`A_USD_${DAY}.r3.${extension}`)).toBe(`A_USD_${DAY}.manifest.json`);
  }
});

test('a format that cannot hold a day is left out and told; the CSV is published all the same', async () => {
  const small: StatementFormat = {
    ...SENTENCE,
    write: async function* (day) {
      for await (const batch of day.rows) yield Buffer.from(String(batch.length));
      throw new FormatTooSmall(day, 'sentence', 'it has too many entries');
    },
  };
  const report = await book.published(store, { formats: [small, JSON_LINES] });
  const why = (day: string) =>
    `the statement of ${MERCHANT} in USD for ${day} cannot be written as sentence: it has too many entries. Take the ` +
    'CSV, which holds every day.';
  expect(report.leftOut).toEqual(
    [DAY, NEXT].map((day) => ({ account: ACCOUNT, day, format: 'sentence', why: why(day) })),
  );
  expect((await open.manifestOf()).statements[0]!['otherFormats']).toMatchObject([{ format: 'jsonl' }]);
  expect(await problemsIn()).toEqual([]);
  const row = (await statementOf(book.database.db, ACCOUNT, DAY))!;
  await expect(textOf(fetchInFormat(store, row, small, { earlier: [] }))).rejects.toMatchObject({
    message: why(DAY),
    exitCode: 2,
  });
});

test('a file that no manifest names is named as not checked; one of another kind is not', async () => {
  await book.published(store);
  await writeFile(pathOf('jsonl'), 'put here');
  await writeFile(join(folder, 'notes.jsonl'), 'of somebody');
  expect(await verifyPaths([folder], KNOWN)).toMatchObject({
    ...{ problems: [], notChecked: [{ path: pathOf('jsonl') }] },
  });
});
