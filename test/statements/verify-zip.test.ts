/** ZIPs are verified as they are; what is wrong with one is named, whoever made it. */
import { execFileSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ZipFile, type Options } from 'yazl';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { fetchInFormat } from '../../src/statements/fetch.ts';
import { changesBetween } from '../../src/months/changes-since.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { listStatements } from '../../src/store/statements/statements.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { keyPairOf, readPublicKey, readSigningKey } from '../../src/signing.ts';
import type { SigningKey } from '../../src/ledger/signature.ts';
import { MERCHANT, openBook, type Book } from './book.ts';
import { bytesOf } from './days.ts';
import { verifyPaths } from './verified-twice.ts';

const DAYS = ['2026-03-30', '2026-03-31'] as const;
const CSV = `merchant=${MERCHANT}/date=${DAYS[1]}/${MERCHANT}_USD_${DAYS[1]}.r1.csv`;
const PAIR = keyPairOf(Buffer.alloc(32, 3), Buffer.alloc(8, 3));

let published: string;
let folder: string;
let book: Book;
beforeAll(async () => {
  published = await mkdtemp(join(tmpdir(), 'daybook-zipped-'));
  book = await openBook(await freshDatabase());
  const entries = accountEntries(100_00, [
    [`${DAYS[0]} 09:00:00`, 50_00],
    [`${DAYS[1]} 08:00:00`, 10_00],
  ]);
  await book.synced(entries, DAYS);
  await book.reconciled();
  const signingKey = readSigningKey(PAIR.secretKey) as SigningKey;
  await book.published(createDirectoryStore(published), { signingKey });
});
afterAll(async () => {
  await book.database.close();
  await rm(published, { recursive: true });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-zips-'));
  return () => rm(folder, { recursive: true });
});

interface Packing {
  readonly options?: Partial<Options>;
  readonly isZip64?: boolean;
  /** The content of more files, by name. */
  readonly more?: Readonly<Record<string, Buffer>>;
}

/** A ZIP of the published folder, in the folder to be verified. */
async function packed({ options = {}, isZip64 = false, more = {} }: Packing = {}): Promise<string> {
  const zip = new ZipFile();
  const all = await readdir(published, { recursive: true, withFileTypes: true });
  for (const file of all.filter((one) => one.isFile())) {
    const path = join(file.parentPath, file.name);
    zip.addFile(path, relative(published, path), { forceZip64Format: isZip64, ...options });
  }
  for (const [name, content] of Object.entries(more)) zip.addBuffer(content, name);
  zip.end({ forceZip64Format: isZip64, comment: '' });
  const path = join(folder, 'month.zip');
  await pipeline(zip.outputStream, createWriteStream(path));
  return path;
}

const problemsOf = async (path = folder) =>
  (await verifyPaths([path])).problems.map((one) => `${relative(folder, one.path)}: ${one.problem}`);

describe('a ZIP is read as if it were unpacked', () => {
  test.each<[string, Packing]>([
    ['compressed', {}],
    ['stored', { options: { compress: false } }],
    ['ZIP64', { isZip64: true }],
  ])('%s: each file is checked, and signed', async (_, packing) => {
    const path = await packed(packing);
    const keys = [readPublicKey(PAIR.publicKey)!];
    const unpacked = await verifyPaths([published], STATEMENT_FORMATS, keys, true);
    expect(unpacked).toMatchObject({ manifests: 2, signed: 2, problems: [] });
    for (const given of [path, folder]) {
      const report = await verifyPaths([given], STATEMENT_FORMATS, keys, true);
      const named = JSON.parse(JSON.stringify(report).replaceAll(path, published)) as object;
      expect(named).toEqual(unpacked);
    }
  });

  test('next to the same month unpacked, which makes no difference', async () => {
    await packed();
    await cp(published, join(folder, 'unpacked', 'deep'), { recursive: true });
    expect(await verifyPaths([folder])).toMatchObject({ manifests: 4, problems: [], notChecked: [] });
  });

  test('a changed statement, a missing one and an added one are named in it', async () => {
    const text = await readFile(join(published, CSV), 'utf8');
    const others = {
      [CSV.replaceAll('USD', 'EUR')]: Buffer.from('put here'),
    };
    const before = published;
    published = join(folder, 'copy');
    await cp(before, published, { recursive: true });
    try {
      await writeFile(join(published, CSV), text.replace('10.00', '11.00'));
      await rm(join(published, CSV.replaceAll(DAYS[1], DAYS[0])));
      await packed({ more: others });
    } finally {
      await rm(published, { recursive: true });
      published = before;
    }
    expect((await problemsOf()).join('\n')).toMatch(
      new RegExp(
        [
          `date=${DAYS[0]}/manifest.json: ${MERCHANT}_USD_${DAYS[0]}.r1.csv is listed in the manifest but is not here`,
          `_EUR_.*: no manifest here names this file`,
          `month.zip/${CSV}: its SHA-256 is`,
        ].join('[^]*'),
      ),
    );
  });
});

describe('a ZIP that is wrong is named, and what lies next to it is checked all the same', () => {
  beforeEach(() => cp(published, join(folder, 'unpacked'), { recursive: true }));

  const cannot = (why: string) => `month.zip: the ZIP cannot be read: ${why}. Download it again`;

  test.each(['.zip', '.ZIP'])('cut off, %s', async (ending) => {
    const path = await packed();
    const bytes = await readFile(path);
    await rm(path);
    for (const length of [2, Math.floor(bytes.length / 2), bytes.length - 1]) {
      await writeFile(join(folder, `month${ending}`), bytes.subarray(0, length));
      const report = await verifyPaths([folder]);
      expect(report.manifests).toBe(2);
      expect(report.problems).toMatchObject([
        { problem: expect.stringContaining('Download it again') as string },
      ]);
    }
  });

  test('with damaged bytes, in the files that they are of', async () => {
    const path = await packed();
    const bytes = await readFile(path);
    const at = bytes.indexOf(CSV) + CSV.length + 4;
    bytes.fill(0xff, at, at + 12);
    await writeFile(path, bytes);
    const problems = new Set(await problemsOf());
    expect(problems.size).toBe(1);
    expect([...problems][0]).toMatch(new RegExp(`^month.zip/${CSV}: (it cannot be read|its SHA-256 is)`));
  });

  test('encrypted', async () => {
    const path = await packed();
    const bytes = await readFile(path);
    // Bit 0 of the flags, at 6 in a local header and at 8 in one of the central directory.
    for (let at = bytes.indexOf('PK\u0003\u0004'); at >= 0; at = bytes.indexOf('PK\u0003\u0004', at + 4))
      bytes[at + 6]! |= 1;
    for (let at = bytes.indexOf('PK\u0001\u0002'); at >= 0; at = bytes.indexOf('PK\u0001\u0002', at + 4))
      bytes[at + 8]! |= 1;
    await writeFile(path, bytes);
    expect(await problemsOf()).toEqual([
      expect.stringMatching(
        /^month.zip: \d+ files in it cannot be read: the ZIP is encrypted. Unpack it, and verify the folder$/,
      ),
    ]);
  });

  test('made to fill a machine', async () => {
    await packed({ more: { 'merchant=x/zeros.csv': Buffer.alloc(33_554_432) } });
    expect((await problemsOf()).join()).toMatch(
      /^month.zip: the ZIP cannot be read: its \d+ bytes would become more than \d+, as no statements do. Download/,
    );
  });

  test.each(['../climbs.csv', '/absolute.csv', 'a/../../climbs.csv', 'C:/drive.csv'])(
    'with a path that leads out of it: %s',
    async (name) => {
      execFileSync('python3', [
        '-c',
        'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").writestr(sys.argv[2], "x")',
        join(folder, 'month.zip'),
        name,
      ]);
      const problems = await problemsOf();
      expect(problems).toEqual([
        cannot(`${/^(?:\/|C:)/.test(name) ? 'absolute path' : 'invalid relative path'}: ${name}`),
      ]);
    },
  );

  test('within another ZIP, as not checked', async () => {
    const inner = await readFile(await packed());
    await packed({ more: { 'inner/year.ZIP': inner } });
    expect(await verifyPaths([folder])).toMatchObject({
      manifests: 4,
      problems: [],
      notChecked: [
        {
          path: join(folder, 'month.zip/inner/year.ZIP'),
          problem: 'a ZIP in a ZIP is not checked: unpack it, and verify the folder',
        },
      ],
    });
  });
});

test('a month in a format, unpacked or not, is named as what it is; a revision that the manifest does not know is a problem', async () => {
  const store = createDirectoryStore(published);
  const rows = await listStatements(book.database.db);
  const made = join(folder, 'made');
  await mkdir(made);
  const names: string[] = [];
  for (const format of STATEMENT_FORMATS.filter(({ name }) => name !== 'csv'))
    for (const row of rows) {
      const name = `${MERCHANT}_USD_${row.day}.r1.${format.extension}`;
      names.push(name);
      await writeFile(join(made, name), await bytesOf(fetchInFormat(store, row, format, { earlier: [] })));
    }
  const changes = await changesBetween(store, rows[0]!, rows[0]!, {
    format: STATEMENT_FORMATS[0]!,
    names: undefined,
  });
  await writeFile(join(made, changes.name), await bytesOf(changes.read()));
  const sums = [
    'month-2026-03.csv',
    `month-2026-03-${MERCHANT}.pdf`,
    'month-2026-03-as-csv.txt',
    'changes-2026-03.csv',
  ];
  for (const name of sums) await writeFile(join(made, name), 'x');
  const all = [...names, ...sums, changes.name].sort();
  const namesIn = (report: Awaited<ReturnType<typeof verifyPaths>>) =>
    report.notChecked.map(({ path }) => relative(made, path)).sort();

  const alone = await verifyPaths([made]);
  expect(alone.problems).toEqual([{ path: made, problem: 'there is no manifest.json here' }]);
  expect(namesIn(alone)).toEqual(all);

  await cp(published, join(folder, 'published'), { recursive: true });
  const both = await verifyPaths([folder]);
  expect([both.problems, namesIn(both)]).toEqual([[], all]);

  await copyFile(join(made, names[0]!), join(made, names[0]!.replace('.r1.', '.r7.')));
  expect((await verifyPaths([folder])).problems).toEqual([
    {
      path: join(made, names[0]!.replace('.r1.', '.r7.')),
      problem: 'the manifest here names no such revision',
    },
  ]);
});
