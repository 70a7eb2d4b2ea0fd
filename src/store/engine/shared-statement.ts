/** Reads and writes that are spelt for several merchants, and are sent for one. */
import { sql, type RawBuilder } from 'kysely';
import { arrayLiteral, type Db, rowsOf } from './database.ts';

interface OfMerchant {
  readonly merchantNo: string;
}

/** Returns a function that asks one question. */
export const shared =
  <Ask extends OfMerchant, Answer>(answer: (db: Db, asks: readonly Ask[]) => Promise<readonly Answer[]>) =>
  async (db: Db, ask: Ask): Promise<Answer> =>
    (await answer(db, [ask]))[0]!;

type Value = string | number | null;

/**
 * Of each question, a value of PostgreSQL's type of that name. A list has the type `text`, as `arrayLiteral` writes it; the query
 * casts it.
 */
export type Columns<Ask> = Readonly<
  Record<string, readonly [type: 'text' | 'bigint' | 'int' | 'date' | 'timestamptz', of: (ask: Ask) => Value]>
>;

/** The merchant of each question, as a column, and in a query about a row `asked`. */
export const MERCHANT: Columns<OfMerchant> = { merchant_no: ['text', ({ merchantNo }) => merchantNo] };
export const ASKED_MERCHANT = sql`asked.merchant_no`;

/** The rows of all questions in one list, each with the place `nth` of its own, from 1. */
export const withPlaces = <Row extends object>(
  rowsOfEach: readonly (readonly Row[])[],
): (Row & { readonly nth: number })[] =>
  rowsOfEach.flatMap((rows, at) => rows.map((row) => ({ ...row, nth: at + 1 })));

/** The other way round: the rows of each question, in the order in which they came. */
export function byPlace<Row extends { readonly nth: number }>(
  { length }: readonly unknown[],
  rows: readonly Row[],
): Row[][] {
  const rowsOfEach = Array.from({ length }, (): Row[] => []);
  for (const row of rows) rowsOfEach[row.nth - 1]!.push(row);
  return rowsOfEach;
}

/**
 * Returns what makes rows `asked (…, nth)` with these columns, one a question; `nth` counts from 1. Its text is one object for
 * good, so that the statements it is in are compiled once.
 */
export function askedRows<Ask>(columns: Columns<Ask>): (asks: readonly Ask[]) => RawBuilder<unknown> {
  const names = Object.keys(columns);
  const values = Object.values(columns);
  const types = values.map(([type]) => `::${type}[]`);
  const end = `${types.at(-1)!}) WITH ORDINALITY AS asked (${[...names, 'nth'].join(', ')})`;
  const texts = ['unnest(', ...types.slice(0, -1).map((type) => `${type}, `), end];
  const template = Object.assign(texts, { raw: texts });
  return (asks) => sql(template, ...values.map(([, of]) => arrayLiteral(asks.map(of))));
}

/**
 * Returns a function that reads the rows of one question. `columns` are those next to the merchant. `query` is about a row `asked`; it runs once for each of those that
 * came together. The rows come in its order, as the server joins question by question.
 */
export function sharedRead<Ask extends OfMerchant, Row>(
  columns: Columns<Ask>,
  query: RawBuilder<unknown>,
): (db: Db, ask: Ask) => Promise<Row[]> {
  const asked = askedRows<Ask>({ ...MERCHANT, ...columns });
  return (db, ask) => rowsOf(db)<Row>`
    SELECT own.* FROM ${asked([ask])} CROSS JOIN LATERAL (${query}) AS own`;
}
