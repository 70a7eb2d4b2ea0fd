/** What a cell of an own book says: an amount, a moment, the parts of a reference. Nothing is guessed, and no digit is lost. */
import { dayOf, instantsOf, parseDay } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { isWithinDigits } from '../../../ledger/money.ts';

/** Most parts of a reference that are kept; the others cannot name an entry of the ledger. */
const KEYS_MAX = 50;
const KEY_CHARACTERS_MAX = 100;

/** The parts of a reference that may be a batch number, in order, each once. */
export function referenceKeysOf(reference: string): readonly string[] {
  if (!BETWEEN_KEYS.test(reference))
    return reference === '' ? [] : [reference.slice(0, KEY_CHARACTERS_MAX + 1)].filter(isKey);
  return [...new Set(reference.split(BETWEEN_KEYS).filter(isKey))].slice(0, KEYS_MAX);
}
const BETWEEN_KEYS = /[\s,;|/()[\]{}<>]+/;
const isKey = (part: string): boolean => part !== '' && part.length <= KEY_CHARACTERS_MAX;

const PLAIN = /^(?:0|[1-9]\d*)(?:\.\d+)?$/;

/**
 * Returns what reads an amount as a plain decimal; null for a text that is none. A sign stands before or after it, brackets are a minus.
 * Digits may be in groups; so with a decimal comma `1.234,50` and `1 234,50` are read, and `1,50.00` is not.
 */
export function amountReader(decimal: 'point' | 'comma'): (text: string) => string | null {
  const [point, group] = decimal === 'point' ? [String.raw`\.`, ','] : [',', String.raw`\.`];
  const groups = String.raw`\d{1,3}(?<by>[${group}'’\s])(?:\d{2,3}\k<by>)*\d{3}`;
  const written = new RegExp(`^(?<integer>\\d*|${groups})(?:${point}(?<part>\\d*))?$`);
  return (text) => {
    const { digits, isNegative } = unsigned(text.trim());
    let plain = digits;
    if (decimal === 'comma' || !PLAIN.test(digits)) {
      const { integer, part = '' } = written.exec(digits)?.groups ?? {};
      if (integer === undefined || integer + part === '') return null;
      plain =
        (integer.replaceAll(/\D/g, '').replace(/^0+(?=\d)/, '') || '0') + (part === '' ? '' : `.${part}`);
    }
    if (!isWithinDigits(plain)) return null;
    return isNegative && /[1-9]/.test(plain) ? `-${plain}` : plain;
  };
}

function unsigned(text: string): { readonly digits: string; readonly isNegative: boolean } {
  const first = text.charCodeAt(0);
  const last = text.charCodeAt(text.length - 1);
  const isDigit = (code: number): boolean => code >= 48 && code <= 57;
  if (isDigit(first) && isDigit(last)) return { digits: text, isNegative: false };
  const { open, lead = '', digits = text, trail = '', close } = SIGNED.exec(text)?.groups ?? {};
  const signs = [lead, trail, open ?? ''].filter((sign) => sign !== '');
  if (signs.length > 1 || (open === undefined) !== (close === undefined))
    return { digits: text, isNegative: false };
  return { digits, isNegative: signs.length === 1 && signs[0] !== '+' };
}
const SIGNED =
  /^(?<open>\()?\s*(?<lead>[+\u2212-]?)\s*(?<digits>[^()+\u2212-]*?)\s*(?<trail>[+\u2212-]?)\s*(?<close>\))?$/;

/** A number of a workbook as text, without the noise of its binary form; beyond 15 digits in a form that no reader takes. */
export function workbookNumber(value: number): string {
  if (Math.abs(value) >= 1e15) return value.toExponential();
  if (Number.isInteger(value)) return String(value);
  const digits = Number(value.toPrecision(15));
  return Math.abs(digits) >= 1e-6 ? String(digits) : digits.toFixed(20).replace(/0+$/, '');
}

/** When an entry was booked. */
export interface Moment {
  /** In the platform's zone. A day without a time is taken as it is. */
  readonly day: BusinessDay;
  /** ISO 8601 in UTC; null where the text has no time. */
  readonly bookedAt: string | null;
}

const TOKENS: Readonly<Record<string, string>> = {
  YYYY: String.raw`(?<year>\d{4})`,
  YY: String.raw`(?<short>\d\d)`,
  MM: String.raw`(?<month>\d\d)`,
  M: String.raw`(?<month>\d{1,2})`,
  DD: String.raw`(?<day>\d\d)`,
  D: String.raw`(?<day>\d{1,2})`,
  HH: String.raw`(?<hour>\d\d)`,
  H: String.raw`(?<hour>\d{1,2})`,
  hh: String.raw`(?<hour>\d\d)`,
  h: String.raw`(?<hour>\d{1,2})`,
  mm: String.raw`(?<minute>\d\d)`,
  ss: String.raw`(?<second>\d\d)(?:[.,]\d+)?`,
  A: String.raw`(?<half>[AaPp])\.?[Mm]\.?`,
  Z: String.raw`(?<offset>Z|[+-]\d\d(?::?\d\d)?)`,
};
const TOKEN = /YYYY|YY|MM|M|DD|D|HH|H|hh|h|mm|ss|A|Z/g;
export const ISO_PATTERN =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,]\d+)?)?\s?(?<offset>Z|[+-]\d\d(?::?\d\d)?)?)?$/;

/** The pattern of a form like `DD.MM.YYYY HH:mm`; null where it names no day, half a time, or a part twice. */
export function datePattern(form: string): RegExp | null {
  const tokens = form.match(TOKEN) ?? [];
  const has = (...names: string[]): boolean => tokens.some((token) => names.includes(token));
  const isOfTwelve = has('h', 'hh');
  if (!has('YYYY', 'YY') || !has('M', 'MM') || !has('D', 'DD')) return null;
  if ((isOfTwelve || has('H', 'HH')) !== has('mm') || isOfTwelve !== has('A')) return null;
  const literals = form
    .split(TOKEN)
    .map((text) =>
      text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`),
    );
  try {
    return new RegExp(`^${literals.map((text, at) => text + (TOKENS[tokens[at] ?? ''] ?? '')).join('')}$`);
  } catch {
    return null;
  }
}

/** Whether the form has a time. */
export const hasTime = (form: string): boolean => form.includes('mm');

/** Zones of a book: in which its times are, and whose days count. */
export interface Zones {
  readonly own: string;
  readonly platform: string;
}

const two = (text = '0'): string => (text.length < 2 ? `0${text}` : text);

/** Returns what reads a day or a time; null for a text that is neither, or that the calendar or the zone's clock does not have. */
export function momentReader(
  patterns: readonly RegExp[],
  { own, platform }: Zones,
): (text: string) => Moment | null {
  const isDay = createDayCheck();
  return (text) => {
    const groups = firstMatch(patterns, text.trim());
    if (groups === undefined) return null;
    const { year, short, month, day, hour, minute, second, half, offset } = groups;
    const date = `${year ?? `20${short!}`}-${two(month)}-${two(day)}`;
    if (hour === undefined) return isDay(date) ? { day: date, bookedAt: null } : null;
    const clock = hourOf(hour, half);
    const wall = `${date} ${clock}:${minute!}:${second ?? '00'}`;
    // A time that the clock shows twice is taken as its first.
    const ms = offset === undefined ? instantsOf(wall, own)[0] : instantAt(wall, offset);
    return ms === undefined ? null : { day: dayOf(ms, platform), bookedAt: new Date(ms).toISOString() };
  };
}

function firstMatch(patterns: readonly RegExp[], text: string) {
  for (const pattern of patterns) {
    const groups = pattern.exec(text)?.groups;
    if (groups !== undefined) return groups;
  }
  return undefined;
}

function hourOf(hour: string, half: string | undefined): string {
  if (half === undefined) return two(hour);
  const given = Number(hour);
  if (given < 1 || given > 12) return '99';
  return two(String((given % 12) + (/p/i.test(half) ? 12 : 0)));
}

function instantAt(wall: string, offset: string): number | undefined {
  const [utcMs] = instantsOf(wall, 'UTC');
  if (utcMs === undefined || offset === 'Z') return utcMs;
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0');
  const aheadMs = (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000;
  return offset.startsWith('-') ? utcMs + aheadMs : utcMs - aheadMs;
}

/** Remembers the days of a file, which are few. */
function createDayCheck(): (day: string) => boolean {
  const known = new Map<string, boolean>();
  return (day) => {
    let answer = known.get(day);
    if (answer === undefined) {
      try {
        answer = parseDay(day) === day;
      } catch {
        answer = false;
      }
      if (known.size < 10_000) known.set(day, answer);
    }
    return answer;
  };
}
