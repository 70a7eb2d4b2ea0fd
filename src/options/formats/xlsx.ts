/** Statements as workbooks for spreadsheets: docs/decisions/formats.md. The same day gives the same bytes. */
import { setImmediate } from 'node:timers/promises';
import { entriesIn } from '../../ledger/chain/figures.ts';
import {
  linesOfChange,
  type StatementColumn,
  type Changes,
  type PublishedRevision,
  type StatementDay,
  type RowCells,
} from '../../statements/formats/format.ts';
import { instantText } from '../../ledger/wall-time.ts';
import { missingIn } from './bank-amounts.ts';
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
import { zipped, type ZippedFile } from '../../statements/zipped.ts';

const text = (value: string): Value => ({ kind: 'text', text: value });
const amount = (value: string): Value => ({ kind: 'amount', text: value });
const count = (value: number): Value => ({ kind: 'count', count: value });
const header = (names: readonly string[]): Value[] => names.map((name) => ({ kind: 'header', text: name }));

type RevisionCell = (of: PublishedRevision, zone: string | null) => Value;
const REVISION_CELLS: readonly (readonly [name: string, value: RevisionCell])[] = [
  ['revision', ({ revision }) => count(revision)],
  ['published_at', ({ publishedAt }, zone) => text(instantText(publishedAt, zone))],
  ['opening', ({ figures }) => amount(figures.opening)],
  ['credit_total', ({ figures }) => amount(figures.creditTotal)],
  ['credit_count', ({ figures }) => count(figures.creditCount)],
  ['debit_total', ({ figures }) => amount(figures.debitTotal)],
  ['debit_count', ({ figures }) => count(figures.debitCount)],
  ['closing', ({ figures }) => amount(figures.closing)],
  ['verdict', ({ figures }) => text(figures.verdict)],
  ['breaks', ({ figures }) => count(figures.breakCount)],
  ['unreadable', ({ unreadable }) => count(unreadable)],
  ['missing_net', ({ figures }) => amount(missingIn(figures) ?? '0')],
  ['restarted', ({ figures }) => text(figures.restarted ? 'yes' : 'no')],
  ['reason', ({ reason }) => text(reason ?? '')],
  ['file', ({ file }) => text(file)],
  ['sha256', ({ sha256 }) => text(sha256)],
];

const NOTES = [
  'missing_net is what opening + credits - debits lacks of the closing; restarted: the opening is derived from the first entry.',
  'unreadable: entries that came and could not be read when it was published; the figures lack what they say.',
  'published_at and booked_at are in the time zone of the platform; published_at says how far that is from UTC.',
  'An amount of more than 15 digits is text on yellow: a spreadsheet would round it as a number.',
  'The rows are those of the CSV that is named here; that file is the one proven.',
];

const SUMMARY_WIDTHS: readonly number[] = REVISION_CELLS.map((_, at) => (at < 2 ? 22 : 18));

/** The account and its figures, one below the other; then all revisions, one line each, this one last. */
function summaryRows({ account, day, zone, published, earlier }: StatementDay): Value[][] {
  return [
    header(['summary', '']),
    [text('merchant_no'), text(account.merchantNo)],
    [text('currency'), text(account.currency)],
    [text('day'), { kind: 'day', text: day }],
    ...REVISION_CELLS.map(([name, value]) => [text(name), value(published, zone)]),
    [],
    header(REVISION_CELLS.map(([name]) => name)),
    ...[...earlier, published].map((one) => REVISION_CELLS.map(([, value]) => value(one, zone))),
    [],
    ...NOTES.map((note) => [text(note)]),
  ];
}

const kindOf = ({ name, isAmount }: StatementColumn): TextKind =>
  isAmount ? 'amount' : name === 'booked_at' ? 'time' : 'text';

const widthOf = ({ name, isAmount }: StatementColumn): number =>
  isAmount ? 20 : name === 'currency' ? 10 : 22;

/** How many sheets of so many rows the account needs; one for a day without entries. */
const sheetsFor = ({ published }: StatementDay, rowsMax: number): number =>
  Math.max(1, Math.ceil(entriesIn(published.figures) / rowsMax));

function changesRows(
  columns: readonly StatementColumn[],
  changes: Changes | null,
  isFirst: boolean,
): Value[][] {
  const rows = [header(['change', ...columns.map(({ name }) => name)])];
  if (changes === null)
    return [...rows, [text('the file of the revision before could not be read: see the reason in Summary')]];
  if (isFirst) return [...rows, [text('the first revision: there is none before it')]];
  for (const [what, cells] of changes.rows.flatMap(linesOfChange)) {
    const valueOf = (column: StatementColumn): Value => ({
      ...{ kind: kindOf(column), text: cells[column.name] ?? '' },
    });
    rows.push([text(what), ...columns.map(valueOf)]);
  }
  if (changes.rows.length === 0) rows.push([text('no row changed: see the reason in Summary')]);
  if (changes.more > 0)
    rows.push([text(`and ${changes.more} more rows: daybook statements diff shows them all`)]);
  return rows;
}

const SHEET_ROWS_MAX = 1_048_576;
/** No zone and no clock gets into the file: the earliest time that a ZIP knows. */
const PACKED = { mtime: new Date(0), forceDosTimestamp: true };
/** Rows compress well even with little effort, and more of it takes twice the time. */
const ROWS_PACKED = { ...PACKED, compressionLevel: 1 };

/** After so many rows other work of the process has its turn. */
const ROWS_A_TURN = 100;

async function smallSheet(
  widths: readonly number[],
  rows: readonly (readonly Value[])[],
  foot: string,
): Promise<Buffer> {
  let lines = '';
  for (const [at, values] of rows.entries()) {
    if ((at + 1) % ROWS_A_TURN === 0) await setImmediate();
    lines += rowXml(at + 1, values);
  }
  return Buffer.from(sheetHead(widths) + lines + sheetTail(foot));
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
  { columns }: StatementDay,
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

/** The workbook's bytes. An account with more rows than fit on a sheet goes on on the next one. */
export async function* writeXlsx(
  day: StatementDay,
  sheetRowsMax = SHEET_ROWS_MAX,
): AsyncGenerator<Uint8Array> {
  const { account, columns, earlier, published } = day;
  const changes = changesRows(columns, await day.changes(), earlier.length === 0);
  const parts = sheetsFor(day, sheetRowsMax - 1);
  const names = Array.from({ length: parts }, (_, at) => account.currency + (at === 0 ? '' : ` ${at + 1}`));
  const rows = rowsInTurn(day.rows);
  const foot = `${account.merchantNo} ${account.currency} ${day.day}, revision ${published.revision}`;
  const summary = summaryRows(day);
  const inAll = entriesIn(published.figures);
  const printed: readonly Printed[] = [
    { name: 'Summary', columns: REVISION_CELLS.length, rows: summary.length },
    ...names.map((name, at) => {
      const own = at === parts - 1 ? inAll - at * (sheetRowsMax - 1) : sheetRowsMax - 1;
      return { name, columns: columns.length, rows: 1 + own };
    }),
    { name: 'Changes', columns: 1 + columns.length, rows: changes.length },
  ];
  const sheets: Omit<ZippedFile, 'name'>[] = [
    { options: PACKED, content: await smallSheet(SUMMARY_WIDTHS, summary, foot) },
    ...names.map((_, at) => ({
      options: ROWS_PACKED,
      content: () => rowSheet(day, rows, { rowsMax: at === parts - 1 ? Infinity : sheetRowsMax, foot }),
    })),
    { options: PACKED, content: await smallSheet([22, ...columns.map(widthOf)], changes, foot) },
  ];
  const others = partsOf(printed).map(([name, text]): ZippedFile => ({
    ...{ name, options: PACKED, content: Buffer.from(text) },
  }));
  try {
    yield* zipped([...others, ...sheets.map((sheet, at) => ({ ...sheet, name: sheetPart(at + 1) }))]);
  } finally {
    await rows.end();
  }
}
