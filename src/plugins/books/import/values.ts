/** What a cell of an own book says: an amount, a moment, the parts of a reference. Nothing is guessed, and no digit is lost. */
import { dayOf, instantsOf, isDay } from '../../../ledger/business-day.ts';
import { isWithinDigits, plainDecimal } from '../../../ledger/money.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';

/** Most parts of a reference that are kept; the others cannot name an entry of the ledger. */
const KEYS_MAX = 50;
const KEY_CHARACTERS_MAX = 100;
/** No amount and no time is longer. The time that a pattern needs may grow with the square of a text's length. */
const READ_CHARACTERS_MAX = 200;

/** The parts of a reference that may be a batch number, in order, each once. */
export const referenceKeysOf = (reference: string): readonly string[] =>
  [...new Set(reference.split(/[\s,;|/()[\]{}<>]+/))]
    .filter((part) => part !== '' && part.length <= KEY_CHARACTERS_MAX)
    .slice(0, KEYS_MAX);

/**
 * Returns what reads an amount as a plain decimal; null for a text that is none. A sign stands before or after it, brackets are a minus.
 * Digits may be in groups; so with a decimal comma `1.234,50` and `1 234,50` are read, and `1,50.00` is not.
 */
export function amountReader(decimal: 'point' | 'comma'): (text: string) => string | null {
  const [point, group] = decimal === 'point' ? [String.raw`\.`, ','] : [',', String.raw`\.`];
  const integers = String.raw`\d*|\d{1,3}(?<by>[${group}'’\s])(?:\d{2,3}\k<by>)*\d{3}`;
  const number = String.raw`(?<integer>${integers})(?:${point}(?<part>\d*))?`;
  const written = new RegExp(String.raw`^(?<before>[(+\u2212-]?)\s*${number}\s*(?<after>[)+\u2212-]?)$`);
  return (text) => {
    if (text.length > READ_CHARACTERS_MAX) return null;
    const { before = '', integer, part = '', after = '' } = written.exec(text)?.groups ?? {};
    if (integer === undefined || integer + part === '') return null;
    const units = integer.replaceAll(/\D/g, '').replace(/^0+(?=\d)/, '') || '0';
    const plain = part === '' ? units : `${units}.${part}`;
    if (!isWithinDigits(plain) || !/^(?:[+\u2212-]?|\(\))$/.test(before + after)) return null;
    return before + after === '' || before + after === '+' ? plain : negated(plain);
  };
}

/** The amount with the other sign; zero has none. */
export const negated = (amount: string): string =>
  amount.startsWith('-') ? amount.slice(1) : /[1-9]/.test(amount) ? `-${amount}` : amount;

/** A number of a workbook as text, without the noise of its binary form; beyond 15 digits in a form that no reader takes. */
export const workbookNumber = (value: number): string =>
  Math.abs(value) >= 1e15 ? value.toExponential() : plainDecimal(String(Number(value.toPrecision(15))))!;

/** Zones of a book: in which its times are, and whose days count. */
export interface Zones {
  readonly own: string;
  readonly platform: string;
}

const OFFSET = String.raw`(?<offset>Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)`;
const SECOND = String.raw`(?<second>\d\d)(?:[.,]\d+)?`;
const ISO_PATTERN = new RegExp(
  String.raw`^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<hour>\d\d):(?<minute>\d\d)(?::${SECOND})?\s?${OFFSET}?)?$`,
);
const TOKEN = /YYYY|YY|MM?|DD?|HH?|hh?|mm|ss|A|Z/;
const PARTS = { Y: 'year', M: 'month', D: 'day', H: 'hour', h: 'hour', m: 'minute' };
const PATTERNS: Partial<Record<string, string>> = {
  ...{ ss: SECOND, Z: OFFSET, A: String.raw`(?<half>[AaPp])\.?[Mm]\.?` },
};

const tokenPattern = (token: string): string =>
  PATTERNS[token] ??
  `(?<${PARTS[token[0] as keyof typeof PARTS]}>\\d{${token.length === 1 ? '1,2' : token.length}})`;

/** The pattern of a form like `DD.MM.YYYY HH:mm`; null where it names no day, half a time, or a part twice. */
export function datePattern(form: string): RegExp | null {
  // Split by what it captures, every second part is a token.
  const parts = form.split(new RegExp(`(${TOKEN.source})`));
  const has = (letter: string): boolean => parts.some((part, at) => at % 2 === 1 && part[0] === letter);
  if (!has('Y') || !has('M') || !has('D')) return null;
  if ((has('h') || has('H')) !== has('m') || has('h') !== has('A')) return null;
  const literal = (text: string): string =>
    text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`);
  try {
    return new RegExp(
      `^${parts.map((part, at) => (at % 2 === 1 ? tokenPattern(part) : literal(part))).join('')}$`,
    );
  } catch {
    return null;
  }
}

const two = (text = '0'): string => text.padStart(2, '0');

/** The business day in the platform's zone, and the instant, ISO 8601 in UTC; null where the book names the day alone. */
export interface Moment {
  readonly day: BusinessDay;
  readonly bookedAt: string | null;
}

/** Returns what reads a day or a time; null for a text that is neither, or that the calendar or the zone's clock does not have. */
export function momentReader(
  { dates, format }: { readonly dates?: string | undefined; readonly format: string },
  { own, platform }: Zones,
): (text: string) => Moment | null {
  const form = dates === undefined ? [] : [datePattern(dates)!];
  // A workbook has real dates, too.
  const patterns = dates === undefined || format === 'xlsx' ? [...form, ISO_PATTERN] : form;
  return (text) => {
    if (text.length > READ_CHARACTERS_MAX) return null;
    const groups = patterns.map((pattern) => pattern.exec(text)?.groups).find(Boolean);
    if (groups === undefined) return null;
    const { year, month, day, hour, minute, second, half, offset } = groups;
    const date = `${year!.padStart(4, '20')}-${two(month)}-${two(day)}`;
    if (hour === undefined) return isDay(date) ? { day: date, bookedAt: null } : null;
    const wall = `${date} ${hourOf(hour, half)}:${minute!}:${two(second)}`;
    // A time that the clock shows twice is taken as its first.
    const ms = instantsOf(wall, offset?.replace('Z', 'UTC') ?? own)[0];
    return ms === undefined ? null : { day: dayOf(ms, platform), bookedAt: new Date(ms).toISOString() };
  };
}

function hourOf(hour: string, half: string | undefined): string {
  if (half === undefined) return two(hour);
  const given = Number(hour);
  // No clock shows 99.
  return given < 1 || given > 12 ? '99' : two(String((given % 12) + (/p/i.test(half) ? 12 : 0)));
}
