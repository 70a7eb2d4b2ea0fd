/**
 * Shows amounts, days and times as a reader's language writes them. Amounts stay exact: they are text and never become a
 * number of JavaScript's.
 */
import type { BusinessDay } from '../../../ledger/entry.ts';
import { decimalsOf, plainDecimal } from '../../../ledger/money.ts';
import { offsetText, wallMs } from '../../../ledger/wall-time.ts';
import { html, ownText, type Part } from './html.ts';

export interface Format {
  /** A BCP 47 tag. */
  readonly locale: string;
  /** Whether it is the language of the page's other texts. */
  readonly isOfPage: boolean;
  /** An amount, every digit of it; as it is stored where exact digits are asked for. */
  readonly amount: (exact: string) => string;
  readonly count: (count: number) => string;
  readonly day: (day: BusinessDay) => string;
  /** A month `YYYY-MM`. */
  readonly month: (month: string) => string;
  /** An instant, by the clock of the platform's zone. */
  readonly instant: (at: Date) => string;
  /** The same as parts of a page, which name their language where it is not the page's. */
  readonly shown: Readonly<Record<'day' | 'month', (text: string) => Part>> & {
    readonly instant: (at: Date) => Part;
    /** With the offset of the zone, as in files. */
    readonly published: (at: Date) => Part;
  };
  /** The same for attributes and titles, which cannot name one: as they are stored where it is not the page's. */
  readonly plain: Readonly<Record<'day' | 'month', (text: string) => string>>;
}

/** The language of every text of the pages but dates. */
export const PAGE_LANGUAGE = 'en';
const RIGHT_TO_LEFT: readonly (string | undefined)[] = ['Arab', 'Hebr', 'Thaa', 'Syrc', 'Nkoo', 'Adlm'];

function inLanguage(locale: string): (text: string) => Part {
  const { language, script } = new Intl.Locale(locale).maximize();
  if (language === PAGE_LANGUAGE) return (text) => text;
  const direction = RIGHT_TO_LEFT.includes(script) ? 'rtl' : 'ltr';
  return (text) => html`<span lang="${locale}" dir="${direction}">${ownText(text)}</span>`;
}

/** Places of a sentence: characters that no text of ours has. */
const SLOTS: readonly [string, string] = ['\ue000', '\ue001'];
const BETWEEN_SLOTS = /([\ue000\ue001])/;

/** A sentence with parts of a page in its places. */
export function filled(sentence: (one: string, other: string) => string, ...parts: readonly Part[]): Part[] {
  const words = sentence(...SLOTS).split(BETWEEN_SLOTS);
  return words.map((text) => (SLOTS.includes(text) ? parts[SLOTS.indexOf(text)] : text));
}

const LOCALE_DEFAULT = 'en-GB';
const TAGS_READ_MAX = 5;
/** Dates and digits that are readable in a table in every language. */
const CALENDAR_AND_DIGITS = '-u-ca-gregory-nu-latn';

/** The language of an Accept-Language header that is wanted most, of those that dates can be written in. */
export function localeOf(acceptLanguage: string | undefined): string {
  const tags = (acceptLanguage ?? '')
    .split(',', TAGS_READ_MAX)
    .map((part) => ({
      wanted: part.split(';')[0]!.trim(),
      weight: Number(/;\s*q=([\d.]+)\s*$/.exec(part)?.[1] ?? 1),
    }))
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight);
  for (const { wanted } of tags) {
    if (!/^[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|\d{3}))?$/.test(wanted)) continue;
    const [known] = Intl.DateTimeFormat.supportedLocalesOf(wanted);
    if (known !== undefined) return known;
  }
  return LOCALE_DEFAULT;
}

interface Formatters {
  readonly day: (day: BusinessDay) => string;
  readonly month: (month: string) => string;
  readonly instant: Intl.DateTimeFormat;
  readonly count: Intl.NumberFormat;
  readonly marked: (text: string) => Part;
  /** By the number of decimals. */
  readonly amounts: (decimals: number) => Intl.NumberFormat;
}

/** Any language may be requested, even before login: the cache is bounded. */
const LOCALES_MAX = 30;
/** Cached texts of days and months per language: most pages show the same few. */
const DAYS_MAX = 1_000;
const DECIMALS_MAX = 100;

/** Remembers what `make` gives; at most `max` of it, then it begins anew. */
function cached<Key, Value>(max: number, make: (key: Key) => Value): (key: Key) => Value {
  const values = new Map<Key, Value>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) {
      value = make(key);
      if (values.size >= max) values.clear();
      values.set(key, value);
    }
    return value;
  };
}

/** Formats for readers; creating one is slow, so they are cached per language. */
export function createFormats(zone: string): (locale: string, isExact: boolean) => Format {
  const formatters = cached(LOCALES_MAX, formattersOf);
  return (locale, isExact) => formatOf(locale, formatters(locale), { zone, isExact });
}

function formattersOf(locale: string): Formatters {
  const tag = locale + CALENDAR_AND_DIGITS;
  const day = new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeZone: 'UTC' });
  const month = new Intl.DateTimeFormat(tag, { year: 'numeric', month: 'long', timeZone: 'UTC' });
  return {
    day: cached(DAYS_MAX, (text: BusinessDay) => day.format(new Date(`${text}T00:00:00Z`))),
    month: cached(DAYS_MAX, (text: string) => month.format(new Date(`${text}-01T00:00:00Z`))),
    instant: new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' }),
    count: new Intl.NumberFormat(tag),
    marked: inLanguage(locale),
    amounts: cached(
      DECIMALS_MAX,
      (decimals: number) =>
        new Intl.NumberFormat(tag, { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
    ),
  };
}

function formatOf(
  locale: string,
  { day, month, instant, count, amounts, marked }: Formatters,
  { zone, isExact }: { readonly zone: string; readonly isExact: boolean },
): Format {
  const instantText = (at: Date): string => instant.format(wallMs(at.getTime(), zone));
  const isOfPage = new Intl.Locale(locale).language === PAGE_LANGUAGE;
  const asStored = (text: string): string => text;
  return {
    ...{ locale, isOfPage },
    // Given as text, no digit is lost.
    amount: isExact
      ? (exact) => exact
      : (exact) => unmarked(amounts(decimalsOf(exact)).format(exact as `${number}`)),
    count: (integer) => unmarked(count.format(integer)),
    day,
    month,
    instant: instantText,
    shown: {
      day: (text) => marked(day(text)),
      month: (text) => marked(month(text)),
      instant: (at) => marked(instantText(at)),
      published: (at) => [marked(instantText(at)), ` ${offsetText(at.getTime(), zone)}`],
    },
    plain: isOfPage ? { day, month } : { day: asStored, month: asStored },
  };
}

const SPACES = /[\s'’]/g;
/** Invisible marks of writing direction. */
const UNSEEN = /\p{Cf}/gu;
/** Numbers stand in sentences that are written from left to right, so they need no mark of their direction. */
export const unmarked = (text: string): string => text.replace(UNSEEN, '');
const MINUS = /^[-−]/;
const PLAIN = /^-?\d{1,30}(?:\.\d{1,30})?$/;
const SEPARATED = '1234567.5';

/**
 * A plain decimal; null if the text is no amount. A page of exact digits is read exactly first, any other one as the
 * language writes numbers: `491,84` is one number in German and none in English.
 */
export function readAmount(
  text: string,
  { format, isExact }: { readonly format: Pick<Format, 'locale'>; readonly isExact: boolean },
): string | null {
  const given = unmarked(text).replace(MINUS, '-').replace(SPACES, '');
  const local = () => localDigits(given, format.locale);
  const digits = isExact ? (exactDigits(given) ?? local()) : (local() ?? exactDigits(given));
  return digits === null ? null : plainDecimal(digits.replace(/^(-?)0+(?=\d)/, '$1'));
}

const exactDigits = (given: string): string | null => (PLAIN.test(given) ? given : null);

/** Groups have three digits, and in some languages two, but for the last one. */
function localDigits(given: string, locale: string): string | null {
  const parts = new Intl.NumberFormat(`${locale}-u-nu-latn`, { useGrouping: true }).formatToParts(
    SEPARATED as `${number}`,
  );
  const part = (type: string) => (parts.find((one) => one.type === type)?.value ?? '').replace(SPACES, '');
  const [group, decimal] = [part('group'), part('decimal')];
  const grouped = group === '' ? '' : `|\\d{1,3}(?:[${group}]\\d{2,3})*[${group}]\\d{3}`;
  const [, integer, fraction] =
    new RegExp(`^(-?(?:\\d+${grouped}))(?:[${decimal}](\\d+))?$`).exec(given) ?? [];
  if (integer === undefined) return null;
  const digits = group === '' ? integer : integer.replaceAll(group, '');
  return exactDigits(fraction === undefined ? digits : `${digits}.${fraction}`);
}
