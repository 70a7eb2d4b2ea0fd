/** The rows of a CSV file, read as a stream. */
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { UnreadableRows, type RowCells } from './format.ts';

const BATCH_ROWS = 2_000;

/** Every row, the header first, whatever number of cells it has. Throws `UnreadableRows`, and what reading throws. */
export async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly RowCells[]> {
  const source = Readable.from(bytes, { objectMode: false });
  const rows = parse({ relax_column_count: true, record_delimiter: '\r\n' });
  source.on('error', (error) => rows.destroy(error));
  source.pipe(rows);
  let batch: RowCells[] = [];
  try {
    for await (const row of rows as AsyncIterable<string[]>) {
      batch.push(row);
      if (batch.length < BATCH_ROWS) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  } catch (error) {
    throw error instanceof CsvError ? new UnreadableRows(error.message) : error;
  } finally {
    source.destroy();
  }
}
