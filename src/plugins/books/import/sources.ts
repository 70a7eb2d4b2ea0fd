/** Where the rows of a merchant's own book come from: a CSV file, a workbook, or a query of another PostgreSQL database. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { ExpectedError } from '../../../ledger/ending.ts';
import { messageOf } from '../../../ledger/text.ts';
import { wallSecond } from '../../../ledger/wall-time.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { csvRows, withLineEnds, UnreadableRows } from '../../../verify/csv.ts';
import { assertProtected } from '../../../store/engine/connection.ts';
import type { Mapping } from './mapping.ts';
import { COLUMNS_MAX, workbookNumber } from './values.ts';
import { COMMAND_LIMITS, workbookRows, type WorkbookLimits, type WorkbookValue } from './workbook.ts';

/** Rows that are handed on together, at least. */
const BATCH_ROWS = 4_000;
const READ_BYTES = 262_144;
const CELL_BYTES_MAX = 1_048_576;
/** A workbook is held in memory. */
const WORKBOOK_BYTES_MAX = 256 * 1_048_576;
const CONNECT_MS = 10_000;

export interface SourceRow {
  /** Line of the file, from 1; of a query the number of the row. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface Source {
  /** How messages name it. */
  readonly name: string;
  /** Every row that is not empty, in parts; first the one with the names of the columns. Throws `UsageError` for what cannot be read. */
  readonly rows: AsyncIterable<readonly SourceRow[]>;
  /** SHA-256 of what was read so far, in hex. */
  readonly sha256: () => string;
}

interface SourceOptions {
  /** Path of the file, or `-` for what comes in on stdin. Not for a query. */
  readonly path: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** A database on another machine may be read without TLS. */
  readonly isInsecureAllowed: boolean;
  /** What a workbook may unpack to. Default: what a person at the machine may read. */
  readonly limits?: WorkbookLimits;
  readonly signal?: AbortSignal;
}

type Bytes = AsyncIterable<Uint8Array>;
type Rows = AsyncGenerator<readonly SourceRow[]>;

/** Opens what the mapping describes; nothing is read before the first row is asked for. Throws `UsageError`. */
export function openSource(mapping: Mapping, options: SourceOptions): Source {
  const { path } = options;
  const { format } = mapping;
  if (path === null && format !== 'query') throw new UsageError('name the file to import, or - for stdin.');
  if (path !== null && format === 'query')
    throw new UsageError(
      'the mapping names a query: `daybook books import --map MAP` takes it without a file.',
    );
  const hash = createHash('sha256');
  const name = path === '-' ? 'stdin' : (path ?? 'the query');
  const bytes = bytesOf(name, options, hash, format === 'xlsx' ? WORKBOOK_BYTES_MAX : Infinity);
  const table =
    format === 'csv' ? csvTable(name, bytes, mapping) : workbookTable(name, bytes, mapping, options);
  const rows = format === 'query' ? queryRows(mapping, options, hash) : tableOf(table, mapping);
  return { name, rows, sha256: () => hash.copy().digest('hex') };
}

async function* bytesOf(name: string, { path, stdin }: SourceOptions, hash: Hash, bytesMax: number) {
  const stream: Bytes = path === '-' ? stdin : createReadStream(path!, { highWaterMark: READ_BYTES });
  let size = 0;
  try {
    for await (const part of stream) {
      hash.update(part);
      size += part.length;
      if (size > bytesMax) throw new UsageError(`${name} is larger than ${bytesMax} bytes; save it as CSV.`);
      yield part;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === undefined ? error : new UsageError(`${name} cannot be read (${code}).`);
  }
}

/** The filled rows from the line with the names of the columns on, but the last ones. */
async function* tableOf(rows: Rows, { header = 1, footer = 0 }: Mapping): Rows {
  const held: SourceRow[] = [];
  const isRow = ({ line, cells }: SourceRow) => line >= header && cells.some((cell) => cell.trim() !== '');
  for await (const part of rows) {
    for (const row of part) if (isRow(row)) held.push(row);
    if (held.length >= BATCH_ROWS + footer) yield held.splice(0, held.length - footer);
  }
  const last = held.slice(0, Math.max(0, held.length - footer));
  if (last.length > 0) yield last;
}

async function* csvTable(name: string, bytes: Bytes, { delimiter, encoding }: Mapping): Rows {
  let line = 1;
  const placed = (cells: readonly string[]): SourceRow => {
    const at = line;
    line += 1;
    if (!cells.some((cell) => cell.includes('\n'))) return { line: at, cells };
    line += cells.join('').split('\n').length - 1;
    return { line: at, cells: cells.map((cell) => cell.replaceAll('\r\n', '\n')) };
  };
  const form = { delimiter, hasBareQuotes: true, cellBytesMax: CELL_BYTES_MAX, cellsMax: COLUMNS_MAX };
  try {
    const text = withLineEnds(decoded(name, bytes, encoding));
    for await (const part of csvRows(text, form)) yield part.map(placed);
  } catch (error) {
    if (!(error instanceof UnreadableRows)) throw error;
    throw new UsageError(`${name} is no CSV: ${error.message}. Nothing was stored.`);
  }
}

/** The text of a file in pieces, without a mark at its beginning. */
async function* decoded(name: string, bytes: Bytes, encoding = 'utf-8'): AsyncGenerator<string> {
  try {
    const decoder = new TextDecoder(encoding, { fatal: true });
    for await (const part of bytes) yield decoder.decode(part, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw new UsageError(
      `${name} is not ${encoding}. Add its encoding to the mapping, for example \`encoding: windows-1252\`. Nothing was stored.`,
    );
  }
}

async function* workbookTable(
  name: string,
  bytes: Bytes,
  { sheet, dates }: Mapping,
  { limits = COMMAND_LIMITS, signal }: SourceOptions,
): Rows {
  const file = await buffer(bytes);
  const isTimed = dates?.includes('mm') === true;
  for await (const part of workbookRows(name, file, { sheet: sheet ?? null, limits }, signal))
    yield part.map(({ index, values }) => ({
      line: index + 1,
      cells: values.map((value) => cellText(value, isTimed)),
    }));
}

/** A date of a workbook is what its clock shows, in no zone; one at midnight is a day, unless the mapping's dates have a time. */
function cellText(value: WorkbookValue, isTimed: boolean): string {
  if (value === null) return '';
  if (typeof value === 'number') return workbookNumber(value);
  if (!(value instanceof Date)) return String(value);
  if (Number.isNaN(value.getTime())) return '';
  // Fractions of a day are rounded to the second they mean.
  const shown = wallSecond(Math.round(value.getTime() / 1_000) * 1_000, 'UTC');
  return isTimed ? shown : shown.replace(' 00:00:00', '');
}

async function* queryRows(mapping: Mapping, options: SourceOptions, hash: Hash): Rows {
  const { connectionEnv: variable = '', query = '' } = mapping;
  const place = `the database of ${variable}`;
  const connectionString = options.env[variable] ?? '';
  if (connectionString === '')
    throw new UsageError(`${variable} is not set: it has to hold the address of the database.`);
  let client: pg.Client | null = null;
  let isOpen = false;
  try {
    if (!options.isInsecureAllowed) assertProtected(connectionString, place, {});
    client = new pg.Client({
      ...{ connectionString, application_name: 'daybook books', connectionTimeoutMillis: CONNECT_MS },
      types: { getTypeParser: () => (value: string) => value },
    });
    client.on('error', () => undefined);
    await client.connect();
    isOpen = true;
    // With fewer digits, an amount that is kept as a double would be cut.
    await client.query(
      "BEGIN READ ONLY; SET LOCAL TimeZone TO 'UTC'; SET LOCAL DateStyle TO 'ISO, YMD'; SET LOCAL extra_float_digits TO 1",
    );
    await ask(client, `DECLARE daybook_book NO SCROLL CURSOR FOR ${query}`);
    for (let line = 0, isFirst = true; ; isFirst = false) {
      const { rows, fields } = await ask(client, `FETCH ${BATCH_ROWS} FROM daybook_book`);
      if (isFirst) yield [{ line: 0, cells: fields.map(({ name }) => name) }];
      if (rows.length === 0) return;
      const part = rows.map((row) => ({ line: ++line, cells: row.map((cell) => cell ?? '') }));
      hash.update(JSON.stringify(part));
      yield part;
    }
  } catch (error) {
    if (error instanceof ExpectedError) throw error;
    const { code = 'its address cannot be read' } = error as NodeJS.ErrnoException;
    // Without a connection, what the driver says may have the address, which holds the password.
    const problem = isOpen ? `the query failed: ${messageOf(error)}` : `${place} cannot be reached (${code})`;
    throw new UsageError(`${problem}. Nothing was stored.`);
  } finally {
    await client?.end().catch(() => undefined);
  }
}

/** In this mode a text is one statement at most. */
const ask = (client: pg.Client, text: string): Promise<pg.QueryArrayResult<(string | null)[]>> =>
  client.query({ text, rowMode: 'array', queryMode: 'extended' } as pg.QueryArrayConfig);
