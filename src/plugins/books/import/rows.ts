/** Makes entries of the rows of a merchant's own book, or says why it cannot. */
import { CURRENCY_CODE, type Currencies } from '../../../ledger/money.ts';
import { cutText, firstNamed, storableText } from '../../../ledger/text.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { csvText } from '../../../statements/formats/csv.ts';
import { moneyReader } from './amounts.ts';
import type { ColumnName, Mapping } from './mapping.ts';
import { createDirectionSearch, createSides, sideOf } from './sides.ts';
import type { Source, SourceRow } from './sources.ts';
import { damageOf, momentReader, negated, type Moment, type Zones } from './values.ts';

const NUMBER_CHARACTERS_MAX = 200;
const TEXT_CHARACTERS_MAX = 2_000;
const RAW_CHARACTERS_MAX = 10_000;
const NAMED_MAX = 20;
/** Far more than any book has; a day outside comes of a mapping that reads it wrong. */
const [FIRST_DAY, LAST_DAY] = ['1990-01-01', '2099-12-31'];

/** An entry of a merchant's own book, as it was read. Amounts are exact decimals in units of the currency. */
export interface BookRow extends Moment {
  /** The book's own number of the entry, unique in the book. */
  readonly number: string;
  readonly currency: string;
  /** A credit of the account above zero, a debit below. */
  readonly amount: string;
  readonly reference: string;
  readonly type: string;
  readonly note: string;
  readonly source: SourceRow;
}

/** A row that is no entry. */
export interface UnreadableRow {
  readonly line: number;
  readonly reason: string;
  readonly raw: string;
  /** The book's own number of the entry; null where the row does not say it. */
  readonly number: string | null;
}

/** Thrown and caught here: why a row is no entry, as a sentence. */
class CellUnreadable extends Error {}

/** What rows are read by. */
interface Reading {
  readonly mapping: Mapping;
  readonly zones: Zones;
  readonly currencies: Currencies;
}

/**
 * The rows of the source, part by part. Throws `UsageError` where a column of the mapping is missing or there twice, where all is empty, or
 * where in the end the signs of the amounts may mean two things.
 */
export async function* readRows(source: Source, reading: Reading) {
  const { mapping } = reading;
  let read: ReturnType<typeof rowReader> | null = null;
  for await (const part of source.rows) {
    const rows = read === null ? part.slice(1) : part;
    read ??= rowReader(part[0]!.cells, source.name, reading);
    yield rows.map(read.row);
  }
  const doubt = read?.doubt() ?? null;
  if (doubt !== null) throw new UsageError(`${source.name}: ${doubt} Nothing was stored.`);
  const where = mapping.sheet === undefined ? '' : ` in a sheet ${mapping.sheet}`;
  if (read === null) throw new UsageError(`${source.name} has no rows${where}. Nothing was stored.`);
}

const unreadableRow = ({ line, cells }: SourceRow, reason: string, number: string | null): UnreadableRow => ({
  ...{ line, reason, number },
  raw: cutText(storableText(csvText([cells]).trimEnd()), RAW_CHARACTERS_MAX),
});

/** Of rows with the same number, the first is the entry. */
export const repeated = ({ source, number }: BookRow): UnreadableRow =>
  unreadableRow(source, 'its number is on an earlier line already.', number);

type Cells = SourceRow['cells'];

/** Columns whose cells are kept as they are, whatever a spreadsheet made of them. */
const FREE: readonly ColumnName[] = ['type', 'text'];

/** `="00123"` is how a CSV tells a spreadsheet that a cell is text. */
const SAID_TEXT = /^="([^"]*)"$/;
const cellIn = (cells: Cells, place: number): string => {
  const cell = cells[place]?.trim() ?? '';
  return cell.startsWith('=') ? (SAID_TEXT.exec(cell)?.[1]?.trim() ?? cell) : cell;
};

/** Returns what gives the text of a column's cells. It throws `CellUnreadable` where a spreadsheet has damaged one. */
const textReader =
  (placesOf: Partial<Record<ColumnName, readonly number[]>>) =>
  (cells: Cells, column: ColumnName, join = ' '): string => {
    const parts = (placesOf[column] ?? []).map((place) => cellIn(cells, place));
    for (const part of FREE.includes(column) ? [] : parts) {
      const damage = damageOf(part);
      if (damage !== null) throw new CellUnreadable(`the ${column === 'booked' ? 'day' : column} ${damage}`);
    }
    return parts.filter((part) => part !== '').join(join);
  };

/** Returns what reads the rows below `heads`, the names of the columns, and what is in doubt once all are read. */
function rowReader(heads: Cells, name: string, { mapping, zones, currencies }: Reading) {
  const placesOf = columnPlaces(heads, mapping.columns, name);
  const text = textReader(placesOf);
  const readMoney = moneyReader(mapping, currencies);
  const momentOf = momentReader(mapping, zones);
  const sides = createSides(mapping);
  const search = createDirectionSearch(mapping, heads);

  const kept = (cells: Cells, column: ColumnName): string =>
    cutText(storableText(text(cells, column)), TEXT_CHARACTERS_MAX);
  const amountIn = (cells: Cells, column: 'amount' | 'credit' | 'debit', currency: string): string => {
    const read = readMoney(text(cells, column), currency);
    if ('amount' in read) return read.amount;
    throw new CellUnreadable(`the ${column} ${read.problem}`);
  };
  const amountOf = (source: SourceRow, currency: string): string => {
    const { cells } = source;
    if (placesOf.direction !== undefined) {
      const side = sideOf(text(cells, 'direction'), mapping.direction);
      if (side === null)
        throw new CellUnreadable('the direction is no word of the mapping for debit or credit.');
      return sides.moved(side, amountIn(cells, 'amount', currency));
    }
    if (placesOf.amount !== undefined) {
      const amount = amountIn(cells, 'amount', currency);
      search.see(source, amount);
      return amount;
    }
    const given = (['credit', 'debit'] as const).filter((column) => text(cells, column) !== '');
    if (given.length === 0) throw new CellUnreadable('credit and debit are empty.');
    const amounts = given.map((column) => amountIn(cells, column, currency));
    const [at = 0, other] = amounts.flatMap((amount, place) => (/[1-9]/.test(amount) ? [place] : []));
    if (other !== undefined) throw new CellUnreadable('it has both a credit and a debit.');
    return sides.moved(given[at]!, amounts[at]!);
  };

  const numberOf = (cells: Cells): string => {
    if (mapping.format === 'csv' && hasOtherCells(cells, heads))
      throw new CellUnreadable(`it has ${cells.length} cells, and the columns are ${heads.length}.`);
    const number = storableText(text(cells, 'number', '/'));
    if (number === '') throw new CellUnreadable('its number is empty.');
    if (number.length <= NUMBER_CHARACTERS_MAX) return number;
    throw new CellUnreadable(`its number has over ${NUMBER_CHARACTERS_MAX} characters.`);
  };
  const entryOf = (source: SourceRow, number: string): BookRow => {
    const { cells } = source;
    const moment = momentOf(text(cells, 'booked'));
    if (moment === null)
      throw new CellUnreadable('the day is not written as the mapping says, or is not in the calendar.');
    if (moment.day < FIRST_DAY || moment.day > LAST_DAY)
      throw new CellUnreadable(`the day is not between ${FIRST_DAY} and ${LAST_DAY}.`);
    const currency = mapping.currency ?? text(cells, 'currency').toUpperCase();
    if (!CURRENCY_CODE.test(currency)) throw new CellUnreadable('the currency is no code of three letters.');
    const amount = amountOf(source, currency);
    return {
      ...{ number, currency, source, ...moment },
      amount: mapping.sign === 'reversed' ? negated(amount) : amount,
      ...{ reference: kept(cells, 'reference'), type: kept(cells, 'type'), note: kept(cells, 'text') },
    };
  };
  const read = (row: SourceRow): BookRow | UnreadableRow => {
    let number: string | null = null;
    try {
      number = numberOf(row.cells);
      return entryOf(row, number);
    } catch (error) {
      if (!(error instanceof CellUnreadable)) throw error;
      return unreadableRow(row, error.message, number);
    }
  };
  return { row: read, doubt: () => sides.doubt() ?? search.doubt() };
}

/** Empty cells at the end are no difference: some programs write them, and some leave them out. */
const hasOtherCells = (cells: Cells, heads: Cells): boolean =>
  cells.length < heads.length || cells.slice(heads.length).some((cell) => cell.trim() !== '');

/** The places of each column's cells. */
function columnPlaces(heads: Cells, columns: Mapping['columns'], file: string) {
  const names = heads.map((head) => head.trim());
  const placeOf = (name: string): number => {
    const at = names.indexOf(name);
    if (at === -1)
      throw new UsageError(`${file} has no column ${name}; it has ${firstNamed(names, NAMED_MAX)}.`);
    if (names.lastIndexOf(name) === at) return at;
    throw new UsageError(`${file} has the column ${name} twice; rename one.`);
  };
  const places = Object.entries(columns).map(([column, given]) => [column, given?.map(placeOf)] as const);
  return Object.fromEntries(places) as Partial<Record<ColumnName, readonly number[]>>;
}
