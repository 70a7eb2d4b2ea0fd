/** What the sheets of a workbook hold: the day's figures and revisions, its rows, and what the revision changed. */
import { entriesIn } from '../../../ledger/chain/figures.ts';
import type { StatementColumn } from '../columns.ts';
import type { Changes, PublishedRevision, StatementDay } from '../format.ts';
import { missingIn } from '../bank-amounts.ts';
import type { TextKind, Value } from './cells.ts';

/** Rows of a sheet, its header first, some at a time. */
export type SheetRows = AsyncIterable<readonly (readonly Value[])[]>;

const text = (value: string): Value => ({ kind: 'text', text: value });
const amount = (value: string): Value => ({ kind: 'amount', text: value });
const count = (value: number): Value => ({ kind: 'count', count: value });
const header = (names: readonly string[]): Value[] => names.map((name) => ({ kind: 'header', text: name }));
/** An instant as a time of UTC. */
const instant = (at: Date): Value => ({
  kind: 'time',
  text: at.toISOString().slice(0, 19).replace('T', ' '),
});

/** What is said of each revision. */
const REVISION_CELLS: readonly (readonly [name: string, value: (of: PublishedRevision) => Value])[] = [
  ['revision', ({ revision }) => count(revision)],
  ['published_at', ({ publishedAt }) => instant(publishedAt)],
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
  'published_at is in UTC; booked_at is in the time zone of the platform.',
  'An amount of more than 15 digits is text on yellow: a spreadsheet would round it as a number.',
  'The rows are those of the CSV that is named here; that file is the one proven.',
];

export const SUMMARY_WIDTHS: readonly number[] = [
  22,
  22,
  ...Array.from({ length: REVISION_CELLS.length - 2 }, () => 18),
];

/** The account and its figures, one below the other; then all revisions, one line each, this one last. */
export function summaryRows({ account, day, published, earlier }: StatementDay): Value[][] {
  return [
    header(['summary', '']),
    [text('merchant_no'), text(account.merchantNo)],
    [text('currency'), text(account.currency)],
    [text('day'), { kind: 'day', text: day }],
    ...REVISION_CELLS.map(([name, value]) => [text(name), value(published)]),
    [],
    header(REVISION_CELLS.map(([name]) => name)),
    ...[...earlier, published].map((one) => REVISION_CELLS.map(([, value]) => value(one))),
    [],
    ...NOTES.map((note) => [text(note)]),
  ];
}

/** What a column's cells hold. */
export const kindOf = ({ name, isAmount }: StatementColumn): TextKind =>
  isAmount ? 'amount' : name === 'booked_at' ? 'time' : 'text';

export const widthOf = ({ name, isAmount }: StatementColumn): number =>
  isAmount ? 20 : name === 'currency' ? 10 : 22;

/** The header row of a statement's columns. */
export const columnsHeader = (columns: readonly StatementColumn[], before: readonly string[] = []): Value[] =>
  header([...before, ...columns.map(({ name }) => name)]);

/** How many sheets of so many rows the account needs; one for a day without entries. */
export const sheetsFor = ({ published }: StatementDay, rowsMax: number): number =>
  Math.max(1, Math.ceil(entriesIn(published.figures) / rowsMax));

/** Added and removed rows, and changed ones before and after. */
export function changesRows(
  columns: readonly StatementColumn[],
  changes: Changes | null,
  isFirst: boolean,
): Value[][] {
  const rows = [columnsHeader(columns, ['change'])];
  if (changes === null)
    return [...rows, [text('the file of the revision before could not be read: see the reason in Summary')]];
  if (isFirst) return [...rows, [text('the first revision: there is none before it')]];
  for (const { before, after } of changes.rows) {
    const line = (what: string, cells: Readonly<Record<string, string>>): Value[] => [
      text(what),
      ...columns.map((column): Value => ({ kind: kindOf(column), text: cells[column.name] ?? '' })),
    ];
    if (before !== null) rows.push(line(after === null ? 'went' : 'before', before));
    if (after !== null) rows.push(line(before === null ? 'came' : 'after', after));
  }
  if (changes.rows.length === 0) rows.push([text('no row changed: see the reason in Summary')]);
  if (changes.more > 0)
    rows.push([text(`and ${changes.more} more rows: daybook statements diff shows them all`)]);
  return rows;
}
