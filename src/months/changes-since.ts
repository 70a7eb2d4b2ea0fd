/**
 * What changed between two revisions of a statement, as a file of its own: for a program that has the earlier one booked
 * and must not book the day twice. The entries of the earlier revision and of this file make those of the later one.
 */
import type { Kysely } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { addAmounts } from '../ledger/money.ts';
import type { MerchantNames } from '../ledger/names.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { figuresOf } from '../store/account-days.ts';
import type { DB } from '../store/engine/schema.ts';
import { namesOfMerchant } from '../store/names.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { revisionOf, rowsBetween, StatementDamaged } from '../statements/fetch.ts';
import { csvText } from '../statements/formats/csv.ts';
import {
  ADDED,
  CHANGE_COLUMN,
  columnsNamed,
  REVERSED,
  STATEMENT_COLUMNS,
  type Cells,
  type StatementFormat,
} from '../statements/formats/format.ts';
import { columnsOf } from '../verify/formats.ts';
import { type RowCells } from '../verify/csv.ts';
import { changesName } from '../statements/keys.ts';
import { dayPrefix, fileOf } from '../verify/names.ts';
import { accountMonths, type Month } from './month.ts';
import { currentOf } from '../statements/summary.ts';
import { zipped, type ZippedFile } from '../statements/zipped.ts';

export interface DayChanges {
  readonly account: Account;
  readonly day: BusinessDay;
  /** The revision that is booked; 0 where the day had none. */
  readonly since: number;
  readonly revision: number;
  /** Entries that came, and entries that are taken back. A changed one is both. */
  readonly added: number;
  readonly reversed: number;
  readonly opening: string;
  readonly closing: string;
  readonly publishedAt: Date;
  /** Names the account day and both revisions, so that a second import of it can be refused. */
  readonly name: string;
  /** Throws what `changesBetween` throws, at the end as well, and `FormatTooSmall`. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

/**
 * Counts what changed since `before` (null: everything came), and offers it in a format that holds changes. Both files are
 * read now, and again while the file is made. Throws `StatementDamaged` where one of them is missing or altered, and
 * `ObjectStoreUnreachable`.
 */
export async function changesBetween(
  objects: ObjectStore,
  before: StatementRow | null,
  after: StatementRow,
  { format, names }: { readonly format: StatementFormat; readonly names: MerchantNames | undefined },
): Promise<DayChanges> {
  const columns = columnsOf(after.columns?.split(','));
  const [credit, debit] = [columns.indexOf('credit'), columns.indexOf('debit')];
  const count = { added: 0, reversed: 0, creditCount: 0, debitCount: 0, creditTotal: '0', debitTotal: '0' };
  for await (const rows of changedRows(objects, before, after, columns))
    for (const cells of rows) {
      if (cells.at(-1) === ADDED) count.added += 1;
      else count.reversed += 1;
      if (cells[credit] !== '') {
        count.creditCount += 1;
        count.creditTotal = addAmounts(count.creditTotal, cells[credit]!);
      } else {
        count.debitCount += 1;
        count.debitTotal = addAmounts(count.debitTotal, cells[debit]!);
      }
    }
  const { added, reversed, ...sums } = count;
  const account = { merchantNo: after.merchant_no, currency: after.currency };
  const since = before?.revision ?? 0;
  const figures = { ...figuresOf(after), ...sums, opening: before?.closing ?? after.opening };
  const { day, revision, published_at: publishedAt } = after;
  return {
    ...{ account, day, since, revision, added, reversed, publishedAt },
    ...{ opening: figures.opening, closing: figures.closing },
    name: changesName(format, fileOf(after.object_key), since),
    read: () =>
      format.write({
        ...{ account, day, since, zone: null, earlier: [], names },
        published: { ...revisionOf(after), figures },
        changes: () => Promise.resolve(null),
        columns: [...columnsNamed(columns, STATEMENT_COLUMNS), CHANGE_COLUMN],
        rows: changedRows(objects, before, after, columns),
      }),
  };
}

const ROWS_AT_ONCE = 1_000;

/** A reversal has its amount on the other side, so that a program that knows no reversals still adds up right. */
async function* changedRows(
  objects: ObjectStore,
  before: StatementRow | null,
  after: StatementRow,
  names: readonly string[],
): AsyncGenerator<readonly RowCells[]> {
  const rowOf = (cells: Cells, change: string): RowCells => [
    ...names.map((name) => cells[(change === REVERSED ? OTHER_SIDE[name] : undefined) ?? name] ?? ''),
    change,
  ];
  let rows: RowCells[] = [];
  for await (const { before: was, after: is } of rowsBetween(objects, before, after)) {
    if (was !== null) rows.push(rowOf(was, REVERSED));
    if (is !== null) rows.push(rowOf(is, ADDED));
    if (rows.length < ROWS_AT_ONCE) continue;
    yield rows;
    rows = [];
  }
  yield rows;
}

const OTHER_SIDE: Readonly<Record<string, string>> = { credit: 'debit', debit: 'credit' };

/** A statement as a close froze it. */
export type Frozen = Pick<StatementRow, 'currency' | 'day' | 'revision' | 'sha256'>;

/**
 * What changed in each account day of a merchant's month since it was frozen; days that are as they were are left out.
 * Throws `StatementDamaged` also where this database has another statement under a frozen revision.
 */
export async function monthChanges(
  { db, objects, format }: MonthChangesSources,
  merchantNo: string,
  month: Month,
  { frozen, currencies }: { readonly frozen: readonly Frozen[]; readonly currencies: Chosen },
): Promise<DayChanges[]> {
  const { byDay } = await accountMonths(db, merchantNo, month, currencies);
  const names = await namesOfMerchant(db, merchantNo);
  const wanted = new Map(frozen.map((one) => [`${one.currency} ${one.day}`, one]));
  const changes: DayChanges[] = [];
  for (const rows of byDay.values())
    for (const after of currentOf(rows)) {
      const { currency, day } = after;
      const own = wanted.get(`${currency} ${day}`);
      const before = rows.find((row) => row.currency === currency && row.revision === own?.revision) ?? null;
      if (own !== undefined && before?.sha256 !== own.sha256)
        throw new StatementDamaged(
          `the close froze revision ${own.revision} of ${merchantNo} ${currency} ${day} with SHA-256 ${own.sha256}, and this ` +
            'database has no such statement: it was published from another database. Take the days one by one, with --day and --since.',
        );
      if (before?.revision !== after.revision)
        changes.push(await changesBetween(objects, before, after, { format, names }));
    }
  return changes;
}

interface MonthChangesSources {
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
  readonly format: StatementFormat;
}

/** The files as a ZIP with a list of them, which alone is there where nothing changed. */
export const zippedChanges = (
  month: Month,
  changes: readonly DayChanges[],
  now: Date,
): AsyncGenerator<Uint8Array> => zipped(packed(month, changes, now));

function* packed({ name }: Month, changes: readonly DayChanges[], now: Date): Generator<ZippedFile> {
  yield { name: `changes-${name}.csv`, options: { mtime: now }, content: Buffer.from(listed(changes)) };
  for (const { account, day, name: file, publishedAt: mtime, read } of changes)
    yield { name: dayPrefix(account.merchantNo, day) + file, options: { mtime }, content: read };
}

const LIST_CELLS: readonly (readonly [name: string, cell: (of: DayChanges) => string])[] = [
  ['merchant_no', ({ account }) => account.merchantNo],
  ['currency', ({ account }) => account.currency],
  ['day', ({ day }) => day],
  ['since_revision', ({ since }) => String(since)],
  ['revision', ({ revision }) => String(revision)],
  ['opening', ({ opening }) => opening],
  ['added', ({ added }) => String(added)],
  ['reversed', ({ reversed }) => String(reversed)],
  ['closing', ({ closing }) => closing],
  ['file', ({ name }) => name],
];

const listed = (changes: readonly DayChanges[]): string =>
  csvText([
    LIST_CELLS.map(([name]) => name),
    ...changes.map((one) => LIST_CELLS.map(([, cell]) => cell(one))),
  ]);
