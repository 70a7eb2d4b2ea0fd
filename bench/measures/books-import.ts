/** Imports an own book from CSV, then the same file again, then one in which one row of a hundred has changed. */
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BookImport, ImportFigures } from '../import-book.ts';
import { count, withDatabase, type Bench, type Measure } from '../measure.ts';
import { runScript } from '../processes.ts';

const LIMIT_MS = 30_000;
const LIMIT_MEGABYTES = 200;
const DAYS = 28;
const MAPPING = `
merchant: BENCH-BOOKS
format: csv
columns: {number: no, booked: at, currency: currency, amount: amount, reference: ref, type: type, text: text}
`;

/** Each row names a batch. Of one in a hundred the amount is `more` higher. */
function* linesOf(rows: number, more: number): Generator<string> {
  yield 'no,at,currency,amount,ref,type,text\n';
  for (let row = 0; row < rows; row += 1) {
    const day = String(1 + Math.floor((row * DAYS) / rows)).padStart(2, '0');
    const amount = (((row * 7_919) % 100_000) / 100 + (row % 100 === 7 ? more : 0)).toFixed(2);
    const number = String(row).padStart(9, '0');
    yield `ORD-${number},2026-03-${day} 1${row % 10}:0${row % 6}:00,EUR,${amount},B${number},order,customer ${row}\n`;
  }
}

async function timesOf(
  bench: Bench,
  rows: number,
): Promise<Record<'first' | 'again' | 'changed', ImportFigures>> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
  try {
    return await withDatabase(bench, async ({ url, settle }) => {
      const imported = async (more: number): Promise<ImportFigures> => {
        const path = join(folder, `${more}.csv`);
        await pipeline(Readable.from(linesOf(rows, more)), createWriteStream(path));
        await settle();
        const input: BookImport = { path, mapping: MAPPING, databaseUrl: url };
        return runScript<ImportFigures>('./import-book.ts', input);
      };
      const [first, again, changed] = [await imported(0), await imported(0), await imported(1)];
      if (
        first.added !== rows ||
        again.added + again.changed > 0 ||
        changed.changed !== Math.ceil((rows - 7) / 100)
      )
        throw new Error(`not what was imported: ${JSON.stringify({ first, again, changed })}`);
      return { first, again, changed };
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const booksImport: Measure = {
  name: 'books-import',
  isLong: true,
  measure: async (bench) => {
    const rows = bench.short ? 20_000 : 1_000_000;
    const { first, again, changed } = await timesOf(bench, rows);
    const time = (what: string, { elapsedMs }: ImportFigures) => ({
      ...{ what, figure: elapsedMs, limit: LIMIT_MS, limitIs: 'half a minute', unit: 'ms' },
      ...{ ratio: elapsedMs / LIMIT_MS, target: { atMost: 1 } },
    });
    const peak = Math.max(first.peakMegabytes, again.peakMegabytes, changed.peakMegabytes);
    return [
      time(`importing an own book of ${count(rows)} rows from CSV`, first),
      time('importing it again', again),
      time('importing it with 1 % of its rows changed', changed),
      {
        ...{ what: 'memory of these imports', figure: peak, limit: LIMIT_MEGABYTES, unit: 'MB' },
        ...{ limitIs: 'what a nightly run may take', ratio: peak / LIMIT_MEGABYTES, target: { atMost: 1 } },
      },
    ];
  },
};
