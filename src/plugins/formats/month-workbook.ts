/** A merchant's month as a workbook: an overview, each account's entries, the breaks, and what later revisions changed. */
import { ownBooksSlot } from '../../months/own-books.ts';
import type { Kysely } from 'kysely';
import { causeOf } from '../../ledger/hints/stories.ts';
import { entriesIn } from '../../ledger/chain/figures.ts';
import { addAmounts, subtractAmounts } from '../../ledger/money.ts';
import type { MerchantNames } from '../../ledger/names.ts';
import { instantText } from '../../ledger/wall-time.ts';
import { BOOK_FIGURES, type BookFigures } from '../../ledger/own-books.ts';
import type { ObjectStore } from '../../objects/object-store.ts';
import { provenBalances } from '../../run/proven.ts';
import { columnsOfMonth, rowsOfMonth } from '../../months/account-month.ts';
import { isUnreadable, rowsBetween } from '../../statements/fetch.ts';
import type { MonthAsked } from '../../statements/formats/format.ts';
import { listedMonth } from '../../months/month-files.ts';
import { missingNetOf, type MonthFigures } from '../../ledger/month-figures.ts';
import { monthFigures, monthOf, stretches, type ListedMonth, type Month } from '../../months/month.ts';
import { earlierOf } from '../../statements/summary.ts';
import { figuresOf } from '../../store/account-days.ts';
import { lastSteps, type CaseStep } from '../../store/breaks/break-cases.ts';
import { knownBreak, listBreaks, type BreakRow } from '../../store/breaks/breaks.ts';
import type { DB } from '../../store/engine/schema.ts';
import { namesOfMerchant } from '../../store/names.ts';
import type { StatementRow } from '../../store/statements/statements.ts';
import { ACCOUNT_NAMES, merchantNameRows } from './names.ts';
import type { Value } from './xlsx-xml.ts';
import { amount, count, header, lateSheet, rowSheets, smallSheet, text, workbook } from './xlsx-sheets.ts';

interface Sources {
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
}

interface MonthBook {
  readonly merchantNo: string;
  readonly names: MerchantNames | undefined;
  readonly month: Month;
  readonly zone: string | null;
  readonly at: Date;
  /** Those with a statement. */
  readonly accounts: readonly BookedAccount[];
  readonly breaks: readonly BreakRow[];
  readonly steps: ReadonlyMap<number, CaseStep>;
  /** Every statement of the month that replaced one, with that one. */
  readonly replaced: readonly (readonly [before: StatementRow, after: StatementRow])[];
}

interface BookedAccount {
  readonly account: ListedMonth;
  readonly figures: MonthFigures;
  readonly verifiedThrough: string | null;
  readonly breaks: readonly BreakRow[];
  /** How its days agree with own books; none where there are no own books. */
  readonly ownBooks: readonly BookFigures[];
}

/** Null where nothing was published. Throws what reading the database throws; its bytes what reading a statement throws. */
export async function monthWorkbook(
  { db, objects }: Sources,
  asked: MonthAsked,
): Promise<AsyncIterable<Uint8Array> | null> {
  const book = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((trx) => bookIn(trx, asked));
  return book && written(objects, book);
}

/** Most breaks that are listed; the workbook says how many more there are. */
const BREAKS_MAX = 10_000;

async function bookIn(db: Kysely<DB>, asked: MonthAsked): Promise<MonthBook | null> {
  const { merchantNo, currencies, now } = asked;
  const month = monthOf(asked.month)!;
  const listed = await listedMonth({ db, now }, merchantNo, month, currencies);
  const { zone, byDay } = listed;
  const accounts = listed.accounts.filter(({ statements }) => statements.length > 0);
  if (accounts.length === 0) return null;
  const days = { merchants: [merchantNo], currencies, fromDay: month.from, toDay: month.to };
  const breaks = await listBreaks(db, { ...days, all: 'but healed', limit: BREAKS_MAX + 1 });
  const balances = zone === null ? [] : await provenBalances(db, accounts, { zone, now: now() });
  const rows = [...byDay.values()].flat();
  const ownBooks: BookFigures[][] = [];
  for (const { currency } of accounts)
    ownBooks.push(
      (await ownBooksSlot.part()?.figures(db, { merchantNo, currency }, month.from, month.to)) ?? [],
    );
  const names = await namesOfMerchant(db, merchantNo);
  return {
    ...{ merchantNo, names, month, zone, at: now(), breaks },
    accounts: accounts.map((account, nth) => ({
      account,
      figures: monthFigures(account),
      verifiedThrough: balances[nth]?.provenThrough ?? null,
      breaks: breaks.filter(({ currency }) => currency === account.currency),
      ownBooks: ownBooks[nth]!,
    })),
    steps: await lastSteps(
      db,
      breaks.map(({ id }) => id),
    ),
    replaced: rows.flatMap((after) => {
      const before = earlierOf(after, byDay.get(after.day)!).at(-1);
      return before === undefined ? [] : [[before, after] as const];
    }),
  };
}

async function* written(objects: ObjectStore, book: MonthBook): AsyncGenerator<Uint8Array> {
  const foot = `${book.merchantNo} ${book.month.name}, as of ${instantText(book.at, book.zone)}`;
  const entries = book.accounts.map(({ account: { currency, statements } }) => {
    const columns = columnsOfMonth(statements);
    const inAll = statements.reduce((sum, row) => sum + entriesIn(figuresOf(row)), 0);
    return rowSheets({
      name: currency,
      foot,
      columns,
      rows: rowsOfMonth(objects, statements, columns),
      inAll,
    });
  });
  const sheet = (name: string, cells: readonly (readonly [string, ...unknown[]])[]) => ({
    ...{ name, foot },
    widths: cells.map(([head]) => Math.max(head.length + 2, WIDTHS[head] ?? 18)),
  });
  const ownBooks = book.accounts.flatMap(({ account: { currency }, ownBooks: days }) =>
    days.map((figures) => ({ currency, figures })),
  );
  try {
    yield* workbook([
      await smallSheet(sheet('Overview', accountCells(book)), overviewRows(book)),
      ...entries.flatMap(({ sheets }) => sheets),
      await smallSheet(sheet('Breaks', BREAK_CELLS), breakRows(book)),
      ...(ownBooks.length === 0
        ? []
        : [
            await smallSheet(sheet('Own books', OWN_BOOK_CELLS), [
              headOf(OWN_BOOK_CELLS),
              ...ownBooks.map((one) => rowOf(OWN_BOOK_CELLS, one)),
            ]),
          ]),
      lateSheet(sheet('Changes', CHANGE_CELLS), 1 + Math.max(1, book.replaced.length), () =>
        changeRows(objects, book),
      ),
    ]);
  } finally {
    for (const { end } of entries) await end();
  }
}

const WIDTHS: Readonly<Record<string, number>> = {
  ...{
    account_name: 40,
    iban: 28,
    currency: 14,
    published_at: 28,
    resolved_at: 28,
    cause: 40,
    note: 40,
    why: 40,
  },
};

type Cells<Of> = readonly (readonly [name: string, value: (of: Of) => Value])[];

const rowOf = <Of>(cells: Cells<Of>, of: Of): Value[] => cells.map(([, value]) => value(of));
const headOf = <Of>(cells: Cells<Of>): Value[] => header(cells.map(([name]) => name));

const ACCOUNT_CELLS: Cells<BookedAccount> = [
  ['currency', ({ account }) => text(account.currency)],
  ['opening', ({ figures }) => amount(figures.opening ?? '')],
  ['credit_total', ({ figures }) => amount(figures.creditTotal)],
  ['credit_count', ({ figures }) => count(figures.creditCount)],
  ['debit_total', ({ figures }) => amount(figures.debitTotal)],
  ['debit_count', ({ figures }) => count(figures.debitCount)],
  ['expected_closing', ({ figures }) => amount(subtractAmounts(closingOf(figures), missingIn(figures)))],
  ['closing', ({ figures }) => amount(closingOf(figures))],
  ['missing_net', ({ figures }) => amount(missingIn(figures))],
  ['explained_net', (of) => amount(explainedIn(of))],
  ['unexplained_difference', (of) => amount(subtractAmounts(missingIn(of.figures), explainedIn(of)))],
  [
    'verified_through',
    ({ verifiedThrough }) =>
      verifiedThrough === null ? text('not verified') : { kind: 'day', text: verifiedThrough },
  ],
  ['days_published', ({ account }) => count(account.statements.length)],
  ['days', ({ account }) => count(daysOf(account))],
  ['open_days', ({ account }) => text(stretches(account.openDays).join(' '))],
  ['open_breaks', ({ breaks }) => count(breaks.filter(({ status }) => status === 'open').length)],
];

/** With the names that accounts have, behind all others. */
const accountCells = ({ names, accounts }: MonthBook): Cells<BookedAccount> => [
  ...ACCOUNT_CELLS,
  ...Object.entries(ACCOUNT_NAMES)
    .map(([head, field]) => ({
      head,
      nameOf: ({ account }: BookedAccount) => names?.accounts.get(account.currency)?.[field] ?? '',
    }))
    .filter(({ nameOf }) => accounts.some((one) => nameOf(one) !== ''))
    .map(({ head, nameOf }) => [head, (one: BookedAccount) => text(nameOf(one))] as const),
];

const closingOf = ({ closing }: MonthFigures): string => closing ?? '0';
const missingIn = (figures: MonthFigures): string => missingNetOf(figures) ?? '0';
const explainedIn = ({ breaks }: BookedAccount): string =>
  breaks
    .filter(({ status }) => status === 'resolved')
    .reduce((sum, row) => addAmounts(sum, row.missing_net), '0');

/** Of the month, since the account's first one. */
const daysOf = ({ openDays, statements }: ListedMonth): number =>
  new Set([...openDays, ...statements.map(({ day }) => day)]).size;

const NOTES = [
  'expected_closing is opening + credits - debits; missing_net is what the closing has beyond it, explained_net what of that resolved breaks explain.',
  'A day counts in days from the account’s first one on; open_days are those that keep the month from being closed.',
  'published_at, resolved_at and booked_at are in the time zone of the platform.',
  'An amount of more than 15 digits is text on yellow: a spreadsheet would round it as a number.',
  'The rows are those of the current statements; their CSVs are the files proven.',
];

function overviewRows(book: MonthBook): Value[][] {
  const { merchantNo, names, month, zone, at, accounts } = book;
  const cells = accountCells(book);
  return [
    headOf(cells),
    ...accounts.map((one) => rowOf(cells, one)),
    [],
    [text('merchant_no'), text(merchantNo)],
    ...merchantNameRows(names),
    [text('month'), text(month.name)],
    [text('time zone'), text(zone ?? '')],
    [text('as of'), text(instantText(at, zone))],
    [],
    ...NOTES.map((note) => [text(note)]),
  ];
}

interface BookedBreak {
  readonly row: BreakRow;
  readonly by: string;
  readonly zone: string | null;
}

const BREAK_CELLS: Cells<BookedBreak> = [
  ['break', ({ row }) => count(row.id)],
  ['currency', ({ row }) => text(row.currency)],
  ['day', ({ row }) => ({ kind: 'day', text: row.day })],
  ['status', ({ row }) => text(row.status)],
  ['amount', ({ row }) => amount(row.missing_net)],
  ['expected_balance', ({ row }) => amount(row.expected_balance)],
  ['found_balance', ({ row }) => amount(row.found_balance)],
  ['after_batch_no', ({ row }) => text(row.after_batch_no ?? '')],
  ['before_batch_no', ({ row }) => text(row.before_batch_no)],
  ['cause', ({ row }) => text(causeOf(knownBreak(row)))],
  ['resolved_at', ({ row, zone }) => text(row.closed_at === null ? '' : instantText(row.closed_at, zone))],
  ['resolved_by', ({ by }) => text(by)],
  ['note', ({ row }) => text(row.note ?? '')],
];

function breakRows({ breaks, steps, zone }: MonthBook): Value[][] {
  const rows = breaks.slice(0, BREAKS_MAX).map((row) => {
    const last = steps.get(row.id);
    return rowOf(BREAK_CELLS, { row, zone, by: last?.kind === 'resolved' ? last.by : '' });
  });
  if (rows.length === 0) rows.push([text('no break')]);
  if (breaks.length > BREAKS_MAX) rows.push([text('and more: daybook breaks list shows them all')]);
  return [headOf(BREAK_CELLS), ...rows];
}

interface BookedDay {
  readonly currency: string;
  readonly figures: BookFigures;
}

/** Each day's figures are sums from the first entry to the end of the day. */
const OWN_BOOK_CELLS: Cells<BookedDay> = [
  ['currency', ({ currency }) => text(currency)],
  ['day', ({ figures }) => ({ kind: 'day', text: figures.day })],
  ...Object.entries(BOOK_FIGURES).map(([name, key]): Cells<BookedDay>[number] => [
    name,
    ({ figures }) => amount(figures[key]),
  ]),
];

interface Change {
  readonly after: StatementRow;
  readonly zone: string | null;
  /** Null where the file before could not be read. */
  readonly counts: Readonly<Record<'added' | 'removed' | 'changed', number>> | null;
}

const counted =
  (what: keyof NonNullable<Change['counts']>) =>
  (change: Change): Value =>
    change.counts === null ? text('not readable') : count(change.counts[what]);

const CHANGE_CELLS: Cells<Change> = [
  ['currency', ({ after }) => text(after.currency)],
  ['day', ({ after }) => ({ kind: 'day', text: after.day })],
  ['revision', ({ after }) => count(after.revision)],
  ['published_at', ({ after, zone }) => text(instantText(after.published_at, zone))],
  ['why', ({ after }) => text(after.reason ?? '')],
  ['entries_added', counted('added')],
  ['entries_removed', counted('removed')],
  ['entries_changed', counted('changed')],
];

async function* changeRows(
  objects: ObjectStore,
  { replaced, zone }: MonthBook,
): AsyncGenerator<readonly Value[]> {
  yield headOf(CHANGE_CELLS);
  if (replaced.length === 0) yield [text('no statement was replaced')];
  for (const [before, after] of replaced)
    yield rowOf(CHANGE_CELLS, { after, zone, counts: await countsOf(objects, before, after) });
}

async function countsOf(
  objects: ObjectStore,
  before: StatementRow,
  after: StatementRow,
): Promise<Change['counts']> {
  const counts = { added: 0, removed: 0, changed: 0 };
  try {
    for await (const row of rowsBetween(objects, before, after))
      counts[row.before === null ? 'added' : row.after === null ? 'removed' : 'changed'] += 1;
    return counts;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return null;
  }
}
