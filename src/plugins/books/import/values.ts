/** What a cell of an own book says: an amount, a moment, the parts of a reference. Nothing is guessed, and no digit is lost. */
import { dayOf, instantsOf, isDay } from '../../../ledger/business-day.ts';
import { isWithinDigits, plainDecimal } from '../../../ledger/money.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';

/** Of a file; a book has some ten. */
export const COLUMNS_MAX = 1_000;
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

/** Stands for a formula of a workbook whose result is not stored. */
export const NO_RESULT = '#NO RESULT!';
/** A long number as a spreadsheet shows it, also in the CSV that it saves; and what `workbookNumber` makes of one that it cannot hold. */
const ROUNDED = /^[+-]?\d(?:[.,]\d+)?E\+\d{2,}$/i;
const ERROR =
  /^#(?:N\/A|REF!|VALUE!|DIV\/0!|NUM!|NAME\?|NULL!|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|BUSY!|GETTING_DATA)$/i;

/** What a spreadsheet did to a cell, as the end of a sentence that begins with the column; null if it did nothing that shows. */
export function damageOf(cell: string): string | null {
  if (cell === NO_RESULT)
    return 'is a formula without a stored result: open the file in a spreadsheet, and save it.';
  if (ROUNDED.test(cell))
    return 'is a long number, which a spreadsheet rounds or shortens: its column has to be text there.';
  if (ERROR.test(cell)) return `is the error ${cell} of a spreadsheet.`;
  return /^#{3,}$/.test(cell)
    ? 'is ###, as its column in the spreadsheet was too narrow when the file was saved.'
    : null;
}

/** Zones of a book: in which its times are, and whose days count. */
export interface Zones {
  readonly own: string;
  readonly platform: string;
}

const OFFSET = String.raw`(?<offset>Z|UTC|GMT|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)`;
const SECOND = String.raw`(?<second>\d\d)(?:[.,]\d+)?`;
const ISO_PATTERN = new RegExp(
  String.raw`^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<hour>\d\d):(?<minute>\d\d)(?::${SECOND})?\s?${OFFSET}?)?$`,
);
/** In brackets stands what is no token: `[at]`. */
const TOKEN = /\[[^[\]]*\]|YYYY|YY|MMMM|MMM|MM?|DD?|dddd|ddd|HH?|hh?|mm|ss|A|Z/;
const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july'],
  ...['august', 'september', 'october', 'november', 'december'],
];
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
/** A name in English, or its beginning as it is usually cut, in any letters. */
const NAME = String.raw`[A-Za-z]{3,9}`;
const PARTS = { Y: 'year', M: 'month', D: 'day', H: 'hour', h: 'hour', m: 'minute' };
const PATTERNS: Partial<Record<string, string>> = {
  ...{ MMM: String.raw`(?<month>${NAME})\.?`, MMMM: String.raw`(?<month>${NAME})\.?` },
  ...{ ddd: String.raw`(?<weekday>${NAME})\.?`, dddd: String.raw`(?<weekday>${NAME})\.?` },
  ...{ ss: SECOND, Z: OFFSET, A: String.raw`(?<half>[AaPp])\.?[Mm]\.?` },
};

const literal = (text: string): string =>
  text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`);

function tokenPattern(token: string): string {
  if (token.startsWith('[')) return literal(token.slice(1, -1));
  const part = PARTS[token[0] as keyof typeof PARTS];
  return PATTERNS[token] ?? `(?<${part}>\\d{${token.length === 1 ? '1,2' : token.length}})`;
}

/** The pattern of a form like `DD.MM.YYYY HH:mm`; null where it names no day, half a time, or a part twice. */
export function datePattern(form: string): RegExp | null {
  // Split by what it captures, every second part is a token.
  const parts = form.split(new RegExp(`(${TOKEN.source})`));
  const has = (letter: string): boolean => parts.some((part, at) => at % 2 === 1 && part[0] === letter);
  if (!has('Y') || !has('M') || !has('D')) return null;
  if ((has('h') || has('H')) !== has('m') || has('h') !== has('A')) return null;
  try {
    return new RegExp(
      `^${parts.map((part, at) => (at % 2 === 1 ? tokenPattern(part) : literal(part))).join('')}$`,
    );
  } catch {
    return null;
  }
}

const two = (text = '0'): string => text.padStart(2, '0');

/** The number of the name in a list, from 0; -1 where it is none of them. A name may be cut to three letters; to four where people do. */
const placeOfName = (name: string, names: readonly string[]): number => {
  const given = name.toLowerCase();
  const isCut = given.length === 3 || ['sept', 'tues', 'thur', 'thurs'].includes(given);
  return names.findIndex((one) => one === given || (isCut && one.startsWith(given)));
};

/** `03` of `03`, `3`, `Mar` or `march`; `00`, which no calendar has, of a word that is no month. */
const monthOf = (text: string): string =>
  /^\d/.test(text) ? two(text) : two(String(placeOfName(text, MONTHS) + 1));

/** Of two digits, those of the nineties may be of either century. */
const yearOf = (text: string): string => (/^9\d$/.test(text) ? '0000' : text.padStart(4, '20'));

/** The business day in the platform's zone, and the instant, ISO 8601 in UTC; null where the book names the day alone. */
export interface Moment {
  readonly day: BusinessDay;
  readonly bookedAt: string | null;
  /** The time has an offset that the platform's zone does not have then, and the mapping names no zone of the book. */
  readonly isElsewhere?: true;
}

/** What a mapping says of days and times. */
export interface MomentForm {
  readonly dates?: string | undefined;
  readonly format: string;
  /** The book's zone, where the mapping names it. */
  readonly zone?: string | undefined;
}

/** Returns what reads a day or a time; null for a text that is neither, or that the calendar or the zone's clock does not have. */
export function momentReader(
  { dates, format, zone }: MomentForm,
  { own, platform }: Zones,
): (text: string) => Moment | null {
  const form = dates === undefined ? [] : [datePattern(dates)!];
  // A workbook has real dates, too.
  const patterns = dates === undefined || format === 'xlsx' ? [...form, ISO_PATTERN] : form;
  return (text) => {
    if (text.length > READ_CHARACTERS_MAX) return null;
    const groups = patterns.map((pattern) => pattern.exec(text)?.groups).find(Boolean);
    if (groups === undefined) return null;
    const { year, month, day, weekday, hour, minute, second, half, offset } = groups;
    const date = `${yearOf(year!)}-${monthOf(month!)}-${two(day)}`;
    if (weekday !== undefined && placeOfName(weekday, WEEKDAYS) !== new Date(`${date}T00:00:00Z`).getUTCDay())
      return null;
    if (hour === undefined) return isDay(date) ? { day: date, bookedAt: null } : null;
    const wall = `${date} ${hourOf(hour, half)}:${minute!}:${two(second)}`;
    // A time that the clock shows twice is taken as its first.
    const ms = instantsOf(wall, offset?.replace(/^(?:Z|GMT)$/, 'UTC') ?? own)[0];
    if (ms === undefined) return null;
    const moment = { day: dayOf(ms, platform), bookedAt: new Date(ms).toISOString() };
    const isElsewhere =
      offset !== undefined && zone === undefined && !instantsOf(wall, platform).includes(ms);
    return isElsewhere ? { ...moment, isElsewhere } : moment;
  };
}

function hourOf(hour: string, half: string | undefined): string {
  if (half === undefined) return two(hour);
  const given = Number(hour);
  // No clock shows 99.
  return given < 1 || given > 12 ? '99' : two(String((given % 12) + (/p/i.test(half) ? 12 : 0)));
}
