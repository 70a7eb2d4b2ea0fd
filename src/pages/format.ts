/**
 * Shows amounts, days and times as a reader's language writes them. Amounts stay exact: they are text and never become a
 * number of JavaScript's.
 */
import { decimalsOf } from '../ledger/money.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { wallMs } from '../ledger/wall-time.ts';

export interface Format {
  /** A BCP 47 tag. */
  readonly locale: string;
  /** An amount, every digit of it; as it is stored where exact digits are asked for. */
  readonly amount: (exact: string) => string;
  readonly count: (count: number) => string;
  readonly day: (day: BusinessDay) => string;
  /** A month `YYYY-MM`. */
  readonly month: (month: string) => string;
  /** An instant, by the clock of the platform's zone. */
  readonly instant: (at: Date) => string;
}

const LOCALE_DEFAULT = 'en-GB';
const TAGS_LOOKED_AT_MAX = 5;
/** Dates and digits that anybody can read in a table, whatever the language. */
const CALENDAR_AND_DIGITS = '-u-ca-gregory-nu-latn';

/** The first language of an Accept-Language header that dates can be written in. */
export function localeOf(acceptLanguage: string | undefined): string {
  const tags = (acceptLanguage ?? '').split(',', TAGS_LOOKED_AT_MAX);
  for (const part of tags) {
    const wanted = part.split(';')[0]!.trim();
    if (!/^[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|\d{3}))?$/.test(wanted)) continue;
    const [known] = Intl.DateTimeFormat.supportedLocalesOf(wanted);
    if (known !== undefined) return known;
  }
  return LOCALE_DEFAULT;
}

interface Formatters {
  readonly day: Intl.DateTimeFormat;
  readonly month: Intl.DateTimeFormat;
  readonly instant: Intl.DateTimeFormat;
  readonly count: Intl.NumberFormat;
  readonly amounts: Map<number, Intl.NumberFormat>;
}

/** Formats of any number of readers; making one takes long, so those of each language are kept. */
export function createFormats(zone: string): (locale: string, isExact: boolean) => Format {
  const known = new Map<string, Formatters>();
  return (locale, isExact) => {
    const found = known.get(locale) ?? formattersOf(locale + CALENDAR_AND_DIGITS);
    known.set(locale, found);
    return formatOf(locale, found, { zone, isExact });
  };
}

const formattersOf = (tag: string): Formatters => ({
  day: new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeZone: 'UTC' }),
  month: new Intl.DateTimeFormat(tag, { year: 'numeric', month: 'long', timeZone: 'UTC' }),
  instant: new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' }),
  count: new Intl.NumberFormat(tag),
  amounts: new Map(),
});

function formatOf(
  locale: string,
  { day, month, instant, count, amounts }: Formatters,
  { zone, isExact }: { readonly zone: string; readonly isExact: boolean },
): Format {
  const amount = (exact: string): string => {
    const decimals = decimalsOf(exact);
    const kept = amounts.get(decimals);
    const own =
      kept ??
      new Intl.NumberFormat(locale + CALENDAR_AND_DIGITS, {
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
      });
    if (kept === undefined) amounts.set(decimals, own);
    // Given as text, no digit is lost.
    return own.format(exact as `${number}`);
  };
  return {
    locale,
    amount: isExact ? (exact) => exact : amount,
    count: (whole) => count.format(whole),
    day: (text) => day.format(new Date(`${text}T00:00:00Z`)),
    month: (text) => month.format(new Date(`${text}-01T00:00:00Z`)),
    instant: (at) => instant.format(wallMs(at.getTime(), zone)),
  };
}
