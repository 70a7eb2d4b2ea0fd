/** A month as one ZIP: complete also where a format cannot hold a day, and read with some files ahead. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FormatTooSmall } from '../../src/statements/formats/format.ts';
import { monthOf } from '../../src/months/month.ts';
import { type MonthFile, zippedMonth } from '../../src/months/month-files.ts';
import { bytesOf } from './days.ts';

const MARCH = monthOf('2026-03')!;
const AT = new Date('2026-04-01T02:00:00Z');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-month-zip-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** What another program finds in a ZIP, by name. */
async function unpacked(zip: Buffer): Promise<Record<string, string>> {
  const path = join(folder, 'month.zip');
  await writeFile(path, zip);
  execFileSync('python3', ['-m', 'zipfile', '-e', path, join(folder, 'out')]);
  const names = await readdir(join(folder, 'out'));
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder, 'out', name), 'utf8')] as const),
    ),
  );
}

const tooSmall = (day: string): FormatTooSmall =>
  new FormatTooSmall({ account: { merchantNo: 'M-1', currency: 'USD' }, day }, 'mt940', 'it is too long');

/** A file in parts of so many bytes; `end` is thrown after the last one. */
const fileOf = (key: string, parts: readonly string[], end: Error | null = null): MonthFile => ({
  key,
  publishedAt: AT,
  read: async function* () {
    for (const part of parts) yield await Promise.resolve(Buffer.from(part));
    if (end !== null) throw end;
  },
});
const orCsv = (file: MonthFile, csv: string): MonthFile => ({
  ...file,
  instead: {
    key: file.key.replace('.mt940', '.csv'),
    read: fileOf('', [csv]).read,
    background: [fileOf(file.key.replace('.mt940', '.manifest.json'), [`manifest of ${csv}`])],
  },
});

test.each([
  ['at its begin', []],
  ['late', Array.from({ length: 20 }, () => 'x'.repeat(65_536))],
])('a day that turns out %s not to fit is there as its CSV, and a text names it', async (_, parts) => {
  const reported: string[] = [];
  const files = [
    orCsv(fileOf('1.mt940', ['one']), 'csv 1'),
    orCsv(fileOf('2.mt940', parts, tooSmall('2026-03-02')), 'csv 2'),
    orCsv(
      fileOf(
        '3.mt940',
        Array.from({ length: 9 }, () => 'y'.repeat(65_536)),
      ),
      'csv 3',
    ),
    orCsv(fileOf('4.mt940', ['four']), 'csv 4'),
  ];
  const zip = await bytesOf(zippedMonth(MARCH, [], files, (one) => reported.push(one.key)));
  const why =
    'the statement of M-1 in USD for 2026-03-02 cannot be written as mt940: it is too long. Take the CSV, which holds ' +
    'every day.';
  expect(await unpacked(zip)).toEqual({
    'month-2026-03.csv': expect.stringContaining('merchant_no,'),
    '1.mt940': 'one',
    '2.csv': 'csv 2',
    '2.manifest.json': 'manifest of csv 2',
    '3.mt940': 'y'.repeat(9 * 65_536),
    '4.mt940': 'four',
    'month-2026-03-as-csv.txt':
      'Days of 2026-03 that do not fit the format of this download. For each, the published CSV is here instead.\r\n\r\n' +
      `2.csv: ${why}\r\n`,
  });
  expect(reported).toEqual(['2.csv']);
});

test('what is wrong with a file that is read ahead ends the ZIP when its turn comes', async () => {
  const files = [
    fileOf('1.csv', ['one']),
    fileOf('2.csv', ['two'], new Error('altered')),
    fileOf('3.csv', [], new Error('also altered')),
  ];
  await expect(bytesOf(zippedMonth(MARCH, [], files))).rejects.toThrow('altered');
});

test.each([1, 300_000])(
  'a signature is of the manifest in the ZIP, of %d characters, also if that just changed',
  async (length) => {
    let version = 0;
    let signed = 0;
    const manifest: MonthFile = {
      ...fileOf('manifest.json', []),
      read: async function* () {
        const now = (version += 1);
        await new Promise((done) => setImmediate(done));
        signed = now;
        yield Buffer.from(`${now}`.padEnd(length));
      },
    };
    const signature: MonthFile = {
      ...fileOf('manifest.json.minisig', []),
      isOfFileBefore: true,
      read: async function* () {
        yield await Promise.resolve(Buffer.from(`of ${signed}`));
      },
    };
    const found = await unpacked(await bytesOf(zippedMonth(MARCH, [], [manifest, signature])));
    expect(found['manifest.json.minisig']).toBe(`of ${found['manifest.json']!.trimEnd()}`);
  },
);

test('a few files are read at once, in order, and few are held', async () => {
  let open = 0;
  let most = 0;
  let begun = 0;
  const files = Array.from({ length: 60 }, (_, at) => ({
    ...fileOf(`${String(at).padStart(2, '0')}.csv`, []),
    read: async function* () {
      begun += 1;
      most = Math.max(most, (open += 1));
      await new Promise((done) => setImmediate(done));
      open -= 1;
      yield Buffer.from(`file ${at}`);
    },
  }));
  const stopped = zippedMonth(MARCH, [], files);
  await stopped.next();
  await stopped.return(undefined);
  expect(begun).toBeLessThan(12);
  const names = Object.keys(await unpacked(await bytesOf(zippedMonth(MARCH, [], files))));
  expect(names).toHaveLength(61);
  expect(most).toBe(4);
});

test('what was sent is not held', { tags: ['long'] }, () => {
  const script = `
    import { zippedMonth } from '${new URL('../../src/months/month-files.ts', import.meta.url).href}';
    const month = { name: '2026-03', from: '2026-03-01', to: '2026-03-31' };
    const read = async function* () { yield Buffer.alloc(200_000, 'x'); };
    const files = Array.from({ length: 400 }, (_, at) => ({ key: String(at), publishedAt: new Date(0), read }));
    let most = 0;
    for await (const part of zippedMonth(month, [], files)) {
      globalThis.gc();
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }
    console.log(most);`;
  const most = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    env: { ...process.env, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
    encoding: 'utf8',
  });
  // All files together have 80 MB.
  expect(Number(most)).toBeLessThan(20_000_000);
});

test('the same month gives the same bytes, in every time zone of the machine', { tags: ['long'] }, () => {
  const from = (path: string): string => `from '${new URL(path, import.meta.url).href}';`;
  const script = `
    import { zippedMonth } ${from('../../src/months/month-files.ts')}
    import { CSV } ${from('../../src/statements/formats/csv.ts')}
    import { bytesOf, statementDay } ${from('./days.ts')}
    const read = () => CSV.write(statementDay([]));
    const month = { name: '2026-03', from: '2026-03-01', to: '2026-03-31' };
    // In New York this hour does not exist on that day.
    for (const at of ['2026-04-01T02:00:01Z', '2026-03-08T02:30:00Z'])
      console.log((await bytesOf(zippedMonth(month, [], [{ key: 'a', publishedAt: new Date(at), read }]))).toString('hex'));`;
  const bytesIn = (zone: string): string =>
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, TZ: zone, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
      encoding: 'utf8',
    });
  const utc = bytesIn('UTC');
  expect(bytesIn('Asia/Shanghai')).toBe(utc);
  expect(bytesIn('America/New_York')).toBe(utc);
});
