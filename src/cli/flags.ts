/** Flags and arguments that several commands have: days, merchants, currencies, numbers of rows, notes. */
import { CURRENCY_CODE } from '../ledger/money.ts';
import type { Command } from 'commander';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import { dayOf, parseDay } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { REFERENCE_CHARACTERS_MAX, referenceIn } from '../platform/reply.ts';
import { isMerchantNo, MERCHANT_NO_RULE } from '../ledger/merchant-no.ts';
import { askedRange, assertAskable, type DayRange } from '../run/range.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { monthOf, type Month } from '../months/month.ts';
import { LIST_SHOWN_MAX } from './output/text.ts';
import { collect } from './print.ts';

export interface DayFlags {
  readonly from?: string;
  readonly to?: string;
  readonly merchant: readonly string[];
}

export interface RangeFlags extends DayFlags {
  readonly currency: readonly string[];
}

/** A merchant's day is read and chained completely, whatever its currencies. */
export const withDayFlags = (command: Command): Command =>
  command
    .option('--from <day>', 'first day, YYYY-MM-DD; weekends and holidays are days like others')
    .option('--to <day>', 'last day, included')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, []);

export const withRangeFlags = (command: Command): Command =>
  withDayFlags(command).option('--currency <code>', 'only this currency (may be repeated)', collect, []);

export interface PageFlags {
  readonly limit?: string;
  readonly after?: string;
}

/** For a list that may be long. `place` is what its rows are named by in `--after`. */
export const withPageFlags = (command: Command, place: string): Command =>
  command
    .option(
      '--limit <n>',
      `at most so many rows; by default ${LIST_SHOWN_MAX.toLocaleString('en')}, with \`--json\` all`,
    )
    .option(`--after <${place}>`, 'only rows behind this one; the last line of a list that goes on names it');

/** How many rows, undefined for all, and behind which; `isComplete`: all unless the flags say otherwise. Throws `UsageError`. */
export function pageOf(
  { limit, after }: PageFlags,
  isComplete: boolean,
): { readonly limit: number | undefined; readonly after: string | undefined } {
  if (limit === undefined) return { limit: isComplete ? undefined : LIST_SHOWN_MAX, after };
  if (!/^[1-9]\d{0,6}$/.test(limit))
    throw new UsageError(`--limit ${limit} is no number of rows; write 1 to 9999999.`);
  return { limit: Number(limit), after };
}

/** Of rows in the order of their keys those of a page, and the key that the next page begins behind; null on the last one. */
export function pageBehind<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  { limit, after = '' }: ReturnType<typeof pageOf>,
): { readonly shown: readonly Row[]; readonly next: string | null } {
  const behind = rows.filter((row) => keyOf(row) > after);
  const shown = behind.slice(0, limit);
  return { shown, next: shown.length < behind.length ? keyOf(shown.at(-1)!) : null };
}

/** The range asked for, checked against today in the platform's zone; null for the nightly range. */
export const rangeOf = (flags: Pick<RangeFlags, 'from' | 'to'>, zone: string, now: Date): DayRange | null =>
  askedRange(
    {
      from: flags.from === undefined ? undefined : parseDay(flags.from),
      to: flags.to === undefined ? undefined : parseDay(flags.to),
    },
    dayOf(now.getTime(), zone),
    zone,
  );

/** The zone in which days begin last. Its first possible day is the earliest of all zones. */
const LAST_ZONE = 'Etc/GMT+12';

/** Reads a day, for commands that know no zone. Throws `UsageError` or `InvalidDay`. */
export function dayFlag(flag: string, text: string): BusinessDay;
export function dayFlag(flag: string, text: string | undefined): BusinessDay | undefined;
export function dayFlag(flag: string, text: string | undefined): BusinessDay | undefined {
  if (text === undefined) return undefined;
  const day = parseDay(text);
  assertAskable(flag, day, LAST_ZONE);
  return day;
}

/** Reads a month; `flag` is what the message begins with. Throws `UsageError`. */
export function monthFlag(text: string, flag = ''): Month {
  const month = monthOf(text);
  if (month === null) throw new UsageError(`${flag}${text} is no month; write it as YYYY-MM.`);
  return month;
}

/** Reads a currency. Throws `UsageError` for what cannot be a currency code. */
export function currencyFlag(code: string): string {
  if (!CURRENCY_CODE.test(code))
    throw new UsageError(`--currency ${code} is no currency code; write three capitals, like USD.`);
  return code;
}

/** Currencies asked for; all where the flag is not given. Throws `UsageError` for what cannot be a code. */
export const currenciesOf = ({ currency }: Pick<RangeFlags, 'currency'>): Chosen =>
  currency.length === 0 ? null : currency.map(currencyFlag);

/** Merchants asked for; all where the flag is not given. */
export const merchantsOf = ({ merchant }: Pick<RangeFlags, 'merchant'>): Chosen =>
  merchant.length === 0 ? null : merchant;

/** Accounts asked for. Throws `UsageError` for what cannot be a currency's code. */
export const accountsFlagged = (flags: Pick<RangeFlags, 'merchant' | 'currency'>): AccountFilter => ({
  merchants: merchantsOf(flags),
  currencies: currenciesOf(flags),
});

export const unknownMerchant = (merchantNo: string): UsageError =>
  new UsageError(`merchant ${merchantNo} is not known; \`daybook merchants list\` shows those that are.`);

/** Reads a merchant's number. Throws `UsageError`. */
export function merchantNoFlag(flag: string, text: string): string {
  if (!isMerchantNo(text))
    throw new UsageError(`${flag} ${text} is no merchant number: it ${MERCHANT_NO_RULE}.`);
  return text;
}

/** Reads the number of a row. Throws `UsageError` with the problem for what cannot be one. */
export function idFlag(text: string, problem: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(problem);
  return Number(text);
}

/** Reads a number that the platform gave to an application or a registration. Throws `UsageError`. */
export function referenceFlag(flag: string, text: string): string {
  const reference = referenceIn(text);
  if (reference !== null) return reference;
  throw new UsageError(`${flag} takes 1 to ${REFERENCE_CHARACTERS_MAX} printable characters.`);
}

/** A text that is kept, without blanks around it. Throws `UsageError` for an empty one; `todo` says what to do. */
export function textFlag<Given extends string | undefined>(
  text: Given,
  todo: string,
  flag = '--note',
): Given {
  const kept = text?.trim();
  if (kept === '') throw new UsageError(`${flag} is empty; ${todo}.`);
  return kept as Given;
}
