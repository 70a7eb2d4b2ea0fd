/**
 * A month of one account as one file: the rows of its current statements, one day after the other, in a format that holds
 * a month. Its balances are the opening of the first day and the closing of the last one.
 */
import type { StatedFigures, Verdict } from '../ledger/entry.ts';
import type { MerchantNames } from '../ledger/names.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { figuresOf } from '../store/account-days.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { statementRows } from '../statements/fetch.ts';
import {
  columnsNamed,
  STATEMENT_COLUMNS,
  type StatementColumn,
  type StatementFormat,
} from '../statements/formats/format.ts';
import { columnsOf } from '../verify/formats.ts';
import { type RowCells } from '../verify/csv.ts';
import { accountMonthName } from '../statements/keys.ts';
import { monthFigures, type AccountMonth, type Month } from './month.ts';

export interface AccountMonthFile {
  readonly name: string;
  /** Throws what `fetchStatement` throws, at the end of a day as well, and `FormatTooSmall`. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** The statements of the account have to be at least one, all current and in the order of their days. */
export function accountMonthFile(
  objects: ObjectStore,
  { merchantNo, currency, statements }: Pick<AccountMonth, 'merchantNo' | 'currency' | 'statements'>,
  month: Month,
  { format, names }: { readonly format: StatementFormat; readonly names: MerchantNames | undefined },
): AccountMonthFile {
  const last = statements.at(-1)!;
  const account = { merchantNo, currency };
  const name = accountMonthName(format, month.name, account);
  const columns = columnsOfMonth(statements);
  const latest = Math.max(...statements.map((row) => row.published_at.getTime()));
  const read = () =>
    format.write({
      ...{ account, day: last.day, zone: null, earlier: [], columns, names },
      published: {
        revision: sumOf(statements, (row) => row.revision),
        publishedAt: new Date(latest),
        figures: statedFigures(statements),
        unreadable: sumOf(statements, (row) => row.unreadable_count ?? 0),
        ...{ reason: null, file: name, sha256: '' },
      },
      month: { name: month.name, days: statements.map(({ day, revision }) => ({ day, revision })) },
      changes: () => Promise.resolve(null),
      rows: rowsOfMonth(objects, statements, columns),
    });
  return { name, read };
}

const sumOf = (statements: readonly StatementRow[], count: (row: StatementRow) => number): number =>
  statements.reduce((sum, row) => sum + count(row), 0);

/** Those of all days; a day that was published with fewer has empty cells. */
export function columnsOfMonth(statements: readonly StatementRow[]): readonly StatementColumn[] {
  const names = new Set(statements.flatMap((row) => columnsOf(row.columns?.split(','))));
  return columnsNamed([...names], STATEMENT_COLUMNS);
}

/** In the order of days and of each day's chain, each file read when its turn comes. Throws what `fetchStatement` throws. */
export async function* rowsOfMonth(
  objects: ObjectStore,
  statements: readonly StatementRow[],
  columns: readonly StatementColumn[],
): AsyncGenerator<readonly RowCells[]> {
  for (const row of statements) {
    const own = columnsOf(row.columns?.split(','));
    const places = columns.map(({ name }) => own.indexOf(name));
    const isSame = own.length === columns.length && places.every((place, at) => place === at);
    for await (const rows of statementRows(objects, row))
      yield isSame ? rows : rows.map((cells) => places.map((place) => cells[place] ?? ''));
  }
}

const VERDICTS: readonly Verdict[] = ['broken', 'reordered', 'continuous'];

function statedFigures(statements: readonly StatementRow[]): StatedFigures {
  const days = statements.map(figuresOf);
  const [first, last] = [days[0]!, days.at(-1)!];
  const sums = monthFigures({ statements });
  return {
    ...{ creditTotal: sums.creditTotal, creditCount: sums.creditCount },
    ...{ debitTotal: sums.debitTotal, debitCount: sums.debitCount },
    ...{ opening: first.opening, closing: last.closing, restarted: first.restarted },
    verdict: VERDICTS.find((verdict) => days.some((day) => day.verdict === verdict)) ?? 'continuous',
    breakCount: days.reduce((sum, day) => sum + day.breakCount, 0),
    breaksAfter: last.breaksAfter,
    ...(last.otherClosings && { otherClosings: last.otherClosings }),
  };
}
