/** Makes an entry of a row of a merchant's own book, or says why it cannot. */
import { cutText, firstNamed, storableText } from '../../../ledger/text.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import type { BookRow } from '../types.ts';
import type { ColumnNames, Mapping } from './mapping.ts';
import {
  amountReader,
  datePattern,
  ISO_PATTERN,
  momentReader,
  referenceKeysOf,
  type Zones,
} from './values.ts';

const NUMBER_CHARACTERS_MAX = 200;
const TYPE_CHARACTERS_MAX = 200;
const REFERENCE_CHARACTERS_MAX = 2_000;
const NOTE_CHARACTERS_MAX = 2_000;
const COLUMNS_NAMED_MAX = 20;
/** Far more than any book has; a day outside comes of a mapping that reads it wrong. */
const [FIRST_DAY, LAST_DAY] = ['1990-01-01', '2099-12-31'];

export type Cells = readonly string[];

/** A row that is no entry. */
export interface Unreadable {
  /** A sentence. */
  readonly reason: string;
  /** The book's own number of the entry; null where the row does not say which entry it is. */
  readonly number: string | null;
}

/** Thrown and caught here: a cell cannot be read. */
class CellUnreadable extends Error {}

/**
 * Returns what reads the rows below `heads`, the names of the columns. Throws `UsageError` where a column of the mapping is missing or
 * there twice. `isTable`: each row has a cell for each column, as in CSV.
 */
export function rowReader(
  heads: Cells,
  mapping: Mapping,
  { zones, isTable, place }: { readonly zones: Zones; readonly isTable: boolean; readonly place: string },
): (cells: Cells) => BookRow | Unreadable {
  const at = columnsAt(heads, mapping.columns, place);
  const readAmount = amountReader(mapping.decimal);
  const form = mapping.dates === undefined ? [] : [datePattern(mapping.dates)!];
  const patterns = form.length === 0 || mapping.format === 'xlsx' ? [...form, ISO_PATTERN] : form;
  const momentOf = momentReader(patterns, zones);
  const text = (cells: Cells, indexes: readonly number[] | undefined, join = ' '): string =>
    indexes === undefined
      ? ''
      : indexes
          .map((index) => cells[index]?.trim() ?? '')
          .filter((one) => one !== '')
          .join(join);

  const amountIn = (cells: Cells, index: number, column: string): string => {
    const given = cells[index]?.trim() ?? '';
    const amount = readAmount(given);
    if (amount === null)
      throw new CellUnreadable(given === '' ? `${column} is empty.` : `${column} is no amount.`);
    return amount;
  };
  const amountOf = (cells: Cells): string => {
    const { amount, credit, debit } = at;
    if (amount !== undefined) return amountIn(cells, amount[0]!, 'the amount');
    const [isCredit, isDebit] = [credit, debit].map((one) => text(cells, one) !== '');
    const added = isCredit ? amountIn(cells, credit![0]!, 'the credit') : '0';
    const taken = isDebit ? amountIn(cells, debit![0]!, 'the debit') : '0';
    if (!isCredit && !isDebit) throw new CellUnreadable('credit and debit are empty.');
    if (Number(added) !== 0 && Number(taken) !== 0)
      throw new CellUnreadable('it has both a credit and a debit.');
    return Number(taken) === 0 ? added : negated(taken);
  };
  const entryOf = (cells: Cells, number: string): BookRow => {
    const moment = momentOf(text(cells, at.booked));
    if (moment === null)
      throw new CellUnreadable('the day is not written as the mapping says, or is not in the calendar.');
    if (moment.day < FIRST_DAY || moment.day > LAST_DAY)
      throw new CellUnreadable(`the day is not between ${FIRST_DAY} and ${LAST_DAY}.`);
    const currency = mapping.currency ?? text(cells, at.currency).toUpperCase();
    if (!/^[A-Z]{3}$/.test(currency)) throw new CellUnreadable('the currency is no code of three letters.');
    const amount = amountOf(cells);
    const reference = kept(text(cells, at.reference), REFERENCE_CHARACTERS_MAX);
    return {
      ...{ number, currency, ...moment },
      amount: mapping.sign === 'reversed' ? negated(amount) : amount,
      ...{ reference, referenceKeys: referenceKeysOf(reference) },
      type: kept(text(cells, at.type), TYPE_CHARACTERS_MAX),
      note: kept(text(cells, at.text), NOTE_CHARACTERS_MAX),
    };
  };
  return (cells) => {
    if (isTable && hasOtherCells(cells, heads))
      return { reason: `it has ${cells.length} cells, and the columns are ${heads.length}.`, number: null };
    const number = storableText(text(cells, at.number, '/'));
    if (number === '') return { reason: 'its number is empty.', number: null };
    if (number.length > NUMBER_CHARACTERS_MAX)
      return { reason: `its number has over ${NUMBER_CHARACTERS_MAX} characters.`, number: null };
    try {
      return entryOf(cells, number);
    } catch (error) {
      if (error instanceof CellUnreadable) return { reason: error.message, number };
      throw error;
    }
  };
}

export const isUnreadable = (read: BookRow | Unreadable): read is Unreadable => 'reason' in read;

const kept = (text: string, max: number): string => cutText(storableText(text), max);

/** Empty cells at the end are no difference: some programs write them, and some leave them out. */
const hasOtherCells = (cells: Cells, heads: Cells): boolean =>
  cells.length < heads.length ||
  (cells.length > heads.length && cells.slice(heads.length).some((cell) => cell.trim() !== ''));

type Places = { readonly [Name in keyof ColumnNames]?: readonly number[] };

function columnsAt(heads: Cells, columns: ColumnNames, place: string): Places {
  const names = heads.map((head) => head.trim());
  const at: Partial<Record<keyof ColumnNames, readonly number[]>> = {};
  for (const [key, given] of Object.entries(columns)) {
    if (given === undefined) continue;
    at[key as keyof ColumnNames] = [given].flat().map((name) => {
      const index = names.indexOf(name);
      if (index === -1)
        throw new UsageError(
          `${place} has no column ${name}; it has ${firstNamed(names, COLUMNS_NAMED_MAX)}.`,
        );
      if (names.includes(name, index + 1))
        throw new UsageError(`${place} has the column ${name} twice; rename one of them.`);
      return index;
    });
  }
  return at;
}

const negated = (amount: string): string =>
  amount.startsWith('-') ? amount.slice(1) : /[1-9]/.test(amount) ? `-${amount}` : amount;
