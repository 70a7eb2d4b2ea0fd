/** The flags for days, merchants and currencies. They are the same in every command that has them. */
import type { Command } from 'commander';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';
import { dayOf, parseDay } from '../ledger/business-day.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { askedRange, assertAskable, type DayRange } from '../run/range.ts';
import { collect } from './collect.ts';

export interface RangeFlags {
  readonly from?: string;
  readonly to?: string;
  readonly merchant: readonly string[];
  readonly currency: readonly string[];
}

export const withRangeFlags = (command: Command): Command =>
  command
    .option('--from <day>', 'first day, YYYY-MM-DD; weekends and holidays are days like others')
    .option('--to <day>', 'last day, included')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--currency <code>', 'only this currency (may be repeated)', collect, []);

/** The range asked for, checked against today in the platform's zone; null for the nightly range. */
export const rangeOf = (flags: RangeFlags, zone: string, now: Date): DayRange | null =>
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

/** Reads the day of a statement, for commands that know no zone. Throws `UsageError` or `InvalidDay`. */
export function dayFlag(flag: string, text: string): BusinessDay {
  const day = parseDay(text);
  assertAskable(flag, day, LAST_ZONE);
  return day;
}

/** Reads a currency. Throws `UsageError` for what cannot be a currency code. */
export function currencyFlag(code: string): string {
  if (!/^[A-Z]{3}$/.test(code))
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
