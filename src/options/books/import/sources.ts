/** Where the rows of a merchant's own book come from: a CSV file, a workbook, or a query of another PostgreSQL database. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import pg from 'pg';
import { loadFor } from '../../../host/packages.ts';
import { messageOf } from '../../../ledger/text.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { protectionOf } from '../../../store/engine/connection.ts';
import type { Mapping } from './mapping.ts';
import { hasTime, workbookNumber } from './values.ts';

/** Rows that are handed on together. */
const BATCH_ROWS = 5_000;
const READ_BYTES = 262_144;
/** A row is never so long. A quote that is not closed would take in all rows behind it. */
const ROW_BYTES_MAX = 1_048_576;
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
  /** Each row has a cell for each column. */
  readonly isTable: boolean;
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
}

/** Opens what the mapping describes; nothing is read before the first row is asked for. Throws `UsageError`. */
export function openSource(mapping: Mapping, options: SourceOptions): Source {
  const { path, stdin } = options;
  const hash = createHash('sha256');
  const isQuery = mapping.format === 'query';
  if (isQuery !== (path === null))
    throw new UsageError(
      isQuery ? 'the mapping names a query: leave the file out.' : 'name the file to import, or - for stdin.',
    );
  const name = path === '-' ? 'stdin' : (path ?? 'the query');
  const bytes = bytesOf(path, stdin);
  const rows = isQuery
    ? queryRows(mapping, options, hash)
    : withoutFooter(
        fromHeader(
          mapping.format === 'csv'
            ? csvRows(hashed(bytes, hash, name), mapping, name)
            : workbookRows(path!, bytes, mapping, hash),
          mapping.header ?? 1,
        ),
        mapping.footer ?? 0,
      );
  return {
    name,
    rows,
    isTable: mapping.format === 'csv',
    sha256: () => hash.copy().digest('hex'),
  };
}

/** Opened when the first bytes are asked for: until then no one takes the error of a file that is not there. */
async function* bytesOf(path: string | null, stdin: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (path !== null) yield* path === '-' ? stdin : createReadStream(path, { highWaterMark: READ_BYTES });
}

type Rows = AsyncGenerator<readonly SourceRow[]>;

async function* hashed(bytes: AsyncIterable<Uint8Array>, hash: Hash, name: string) {
  try {
    for await (const part of bytes) {
      hash.update(part);
      yield part;
    }
  } catch (error) {
    throw unreadableFile(name, error);
  }
}

function unreadableFile(name: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || error instanceof CsvError
    ? error
    : new UsageError(`${name} cannot be read (${code}).`);
}

/** The rows from the line with the names of the columns on. */
async function* fromHeader(rows: Rows, header: number): Rows {
  let isBefore = true;
  for await (const part of rows) {
    const wanted: readonly SourceRow[] = isBefore ? part.filter(({ line }) => line >= header) : part;
    isBefore &&= wanted.length === 0;
    if (wanted.length > 0) yield wanted;
  }
}

/** All rows but the last ones. */
async function* withoutFooter(rows: Rows, footer: number): Rows {
  let held: readonly SourceRow[] = [];
  for await (const part of rows) {
    const all = held.length === 0 ? part : [...held, ...part];
    const given = all.slice(0, all.length - footer);
    held = all.slice(given.length);
    if (given.length > 0) yield given;
  }
}

async function* csvRows(
  bytes: AsyncIterable<Uint8Array>,
  { delimiter = ',', encoding = 'utf-8' }: Mapping,
  name: string,
): Rows {
  let rows: SourceRow[] = [];
  let problem: Error | null = null;
  const parser = parse({
    ...{ delimiter, record_delimiter: '\n', max_record_size: ROW_BYTES_MAX },
    ...{ relax_column_count: true, relax_quotes: true, skip_empty_lines: true },
    on_record: (cells: string[], { lines }) => {
      if (cells.some((cell) => cell.trim() !== '')) rows.push({ line: lines - lineEndsIn(cells), cells });
      return null;
    },
  });
  parser.on('error', (error) => (problem = csvProblem(name, error))).resume();
  const given = function* (isEnd: boolean) {
    if (problem !== null) throw problem;
    if (rows.length < BATCH_ROWS && !isEnd) return;
    yield* batches(rows);
    rows = [];
  };
  for await (const text of decoded(bytes, encoding, name)) {
    parser.write(text);
    yield* given(false);
  }
  parser.end();
  // A quote that is still open shows only now, and what is reported would come after the last row.
  await finished(parser).catch(() => undefined);
  yield* given(true);
}

const lineEndsIn = (cells: readonly string[]): number =>
  cells.reduce((count, cell) => count + (cell.includes('\n') ? cell.split('\n').length - 1 : 0), 0);

function* batches(rows: readonly SourceRow[]) {
  for (let from = 0; from < rows.length; from += BATCH_ROWS) yield rows.slice(from, from + BATCH_ROWS);
}

function csvProblem(name: string, error: Error): Error {
  if (!(error instanceof CsvError)) return error;
  const line = error['lines'] as number | undefined;
  const what: Partial<Record<string, string>> = {
    CSV_QUOTE_NOT_CLOSED: 'a quote that is opened is not closed',
    CSV_MAX_RECORD_SIZE: 'a row is longer than 1 MB, probably as a quote is not closed',
  };
  return new UsageError(
    `${name} is no CSV: ${what[error.code] ?? error.code}, up to line ${line ?? '?'}. Nothing was stored.`,
  );
}

/** The text with line ends as LF, without a mark at its beginning. */
async function* decoded(
  bytes: AsyncIterable<Uint8Array>,
  encoding: string,
  name: string,
): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let held = '';
  const decode = (part?: Uint8Array): string => {
    try {
      return decoder.decode(part, { stream: part !== undefined });
    } catch {
      throw new UsageError(
        `${name} is not ${encoding}. Add its encoding to the mapping, for example \`encoding: windows-1252\`. Nothing was stored.`,
      );
    }
  };
  const plain = (text: string): string => (text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text);
  for await (const part of bytes) {
    const text = held + decode(part);
    // The LF of a CR may come with the next part.
    held = text.endsWith('\r') ? '\r' : '';
    yield plain(held === '' ? text : text.slice(0, -1));
  }
  yield plain(held + decode());
}

async function* workbookRows(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  { sheet, dates }: Mapping,
  hash: Hash,
): Rows {
  const { streamXlsxRows } = await loadFor('books kept as XLSX', () => import('hucre/xlsx'));
  const book = await completeFile(path, bytes);
  hash.update(book);
  const isTimed = dates !== undefined && hasTime(dates);
  let rows: SourceRow[] = [];
  let isEmpty = true;
  try {
    for await (const { index, values } of streamXlsxRows(book, sheet === undefined ? {} : { sheet })) {
      isEmpty = false;
      const cells = values.map((value) => cellText(value, isTimed));
      if (cells.every((cell) => cell.trim() === '')) continue;
      rows.push({ line: index + 1, cells });
      if (rows.length < BATCH_ROWS) continue;
      yield rows;
      rows = [];
    }
  } catch (error) {
    throw new UsageError(`${path} cannot be read as a workbook: ${messageOf(error)}. Nothing was stored.`);
  }
  if (isEmpty)
    throw new UsageError(`${path} has no rows${sheet === undefined ? '' : ` in a sheet ${sheet}`}.`);
  yield rows;
}

async function completeFile(path: string, bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const tooLarge = (size: number) =>
    new UsageError(
      `${path} has ${size} bytes; a workbook has at most ${WORKBOOK_BYTES_MAX}. Save it as CSV.`,
    );
  try {
    if (path !== '-') {
      const { size } = await stat(path);
      if (size > WORKBOOK_BYTES_MAX) throw tooLarge(size);
      return await readFile(path);
    }
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of bytes) {
      parts.push(part);
      size += part.length;
      if (size > WORKBOOK_BYTES_MAX) throw tooLarge(size);
    }
    return Buffer.concat(parts);
  } catch (error) {
    throw unreadableFile(path, error);
  }
}

/** A date of a workbook is what its clock shows, in no zone; one at midnight is a day, unless the mapping's dates have a time. */
function cellText(value: string | number | boolean | Date | null, isTimed: boolean): string {
  if (value === null) return '';
  if (typeof value === 'number') return workbookNumber(value);
  if (!(value instanceof Date)) return String(value);
  if (Number.isNaN(value.getTime())) return '';
  // Fractions of a day are rounded to the second they mean.
  const shown = new Date(Math.round(value.getTime() / 1_000) * 1_000)
    .toISOString()
    .slice(0, 19)
    .replace('T', ' ');
  return isTimed ? shown : shown.replace(' 00:00:00', '');
}

async function* queryRows(mapping: Mapping, { env, isInsecureAllowed }: SourceOptions, hash: Hash): Rows {
  const variable = mapping.connectionEnv!;
  const connectionString = env[variable];
  if (connectionString === undefined || connectionString === '')
    throw new UsageError(
      `${variable} is not set: the mapping says that it holds the address of the database.`,
    );
  const client = await connected(connectionString, variable, isInsecureAllowed);
  try {
    // Sent with parameters, a text is one statement at most; and it changes nothing.
    await client.query("BEGIN READ ONLY; SET LOCAL TimeZone TO 'UTC'; SET LOCAL DateStyle TO 'ISO, YMD'");
    await ask(client, `DECLARE daybook_book NO SCROLL CURSOR FOR ${mapping.query!}`);
    for (let line = 0, isFirst = true; ; isFirst = false) {
      const { rows, fields } = await ask(client, `FETCH ${BATCH_ROWS} FROM daybook_book`);
      if (isFirst) yield [{ line: 0, cells: fields.map(({ name }) => name) }];
      if (rows.length === 0) return;
      const part = rows.map((row) => ({ line: ++line, cells: row.map((cell) => cell ?? '') }));
      hash.update(JSON.stringify(part));
      yield part;
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`the query failed: ${messageOf(error)}. Nothing was stored.`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** No message repeats the address: it holds the password. */
async function connected(
  connectionString: string,
  variable: string,
  isInsecureAllowed: boolean,
): Promise<pg.Client> {
  try {
    if (!isInsecureAllowed && protectionOf(connectionString) === 'plain')
      throw new UsageError(
        `the database of ${variable} would be spoken to without TLS: add ?sslmode=verify-full to its address, ` +
          'or answer for it with DAYBOOK_ALLOW_INSECURE=database.',
      );
    const client = new pg.Client({
      connectionString,
      connectionTimeoutMillis: CONNECT_MS,
      application_name: 'daybook books',
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `the database of ${variable} cannot be reached (${code ?? 'its address cannot be read'}). Nothing was stored.`,
    );
  }
}

const AS_TEXT = { getTypeParser: () => (value: string) => value };

const ask = (client: pg.Client, text: string): Promise<pg.QueryArrayResult<(string | null)[]>> =>
  client.query<(string | null)[]>({
    text,
    rowMode: 'array',
    types: AS_TEXT,
    queryMode: 'extended',
  } as pg.QueryArrayConfig);
