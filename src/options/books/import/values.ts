/** What a cell of an own book says: an amount, a moment, the parts of a reference. Nothing is guessed, and no digit is lost. */
import { dayOf, instantsOf, isDay } from '../../../ledger/business-day.ts';
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
    return isNegative ? negated(plain) : plain;
  };
}

/** The amount with the other sign; zero has none. */
export const negated = (amount: string): string =>
  amount.startsWith('-') ? amount.slice(1) : /[1-9]/.test(amount) ? `-${amount}` : amount;

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

/** Zones of a book: in which its times are, and whose days count. */
export interface Zones {
  readonly own: string;
  readonly platform: string;
}

const OFFSET = String.raw`(?<offset>Z|[+-]\d\d(?::?\d\d)?)`;
const SECOND = String.raw`(?<second>\d\d)(?:[.,]\d+)?`;
export const ISO_PATTERN = new RegExp(
  String.raw`^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<hour>\d\d):(?<minute>\d\d)(?::${SECOND})?\s?${OFFSET}?)?$`,
);
const TOKEN = /YYYY|YY|MM?|DD?|HH?|hh?|mm|ss|A|Z/;
/** By the first letter of their token. */
const PARTS: Readonly<Record<string, string>> = {
  ...{ Y: 'year', M: 'month', D: 'day', H: 'hour', h: 'hour', m: 'minute' },
};

function tokenPattern(token: string): string {
  if (token === 'ss') return SECOND;
  if (token === 'Z') return OFFSET;
  if (token === 'A') return String.raw`(?<half>[AaPp])\.?[Mm]\.?`;
  return `(?<${PARTS[token[0]!]!}>\\d{${token.length === 1 ? '1,2' : token.length}})`;
}

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

/** Whether the form has a time. */
export const hasTime = (form: string): boolean => form.includes('mm');

const two = (text = '0'): string => text.padStart(2, '0');

/** Returns what reads a day or a time; null for a text that is neither, or that the calendar or the zone's clock does not have. */
export function momentReader(
  patterns: readonly RegExp[],
  { own, platform }: Zones,
): (text: string) => Moment | null {
  return (text) => {
    const groups = patterns.map((pattern) => pattern.exec(text.trim())?.groups).find(Boolean);
    if (groups === undefined) return null;
    const { year, month, day, hour, minute, second, half, offset } = groups;
    const date = `${year!.padStart(4, '20')}-${two(month)}-${two(day)}`;
    if (hour === undefined) return isDay(date) ? { day: date, bookedAt: null } : null;
    const wall = `${date} ${hourOf(hour, half)}:${minute!}:${two(second)}`;
    // A time that the clock shows twice is taken as its first.
    const ms = instantsOf(wall, offset === undefined ? own : 'UTC')[0];
    if (ms === undefined) return null;
    const at = ms - aheadMs(offset);
    return { day: dayOf(at, platform), bookedAt: new Date(at).toISOString() };
  };
}

function hourOf(hour: string, half: string | undefined): string {
  if (half === undefined) return two(hour);
  const given = Number(hour);
  // No clock shows 99.
  return given < 1 || given > 12 ? '99' : two(String((given % 12) + (/p/i.test(half) ? 12 : 0)));
}

/** How far a clock of this offset is ahead of UTC. */
function aheadMs(offset = 'Z'): number {
  if (offset === 'Z') return 0;
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0');
  const ms = (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000;
  return offset.startsWith('-') ? -ms : ms;
}
