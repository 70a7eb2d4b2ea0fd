/** Statements as workbooks for spreadsheets: docs/decisions/formats.md. The same day gives the same bytes. */
import { zipped, type ZippedFile } from '../../zipped.ts';
import type { RowCells, StatementDay, StatementFormat } from '../format.ts';
import { rowWriter, rowXml, type Value } from './cells.ts';
import { partsOf, sheetHead, sheetPart, SHEET_TAIL } from './parts.ts';
import {
  changesRows,
  columnsHeader,
  kindOf,
  sheetsFor,
  summaryRows,
  SUMMARY_WIDTHS,
  widthOf,
} from './sheets.ts';

/** Rows of a sheet, its header among them. */
const SHEET_ROWS_MAX = 1_048_576;
/** No zone and no clock gets into the file: the earliest time that a ZIP knows. */
const PACKED = { mtime: new Date(0), forceDosTimestamp: true };
/** Rows compress well even with little effort, and more of it takes twice the time. */
const ROWS_PACKED = { ...PACKED, compressionLevel: 1 };

/** A sheet that is small and known. */
function smallSheet(widths: readonly number[], rows: readonly (readonly Value[])[]): Buffer {
  const lines = rows.map((values, at) => rowXml(at + 1, values));
  return Buffer.from(sheetHead(widths) + lines.join('') + SHEET_TAIL);
}

/** Hands out rows in order to one sheet after another. */
function rowsInTurn(rows: AsyncIterable<readonly RowCells[]>) {
  const batches = rows[Symbol.asyncIterator]();
  let rest: readonly RowCells[] = [];
  /** The next rows, at most so many; null after the last one. */
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
  return {
    next,
    end: async (): Promise<void> => {
      await batches.return?.();
    },
  };
}

type RowsInTurn = ReturnType<typeof rowsInTurn>;

/** A sheet of the statement's rows; the last one takes all that are left. */
async function* rowSheet(
  { columns }: StatementDay,
  rows: RowsInTurn,
  rowsMax: number,
): AsyncGenerator<Uint8Array> {
  const write = rowWriter(columns.map(kindOf));
  yield Buffer.from(sheetHead(columns.map(widthOf)) + rowXml(1, columnsHeader(columns)));
  for (let row = 1; row < rowsMax;) {
    const batch = await rows.next(rowsMax - row);
    if (batch === null) break;
    let lines = '';
    for (const cells of batch) lines += write((row += 1), cells);
    yield Buffer.from(lines);
  }
  yield Buffer.from(SHEET_TAIL);
}

/** The workbook's bytes. An account with more rows than fit on a sheet goes on on the next one. */
export async function* workbookOf(
  day: StatementDay,
  sheetRowsMax = SHEET_ROWS_MAX,
): AsyncGenerator<Uint8Array> {
  const { account, columns, earlier } = day;
  const changes = changesRows(columns, await day.changes(), earlier.length === 0);
  const parts = sheetsFor(day, sheetRowsMax - 1);
  const names = Array.from({ length: parts }, (_, at) => account.currency + (at === 0 ? '' : ` ${at + 1}`));
  const rows = rowsInTurn(day.rows);
  const sheets: Omit<ZippedFile, 'name'>[] = [
    { options: PACKED, content: smallSheet(SUMMARY_WIDTHS, summaryRows(day)) },
    ...names.map((_, at) => ({
      options: ROWS_PACKED,
      content: () => rowSheet(day, rows, at === parts - 1 ? Infinity : sheetRowsMax),
    })),
    { options: PACKED, content: smallSheet([22, ...columns.map(widthOf)], changes) },
  ];
  const others = partsOf(['Summary', ...names, 'Changes']).map(([name, text]): ZippedFile => ({
    ...{ name, options: PACKED, content: Buffer.from(text) },
  }));
  try {
    yield* zipped([...others, ...sheets.map((sheet, at) => ({ ...sheet, name: sheetPart(at + 1) }))]);
  } finally {
    await rows.end();
  }
}

export const XLSX: StatementFormat = {
  name: 'xlsx',
  extension: 'xlsx',
  contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  canBePublished: true,
  holdsEveryDay: true,
  write: (day) => workbookOf(day),
};
