/** The figures of a statement that was replaced, from its rows: a manifest keeps them of current ones only. */
import { parse } from 'csv-parse';
import { pipeline } from 'node:stream/promises';
import { addAmounts, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import { metered, type Digest } from '../objects/object-store.ts';
import { STATEMENT_COLUMNS } from './csv.ts';
import type { Figures } from './figures.ts';

/**
 * Reads a statement whole: its digest, columns and figures. The verdict tells broken and whole apart, and nothing finer.
 */
export async function figuresOfFile(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly digest: Digest; readonly figures: Figures; readonly columns: string }> {
  const source = metered(() => bytes);
  const sums = createSums();
  let columns: string[] = [];
  const rows = parse({ columns: (header: string[]) => (columns = header), record_delimiter: '\r\n' });
  await pipeline(source.stream, rows, async (parsed: AsyncIterable<Row>) => {
    for await (const row of parsed) sums.take(row);
  });
  return { digest: source.digest(), figures: sums.end(), columns: columns.join(',') };
}

type Row = Readonly<Record<(typeof STATEMENT_COLUMNS)[number], string>>;

function createSums() {
  let opening: string | null = null;
  let reached = '0';
  let [credit, creditCount, debit, debitCount, breaks] = ['0', 0, '0', 0, 0];
  return {
    take: (row: Row): void => {
      const before =
        row.credit === '' ? addAmounts(row.balance, row.debit) : subtractAmounts(row.balance, row.credit);
      if (row.credit === '') {
        debit = addAmounts(debit, row.debit);
        debitCount += 1;
      } else {
        credit = addAmounts(credit, row.credit);
        creditCount += 1;
      }
      if (opening === null) opening = before;
      else if (compareAmounts(before, reached) !== 0) breaks += 1;
      reached = row.balance;
    },
    end: (): Figures => ({
      opening: opening ?? '0',
      credit_total: credit,
      credit_count: creditCount,
      debit_total: debit,
      debit_count: debitCount,
      closing: reached,
      verdict: breaks === 0 ? 'continuous' : 'broken',
      break_count: breaks,
      breaks_after: 0,
      restarted: true,
    }),
  };
}
