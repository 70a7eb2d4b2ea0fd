/** Reads one entry of a reply and checks each field. What cannot be read goes into quarantine, with the reason. */
import { instantsOf, parseDay, InvalidDay } from '../ledger/business-day.ts';
import type { QuarantinedReading } from '../ledger/hints/evidence.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import {
  CURRENCY_CODE,
  canonicalAmount,
  createCurrencies,
  DECIMALS_MAX,
  isWithinDigits,
  INTEGER_DIGITS_MAX,
  type Currencies,
  subtractAmounts,
} from '../ledger/money.ts';
import { type ExactJson, parseExactJson } from './exact-json.ts';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from './wire.ts';

/**
 * Longest batch number or transaction type accepted. The document gives no length (docs/platform.md 2.1); this is its
 * longest for any text.
 */
const NAME_CHARACTERS_MAX = 255;
const HOUR_MS = 3_600_000;
/**
 * Earliest and latest time of booking accepted. To prove the time zone or to read the span of a break, windows up to
 * a day before and after an entry are asked for. The platform must accept all of these instants.
 */
const BOOKED_MS_MIN = INSTANT_MS_MIN + 48 * HOUR_MS;
const BOOKED_MS_MAX = INSTANT_MS_MAX - 48 * HOUR_MS;
/** The largest steps that clocks have skipped, in hours: one hour, and a full day where the date line moved. */
const SKIPPED_HOURS = [1, 24];

interface EntryReading {
  readonly zone: string;
  readonly currencies: Currencies;
  /** The window asked for. It decides which instant is meant when the clock repeats an hour. */
  readonly window: Window;
  readonly digitsOf: ExactJson['digitsOf'];
  /** Days already checked to be in the calendar. A page's entries share only a few. */
  readonly realDays: Set<string>;
  /** Takes a sentence for each oddity of an accepted entry. */
  readonly notices: string[];
}

type EntryOutcome =
  | { readonly ok: true; readonly entry: LedgerEntry }
  | { readonly ok: false; readonly reason: string; readonly batchNo: string | null };

/** Why an entry cannot be read. Never leaves this file. */
class Unreadable extends Error {}

type Fields = Readonly<Record<string, unknown>>;
const CONTROL = /\p{Cc}/u;
const BOOKED_AT = /^[1-9]\d{3}-\d{2}-\d{2} (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;
/** The same with parts of a second, which are no part of the time that is kept. */
const BOOKED_AT_FINER = /^(.{19})\.\d{1,9}$/;
/** A batchNo sent as a number. With an exponent or a point no one could tell which text it stands for. */
const NATURAL = /^\d+$/;

const charactersIn = (text: string): number =>
  text.length <= NAME_CHARACTERS_MAX ? text.length : Array.from(text).length;

function nameOf(fields: Fields, field: 'batchNo' | 'busiType', { digitsOf, notices }: EntryReading): string {
  const value = fields[field];
  if (typeof value !== 'string')
    throw new Unreadable(`${field} is ${value === undefined ? 'missing' : 'not text'}`);
  const digits = digitsOf(value);
  const name = digits ?? value;
  if (name.trim() === '') {
    if (field === 'batchNo') throw new Unreadable(`${field} is empty`);
    notices.push(`${field} is empty`);
  }
  if (charactersIn(name) > NAME_CHARACTERS_MAX)
    throw new Unreadable(`${field} has over ${NAME_CHARACTERS_MAX} characters`);
  if (digits !== null) {
    // Of two numbers that a cut of leading zeros made one, a page lacks one: its window gets no certificate.
    if (field === 'batchNo' && !NATURAL.test(digits))
      throw new Unreadable(`${field} is a number with a sign, a point or an exponent`);
    notices.push(`${field} sent as a number instead of text`);
  } else if (CONTROL.test(value) || !value.isWellFormed()) {
    throw new Unreadable(`${field} holds control characters or broken Unicode`);
  }
  return name;
}

/** A currency's code in capitals; null if the value is none. */
function codeOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (CURRENCY_CODE.test(value)) return value;
  return /^[A-Za-z]{3}$/.test(value) ? value.toUpperCase() : null;
}

function currencyOf(fields: Fields, { notices }: EntryReading): string {
  const value = fields['currency'];
  const code = codeOf(value);
  if (code === null) throw new Unreadable('currency is not three letters');
  if (code !== value) notices.push('currency not sent in capital letters');
  return code;
}

/** Commas that can only group thousands; in a currency without decimals every comma between groups of three does. */
const GROUPED = /^-?[1-9]\d{0,2}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})$/;
const GROUPED_UNITS = /^-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/;

/**
 * The digits of an amount sent as text. A point is its decimal sign. Commas are taken out where they can only group
 * thousands, as in `1,234.50` and `1,234,567`; `1,234` and `12,50` stay as they are, and are no number. Of JPY, `1,234` is 1234.
 */
const ungrouped = (text: string, minorUnits: number | null): string =>
  (minorUnits === 0 ? GROUPED_UNITS : GROUPED).test(text) ? text.replaceAll(',', '') : text;

/** An amount in canonical form; null if the field is null, missing or empty. */
function amountOf(
  fields: Fields,
  field: 'inAmount' | 'outAmount' | 'vailAmount',
  currency: string,
  reading: EntryReading,
): string | null {
  const value = fields[field];
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string') throw new Unreadable(`${field} is not a number`);
  const sent = reading.digitsOf(value);
  if (sent === null && value.trim() === '') {
    reading.notices.push(`${field} sent as empty text instead of null`);
    return null;
  }
  const minorUnits = reading.currencies.minorUnits(currency);
  const plain = sent ?? ungrouped(value, minorUnits);
  const canonical = canonicalAmount(plain, minorUnits);
  if (canonical === null || !isWithinDigits(canonical.amount)) {
    throw new Unreadable(
      `${field} is not a number of up to ${INTEGER_DIGITS_MAX} digits before and ${DECIMALS_MAX} after its point`,
    );
  }
  if (sent === null) reading.notices.push(`${field} sent as text instead of a number`);
  if (plain !== (sent ?? value)) reading.notices.push(`${field} sent with thousands separators`);
  if (canonical.excess)
    reading.notices.push(`${field} with more than the ${minorUnits ?? 0} decimals of ${currency}`);
  return canonical.amount;
}

/** The instant of a wall-clock time that the zone skips, as if the clock had not moved. */
function skippedInstant(bookedAt: string, zone: string): number | undefined {
  const wallMs = Date.parse(`${bookedAt.replace(' ', 'T')}Z`);
  for (const hours of SKIPPED_HOURS) {
    const earlier = new Date(wallMs - hours * HOUR_MS).toISOString().slice(0, 19).replace('T', ' ');
    const [instant] = instantsOf(earlier, zone);
    if (instant !== undefined) return instant + hours * HOUR_MS;
  }
  return undefined;
}

function isRealDay(day: string, { realDays }: EntryReading): boolean {
  if (realDays.has(day)) return true;
  try {
    realDays.add(parseDay(day));
    return true;
  } catch (error) {
    if (error instanceof InvalidDay) return false;
    throw error;
  }
}

/**
 * The time to the second, as the document has it; null if the value is none. Parts of a second are left out: the same
 * entry sent without them is no other entry.
 */
function secondOf(value: unknown, notices: string[]): string | null {
  if (typeof value !== 'string') return null;
  if (BOOKED_AT.test(value)) return value;
  const [, second = ''] = BOOKED_AT_FINER.exec(value) ?? [];
  if (!BOOKED_AT.test(second)) return null;
  notices.push('busiDate with parts of a second, which are not kept');
  return second;
}

/** The time as sent, and its instant. If two instants are possible: the one in the window asked for, else the first. */
function bookingOf(fields: Fields, reading: EntryReading): { bookedAt: string; bookedMs: number } {
  const { zone, window } = reading;
  const bookedAt = secondOf(fields['busiDate'], reading.notices);
  if (bookedAt === null || !isRealDay(bookedAt.slice(0, 10), reading)) {
    throw new Unreadable('busiDate is not a real time written YYYY-MM-DD HH:mm:ss');
  }
  const instants = instantsOf(bookedAt, zone);
  const inside =
    instants.length > 1 ? instants.find((ms) => ms >= window.beginMs && ms <= window.endMs) : undefined;
  const bookedMs = inside ?? instants[0] ?? skippedInstant(bookedAt, zone);
  if (bookedMs === undefined) throw new Unreadable(`busiDate is a time that ${zone} does not have`);
  if (instants.length === 0) reading.notices.push(`busiDate is a time that ${zone} skips`);
  if (bookedMs < BOOKED_MS_MIN || bookedMs > BOOKED_MS_MAX) {
    throw new Unreadable(
      'busiDate lies before September 2001 or after November 2286, where the platform cannot be asked for it',
    );
  }
  return { bookedAt, bookedMs };
}

const isZero = (amount: string | null): boolean => amount !== null && /^-?0(?:\.0*)?$/.test(amount);

/**
 * Credit and debit. If one is 0 and the other is not, the 0 is read as the null that the document has there
 * (docs/platform.md 2.1).
 */
function amountsOf(fields: Fields, currency: string, reading: EntryReading) {
  const credit = amountOf(fields, 'inAmount', currency, reading);
  const debit = amountOf(fields, 'outAmount', currency, reading);
  if (credit === null || debit === null || isZero(credit) === isZero(debit)) return { credit, debit };
  reading.notices.push(`${isZero(credit) ? 'inAmount' : 'outAmount'} sent as zero instead of null`);
  return isZero(credit) ? { credit: null, debit } : { credit, debit: null };
}

function readFields(fields: Fields, batchNo: string, reading: EntryReading): LedgerEntry {
  const currency = currencyOf(fields, reading);
  const transactionType = nameOf(fields, 'busiType', reading);
  const booking = bookingOf(fields, reading);
  const { credit, debit } = amountsOf(fields, currency, reading);
  const balance = amountOf(fields, 'vailAmount', currency, reading);
  if (credit !== null && debit !== null) {
    throw new Unreadable(`both inAmount (${credit}) and outAmount (${debit}) are set`);
  }
  if (credit === null && debit === null) throw new Unreadable('neither inAmount nor outAmount is set');
  if ((credit ?? debit)!.startsWith('-')) {
    throw new Unreadable(`${credit === null ? 'outAmount' : 'inAmount'} is negative`);
  }
  if (balance === null) throw new Unreadable('vailAmount is missing');
  if (!reading.currencies.isKnown(currency)) reading.notices.push(`currency ${currency} is on no list`);
  return { batchNo, currency, transactionType, credit, debit, balance, ...booking };
}

/** Reads one element of a reply's `list` (docs/platform.md 2.1). */
export function readLedgerEntry(element: unknown, reading: EntryReading): EntryOutcome {
  let batchNo: string | null = null;
  const { notices } = reading;
  const noticesBefore = notices.length;
  try {
    if (typeof element !== 'object' || element === null || Array.isArray(element)) {
      throw new Unreadable('the entry is not an object');
    }
    const fields = element as Fields;
    batchNo = nameOf(fields, 'batchNo', reading);
    return { ok: true, entry: readFields(fields, batchNo, reading) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    notices.length = noticesBefore;
    return { ok: false, reason: error.message, batchNo };
  }
}

const ISO_4217 = createCurrencies({});
const NOTHING: QuarantinedReading = { currency: null, nets: [] };

/**
 * The currency, and the signed amounts that the text may mean. If it has one amount: that one. If it has credit and
 * debit: their difference, or either of them. If its only amount is negative: also the same with the other sign.
 * Never throws.
 */
export function readQuarantined(raw: string): QuarantinedReading {
  const json = parsed(raw);
  if (json === null || typeof json.value !== 'object' || json.value === null) return NOTHING;
  const { currency, inAmount, outAmount } = json.value as Readonly<Record<string, unknown>>;
  const code = codeOf(currency);
  const minorUnits = code === null ? null : ISO_4217.minorUnits(code);
  const amountIn = (value: unknown) => quarantinedAmountOf(value, json, minorUnits);
  return { currency: code, nets: netsOf(amountIn(inAmount), amountIn(outAmount)) };
}

function netsOf(credit: string | null, debit: string | null): string[] {
  if (credit !== null && debit !== null) {
    return [...new Set([subtractAmounts(credit, debit), credit, negated(debit)])].filter(
      (net) => !isZeroText(net),
    );
  }
  const net = credit ?? (debit === null ? null : negated(debit));
  if (net === null) return [];
  return (credit ?? debit)!.startsWith('-') ? [net, negated(net)] : [net];
}

const negated = (amount: string): string => subtractAmounts('0', amount);
const isZeroText = (amount: string): boolean => /^-?0(?:\.0*)?$/.test(amount);

function parsed(raw: string): ExactJson | null {
  try {
    return parseExactJson(raw);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The amount, if it is a number or a text that reads as one. */
function quarantinedAmountOf(
  value: unknown,
  { digitsOf }: ExactJson,
  minorUnits: number | null,
): string | null {
  if (typeof value !== 'string') return null;
  const canonical = canonicalAmount(digitsOf(value) ?? ungrouped(value, minorUnits), null);
  return canonical !== null && isWithinDigits(canonical.amount) ? canonical.amount : null;
}
