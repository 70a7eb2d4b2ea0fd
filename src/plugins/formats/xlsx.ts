/** Statements as workbooks for spreadsheets: docs/decisions/formats.md. The same day gives the same bytes. */
import { entriesIn } from '../../ledger/chain/figures.ts';
import {
  linesOfChange,
  type StatementColumn,
  type Changes,
  type PublishedRevision,
  type StatementDay,
} from '../../statements/formats/format.ts';
import { instantText } from '../../ledger/wall-time.ts';
import { accountNameRows, merchantNameRows } from './names.ts';
import { missingIn } from './bank-amounts.ts';
import type { Value } from './xlsx-xml.ts';
import {
  amount,
  count,
  header,
  kindOf,
  rowSheets,
  SHEET_ROWS_MAX,
  smallSheet,
  text,
  widthOf,
  workbook,
} from './xlsx-sheets.ts';

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
function summaryRows({ account, day, zone, published, earlier, names }: StatementDay): Value[][] {
  return [
    header(['summary', '']),
    [text('merchant_no'), text(account.merchantNo)],
    ...merchantNameRows(names),
    [text('currency'), text(account.currency)],
    ...accountNameRows(names, account.currency),
    [text('day'), { kind: 'day', text: day }],
    ...REVISION_CELLS.map(([name, value]) => [text(name), value(published, zone)]),
    [],
    header(REVISION_CELLS.map(([name]) => name)),
    ...[...earlier, published].map((one) => REVISION_CELLS.map(([, value]) => value(one, zone))),
    [],
    ...NOTES.map((note) => [text(note)]),
  ];
}

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

/** The workbook's bytes. An account with more rows than fit on a sheet goes on on the next one. */
export async function* writeXlsx(
  day: StatementDay,
  sheetRowsMax = SHEET_ROWS_MAX,
): AsyncGenerator<Uint8Array> {
  const { account, columns, earlier, published } = day;
  const changes = changesRows(columns, await day.changes(), earlier.length === 0);
  const foot = `${account.merchantNo} ${account.currency} ${day.day}, revision ${published.revision}`;
  const summary = summaryRows(day);
  const inAll = entriesIn(published.figures);
  const entries = rowSheets({ name: account.currency, foot, columns, rows: day.rows, inAll }, sheetRowsMax);
  try {
    yield* workbook([
      await smallSheet({ name: 'Summary', widths: SUMMARY_WIDTHS, foot }, summary),
      ...entries.sheets,
      await smallSheet({ name: 'Changes', widths: [22, ...columns.map(widthOf)], foot }, changes),
    ]);
  } finally {
    await entries.end();
  }
}
