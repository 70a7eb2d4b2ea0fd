/** A second format, as somebody would write one: a JSON object a row, by the names of the columns. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { UnreadableRows, type RowCells } from '../../src/verify/csv.ts';
import { type StatementDay, type StatementFormat } from '../../src/statements/formats/format.ts';

async function* write({ columns, rows }: StatementDay): AsyncGenerator<Uint8Array> {
  for await (const batch of rows) {
    const lines = batch.map((cells) =>
      JSON.stringify(Object.fromEntries(columns.map(({ name }, at) => [name, cells[at]]))),
    );
    yield Buffer.from(lines.map((line) => `${line}\n`).join(''));
  }
}

async function* rows(
  bytes: AsyncIterable<Uint8Array>,
  columns: readonly string[],
): AsyncGenerator<readonly RowCells[]> {
  for await (const line of createInterface({ input: Readable.from(bytes, { objectMode: false }) }))
    yield [cellsOf(line, columns)];
}

function cellsOf(line: string, columns: readonly string[]): RowCells {
  try {
    const row = JSON.parse(line) as Record<string, string>;
    return columns.flatMap((column) => row[column] ?? []);
  } catch {
    throw new UnreadableRows(`${line} is no JSON`);
  }
}

export const JSON_LINES: StatementFormat = {
  name: 'jsonl',
  extension: 'jsonl',
  contentType: 'application/jsonl',
  canBePublished: true,
  write,
  reader: { hasHeader: false, rows },
};
