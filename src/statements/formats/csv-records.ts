/** A published CSV as its records, read as a stream: each as raw text; its cells are only parsed on demand. */
import { CsvError, parse } from 'csv-parse/sync';

const LINE_END = '\r\n';
/** Longer than any record of ours, so that a file of another kind is not collected in memory as one record. */
const RECORD_CHARACTERS_MAX = 1_048_576;

/** The bytes are not a statement with the expected columns. */
export class NoStatement extends Error {
  override readonly name = 'NoStatement';
  readonly file: string;
  constructor(file: string, why: string) {
    super(`${file} is no statement: ${why}`);
    this.file = file;
  }
}

/** The records of a file's bytes, some at a time, its header first. Memory holds one chunk. Throws `NoStatement`. */
export async function* recordsOf(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(LINE_END);
    rest = lines.pop()!;
    const records = splitRecords(lines);
    rest = records.unfinished + rest;
    if (rest.length > RECORD_CHARACTERS_MAX)
      throw new NoStatement(file, `a record has more than ${RECORD_CHARACTERS_MAX} characters`);
    if (records.complete.length > 0) yield records.complete;
  }
  rest += decoder.decode();
  if (rest !== '') yield [rest];
}

/** A line break inside quotes is part of a cell, so the lines around it are one record. */
function splitRecords(lines: readonly string[]): { complete: readonly string[]; unfinished: string } {
  if (!lines.some((line) => line.includes('"'))) return { complete: lines, unfinished: '' };
  const complete: string[] = [];
  let open: string[] = [];
  for (const line of lines) {
    open.push(line);
    const endsInQuotes = hasOddQuotes(line) === (open.length === 1);
    if (endsInQuotes) continue;
    complete.push(open.join(LINE_END));
    open = [];
  }
  return { complete, unfinished: open.map((line) => line + LINE_END).join('') };
}

const hasOddQuotes = (line: string): boolean => line.includes('"') && line.split('"').length % 2 === 0;

/** A record's cells; null for a text that is no CSV. */
export function cellsOf(record: string): readonly string[] | null {
  if (!record.includes('"')) return record.split(',');
  try {
    const [cells] = parse(record, { record_delimiter: LINE_END });
    return cells ?? null;
  } catch (error) {
    if (error instanceof CsvError) return null;
    throw error;
  }
}
