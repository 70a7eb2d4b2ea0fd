/** A workbook as LibreOffice opens it, cell by cell. Skipped where it is not installed; `.ci/run` installs it, and requires it. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { STATEMENT_COLUMNS } from '../../../src/statements/formats/format.ts';
import { type RowCells } from '../../../src/verify/csv.ts';
import { writeXlsx } from '../../../src/plugins/formats/xlsx.ts';
import { linesOf, pagesOf } from '../../support/read-pdf.ts';
import { bytesOf, statementDay } from '../../statements/days.ts';

const isInstalled = spawnSync('soffice', ['--version']).status === 0;
if (!isInstalled && process.env['DAYBOOK_TEST_LIBREOFFICE'] === 'required')
  throw new Error(
    'LibreOffice is not installed, and DAYBOOK_TEST_LIBREOFFICE requires it: apt-get install libreoffice-calc-nogui',
  );

/** Comma, quote, UTF-8, from the first line, cells as they are shown, every sheet into a file of its own. */
const AS_CSV = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1';
const START_MAX_MS = 120_000;

const ROWS: readonly RowCells[] = [
  ['SBX1470407409798', '2026-03-31 09:00:00', 'USD', 'PAY', '1234567.50', '', '1234567.50'],
  ['007', '2026-03-31 23:59:59', 'USD', '=1+1', '', '0.10', '1234567.40'],
  ['12345678901234567', '2026-03-31 00:00:00', 'USD', '支付, "Größe"', '12345678901234567.89', '', '-0.01'],
  ['1e5', '2026-03-31 12:30:01', 'USD', ' TRUE ', '', '4999999999999.99', '0.00'],
];

describe.skipIf(!isInstalled)('with LibreOffice (Debian’s package libreoffice-calc-nogui)', () => {
  test(
    'a workbook shows each cell as the CSV has it',
    { timeout: START_MAX_MS, tags: ['long'] },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'daybook-libreoffice-'));
      const workbook = join(folder, 'day.xlsx');
      const figures = { creditCount: 2, debitCount: 2, closing: '0.00' };
      await writeFile(workbook, await bytesOf(writeXlsx(statementDay(ROWS, { figures }))));
      const profile = `-env:UserInstallation=${pathToFileURL(join(folder, 'profile')).href}`;
      const flags = [profile, '--headless', '--convert-to', AS_CSV, '--outdir', folder, workbook];
      await promisify(execFile)('soffice', flags, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
      const sheet = async (name: string): Promise<string[][]> =>
        parse(await readFile(join(folder, `day-${name}.csv`), 'utf8'), { relax_column_count: true });
      const shown = (await sheet('USD')).map((cells) =>
        cells.map((cell) => (/^-?[\d,]+\.\d+$/.test(cell) ? cell.replaceAll(',', '') : cell)),
      );
      expect(shown).toEqual([STATEMENT_COLUMNS.map(({ name }) => name), ...ROWS]);
      const summary = new Map((await sheet('Summary')).map(([name, value]) => [name, value]));
      expect(summary.get('closing')).toBe('0.00');
      expect(summary.get('sha256')).toBe('ab'.repeat(32));
      await rm(folder, { recursive: true });
    },
  );

  test.each([
    { name: 'a day', counts: [200], sheets: ['USD'] },
    { name: 'a day on two sheets', counts: [60, 60], sheets: ['USD', 'USD 2'] },
  ])(
    '$name prints on landscape pages as wide as its columns, each with header, sheet and page number',
    { timeout: START_MAX_MS, tags: ['long'] },
    async ({ counts, sheets }) => {
      const folder = await mkdtemp(join(tmpdir(), 'daybook-libreoffice-'));
      const workbook = join(folder, 'day.xlsx');
      const rows = Array.from({ length: counts.reduce((sum, one) => sum + one, 0) }, (_row, at) =>
        ROWS[0]!.with(0, `B${String(at).padStart(4, '0')}`),
      );
      const day = statementDay(rows, { figures: { creditCount: rows.length } });
      await writeFile(
        workbook,
        await bytesOf(writeXlsx(day, counts.length > 1 ? counts[0]! + 1 : undefined)),
      );
      const profile = `-env:UserInstallation=${pathToFileURL(join(folder, 'profile')).href}`;
      const flags = [profile, '--headless', '--convert-to', 'pdf', '--outdir', folder, workbook];
      await promisify(execFile)('soffice', flags, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
      const pages = await pagesOf(await readFile(join(folder, 'day.pdf')));
      expect(pages.every(({ width, height }) => width > height)).toBe(true);
      const texts = pages.map((one) => linesOf(one).join(' '));
      // Every column of every row stands on one page, with the header above it.
      const ofRows = texts.filter((text) => /\bB\d{4}\b/.test(text));
      expect(ofRows.flatMap((text) => text.match(/\bB\d{4}\b/g))).toEqual(rows.map(([batchNo]) => batchNo));
      expect(ofRows.length).toBeGreaterThan(1);
      for (const text of ofRows) expect(text).toMatch(/batch_no .*booked_at .*balance .*1,234,567\.50/);
      for (const [at, text] of texts.entries()) expect(text).toContain(`Page ${at + 1} of ${texts.length}`);
      for (const sheet of ['Summary', ...sheets, 'Changes'])
        expect(texts.some((text) => text.includes(`M-1 USD 2026-03-31, revision 1: ${sheet} `))).toBe(true);
      await rm(folder, { recursive: true });
    },
  );
});
