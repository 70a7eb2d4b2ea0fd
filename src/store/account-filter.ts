/** An account filter as SQL: a query is limited by the server, so that only the rows asked for are sent. */
import { sql, type RawBuilder } from 'kysely';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import { arrayLiteral } from './engine/database.ts';

/** Stored in a currency column that stands for every currency of the merchant. */
export const EVERY_CURRENCY = '';

/** A currency as such a column has it. */
export const storedCurrency = (currency: string | null): string => currency ?? EVERY_CURRENCY;

/**
 * Whether a column's value is among those chosen. One value is compared by itself, as the server can then take rows
 * from an index in the order of the columns after it.
 */
export function isChosen(column: string, chosen: Chosen): RawBuilder<boolean> {
  if (chosen === null) return sql`true`;
  const [first, ...others] = chosen;
  return first !== undefined && others.length === 0
    ? sql`${sql.ref(column)} = ${first}`
    : sql`${sql.ref(column)} = ANY (${arrayLiteral(chosen)}::text[])`;
}

/** Rows with a `merchant_no` that is chosen; of the table, or its alias, where one is named. */
export const ofMerchants = (merchants: Chosen, table?: string): RawBuilder<boolean> =>
  isChosen(columnOf('merchant_no', table), merchants);

/** Rows with a `currency` that is chosen. */
export const ofCurrencies = (currencies: Chosen, table?: string): RawBuilder<boolean> =>
  isChosen(columnOf('currency', table), currencies);

/** Rows of one currency; null for every one. */
export const ofCurrency = (currency: string | null): RawBuilder<boolean> =>
  ofCurrencies(currency === null ? null : [currency]);

/** Rows whose `merchant_no` and `currency` are those of an account that passes. */
export const ofAccounts = ({ merchants, currencies }: AccountFilter, table?: string): RawBuilder<boolean> =>
  sql`(${ofMerchants(merchants, table)} AND ${ofCurrencies(currencies, table)})`;

const columnOf = (name: string, table: string | undefined): string =>
  table === undefined ? name : `${table}.${name}`;

/** Merchants that one statement asks about: few statements for thousands, and a reply that stays small. */
const MERCHANTS_A_STATEMENT = 500;

/** The merchants in order, cut into parts that one statement may ask about. */
export function* inParts(merchants: readonly string[]): Generator<string[]> {
  for (let from = 0; from < merchants.length; from += MERCHANTS_A_STATEMENT)
    yield merchants.slice(from, from + MERCHANTS_A_STATEMENT);
}

/** Asks about some merchants after the others, and joins the answers in their order. */
export async function askInParts<Answer>(
  merchants: readonly string[],
  ask: (some: readonly string[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const some of inParts(merchants)) answers.push(...(await ask(some)));
  return answers;
}
