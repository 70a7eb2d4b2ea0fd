/** The figures of a statement that was replaced, from its rows: a manifest keeps them of current ones only. */
import { parse } from 'csv-parse';
import { pipeline } from 'node:stream/promises';
import { compareAmounts } from '../ledger/money.ts';
import { metered, type Digest } from '../objects/object-store.ts';
import { STATEMENT_COLUMNS } from './csv.ts';
import type { Figures } from './figures.ts';
import { createSums } from './row-sums.ts';

/**
 * Reads a statement whole: its digest, columns and figures. The verdict tells broken and whole apart, and nothing finer.
 */
export async function figuresOfFile(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly digest: Digest; readonly figures: Figures; readonly columns: string }> {
  const source = metered(() => bytes);
  const made = createFigures();
  let columns: string[] = [];
  const rows = parse({ columns: (header: string[]) => (columns = header), record_delimiter: '\r\n' });
  await pipeline(source.stream, rows, async (parsed: AsyncIterable<Row>) => {
    for await (const row of parsed) made.take(row);
  });
  return { digest: source.digest(), figures: made.end(), columns: columns.join(',') };
}

type Row = Readonly<Record<(typeof STATEMENT_COLUMNS)[number], string>>;

function createFigures() {
  const sums = createSums();
  let opening: string | null = null;
  let reached = '0';
  let breaks = 0;
  return {
    take: (row: Row): void => {
      const before = sums.take(row);
      if (opening === null) opening = before;
      else if (compareAmounts(before, reached) !== 0) breaks += 1;
      reached = row.balance;
    },
    end: (): Figures => {
      const { creditTotal, creditCount, debitTotal, debitCount } = sums.end();
      return {
        opening: opening ?? '0',
        credit_total: creditTotal,
        credit_count: creditCount,
        debit_total: debitTotal,
        debit_count: debitCount,
        closing: reached,
        verdict: breaks === 0 ? 'continuous' : 'broken',
        break_count: breaks,
        breaks_after: 0,
        restarted: true,
      };
    },
  };
}
