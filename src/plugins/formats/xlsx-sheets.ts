/** Workbooks sheet by sheet, as a stream: small sheets at once, rows of statements when their turn comes. */
import { setImmediate } from 'node:timers/promises';
import type { StatementColumn } from '../../statements/formats/format.ts';
import type { RowCells } from '../../verify/csv.ts';
import { zipped, type ZippedFile } from '../../statements/zipped.ts';
import {
  type TextKind,
  type Value,
  rowWriter,
  rowXml,
  partsOf,
  sheetHead,
  sheetPart,
  sheetTail,
  type Printed,
} from './xlsx-xml.ts';

export const text = (value: string): Value => ({ kind: 'text', text: value });
export const amount = (value: string): Value => ({ kind: 'amount', text: value });
export const count = (value: number): Value => ({ kind: 'count', count: value });
export const header = (names: readonly string[]): Value[] =>
  names.map((name) => ({ kind: 'header', text: name }));

export const kindOf = ({ name, isAmount }: StatementColumn): TextKind =>
  isAmount ? 'amount' : name === 'booked_at' ? 'time' : 'text';

export const widthOf = ({ name, isAmount }: StatementColumn): number =>
  isAmount ? 20 : name === 'currency' ? 10 : 22;

export const SHEET_ROWS_MAX = 1_048_576;
/** No zone and no clock gets into the file: the earliest time that a ZIP knows. */
const PACKED = { mtime: new Date(0), forceDosTimestamp: true };
/** Rows compress well even with little effort, and more of it takes twice the time. */
const ROWS_PACKED = { ...PACKED, compressionLevel: 1 };

export interface Sheet extends Omit<ZippedFile, 'name'> {
  readonly printed: Printed;
}

interface Table {
  readonly name: string;
  /** In characters. */
  readonly widths: readonly number[];
  /** Stands at the foot of each printed page, before the sheet's name. */
  readonly foot: string;
}

/** After so many rows other work of the process has its turn. */
const ROWS_A_TURN = 100;

export async function smallSheet(
  { name, widths, foot }: Table,
  rows: readonly (readonly Value[])[],
): Promise<Sheet> {
  let lines = '';
  for (const [at, values] of rows.entries()) {
    if ((at + 1) % ROWS_A_TURN === 0) await setImmediate();
    lines += rowXml(at + 1, values);
  }
  const printed = { name, columns: widths.length, rows: rows.length };
  return { printed, options: PACKED, content: Buffer.from(sheetHead(widths) + lines + sheetTail(foot)) };
}

/** The same, each row made when its turn comes. `count` is how many there will be. */
export function lateSheet(
  { name, widths, foot }: Table,
  count: number,
  rows: () => AsyncIterable<readonly Value[]>,
): Sheet {
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(sheetHead(widths));
    let at = 0;
    for await (const values of rows()) yield Buffer.from(rowXml((at += 1), values));
    yield Buffer.from(sheetTail(foot));
  }
  return { printed: { name, columns: widths.length, rows: count }, options: PACKED, content };
}

function rowsInTurn(rows: AsyncIterable<readonly RowCells[]>) {
  const batches = rows[Symbol.asyncIterator]();
  let rest: readonly RowCells[] = [];
  const next = async (max: number): Promise<readonly RowCells[] | null> => {
    while (rest.length === 0) {
      const found: IteratorResult<readonly RowCells[], unknown> = await batches.next();
      if (found.done === true) return null;
      rest = found.value;
    }
    const taken = rest.slice(0, max);
    rest = rest.slice(max);
    return taken;
  };
  const end = async (): Promise<void> => {
    await batches.return?.();
  };
  return { next, end };
}

type RowsInTurn = ReturnType<typeof rowsInTurn>;

/** A sheet of the statement's rows; the last one takes all that are left. */
async function* rowSheet(
  columns: readonly StatementColumn[],
  rows: RowsInTurn,
  { rowsMax, foot }: { readonly rowsMax: number; readonly foot: string },
): AsyncGenerator<Uint8Array> {
  const write = rowWriter(columns.map(kindOf));
  yield Buffer.from(sheetHead(columns.map(widthOf)) + rowXml(1, header(columns.map(({ name }) => name))));
  for (let row = 1; row < rowsMax;) {
    const batch = await rows.next(rowsMax - row);
    if (batch === null) break;
    let lines = '';
    for (const cells of batch) lines += write((row += 1), cells);
    yield Buffer.from(lines);
  }
  yield Buffer.from(sheetTail(foot));
}

interface Rows extends Omit<Table, 'widths'> {
  readonly columns: readonly StatementColumn[];
  readonly rows: AsyncIterable<readonly RowCells[]>;
  readonly inAll: number;
}

/** The sheets of an account; more rows than fit on one go on on the next. Call `end` when none of them is read any more. */
export function rowSheets({ name, foot, columns, rows, inAll }: Rows, sheetRowsMax = SHEET_ROWS_MAX) {
  const ownMax = sheetRowsMax - 1;
  const parts = Math.max(1, Math.ceil(inAll / ownMax));
  const turns = rowsInTurn(rows);
  const sheets = Array.from({ length: parts }, (_, at): Sheet => {
    const isLast = at === parts - 1;
    const printed = {
      ...{ name: name + (at === 0 ? '' : ` ${at + 1}`), columns: columns.length },
      rows: 1 + (isLast ? inAll - at * ownMax : ownMax),
    };
    const rowsMax = isLast ? Infinity : sheetRowsMax;
    const content = () => rowSheet(columns, turns, { rowsMax, foot });
    return { printed, options: ROWS_PACKED, content };
  });
  return { sheets, end: turns.end };
}

/** The workbook's bytes. */
export async function* workbook(sheets: readonly Sheet[]): AsyncGenerator<Uint8Array> {
  const others = partsOf(sheets.map(({ printed }) => printed)).map(([name, part]): ZippedFile => ({
    ...{ name, options: PACKED, content: Buffer.from(part) },
  }));
  yield* zipped([
    ...others,
    ...sheets.map(({ options, content }, at) => ({ options, content, name: sheetPart(at + 1) })),
  ]);
}
