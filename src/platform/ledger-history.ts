/**
 * sp2404, transaction history: asks for one page, and accepts only a reply that is that page (docs/platform.md 4.1).
 */
import type { LedgerEntry, UnreadableEntry } from '../ledger/entry.ts';
import { plainDecimal, type Currencies } from '../ledger/money.ts';
import type { ClockReading } from './clock-reading.ts';
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import { elementTexts, parseExactJson, type ExactJson } from './exact-json.ts';
import { readLedgerEntry } from './ledger-entry.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader } from './ledger-reader.ts';
import type { Excerpt, Transport } from './transport.ts';
import { INSTANT_MS_MAX, INSTANT_MS_MIN, PAGE_SIZE_MAX, type LedgerHistoryRequest } from './wire.ts';

export interface LedgerReading {
  /** IANA zone of `busiDate`. */
  readonly zone: string;
  readonly currencies: Currencies;
  /** At most `PAGE_SIZE_MAX`. */
  readonly pageSize: number;
}

const isBetween = (value: number, min: number, max: number): boolean =>
  Number.isInteger(value) && value >= min && value <= max;

/** The request's body. Throws `RangeError` for a query that the contract forbids, before anything is sent. */
function requestOf(
  { window, pageNum, currency, batchNo }: LedgerPageQuery,
  pageSize: number,
): LedgerHistoryRequest {
  if (!isBetween(pageSize, 1, PAGE_SIZE_MAX))
    throw new RangeError(`pageSize ${pageSize} is not 1 to ${PAGE_SIZE_MAX}`);
  if (!isBetween(pageNum, 1, Number.MAX_SAFE_INTEGER))
    throw new RangeError(`pageNum ${pageNum} is no page number`);
  for (const ms of [window.beginMs, window.endMs]) {
    if (!isBetween(ms, INSTANT_MS_MIN, INSTANT_MS_MAX)) {
      throw new RangeError(`${ms} is no timestamp of 13 digits`);
    }
  }
  if (window.beginMs > window.endMs)
    throw new RangeError(`window begins at ${window.beginMs}, after its end`);
  return {
    beginDate: window.beginMs,
    endDate: window.endMs,
    ...(batchNo === undefined ? {} : { batchNo }),
    ...(currency === undefined ? {} : { currency }),
    pageNum,
    pageSize,
  };
}

type Fields = Readonly<Record<string, unknown>>;
const ENVELOPE = ['pageNum', 'pageSize', 'total', 'list'];
const ERROR_FIELDS = ['code', 'respCode', 'errorCode', 'error', 'message', 'msg', 'respMsg', 'respDesc'];

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * How many objects around a page are searched. The document does not show what is around a reply (docs/platform.md
 * 4).
 */
const AROUND_MAX = 3;

/** A page inside `data`, `result` or the like, and how many levels deep it is; null if there is none. */
function pageWithin(root: Fields): { readonly fields: Fields; readonly within: number } | null {
  let level = [root];
  for (let within = 1; within <= AROUND_MAX; within += 1) {
    level = level.flatMap((outer) => Object.values(outer).filter(isFields));
    const fields = level.find((inner) => ENVELOPE.every((field) => field in inner));
    if (fields !== undefined) return { fields, within };
  }
  return null;
}

/** The fields of the page. Throws an error that says what came instead: no JSON, an error document, another shape. */
function envelopeOf(json: unknown, came: () => string): { readonly fields: Fields; readonly within: number } {
  if (!isFields(json)) {
    throw new PlatformReplyInvalid(`answered by something else than a ledger page: ${came()}`);
  }
  const absent = ENVELOPE.filter((field) => !(field in json));
  const inner = absent.length === ENVELOPE.length ? pageWithin(json) : null;
  if (inner !== null) return inner;
  if (absent.length === ENVELOPE.length && ERROR_FIELDS.some((field) => field in json)) {
    throw new PlatformRejected(`answered by an error document: ${came()}`);
  }
  if (absent.length > 0)
    throw new PlatformReplyInvalid(`the reply is without ${absent.join(', ')}: ${came()}`);
  return { fields: json, within: 0 };
}

interface EnvelopeReading {
  readonly digitsOf: ExactJson['digitsOf'];
  readonly notices: string[];
  readonly came: () => string;
}

/** A whole number of the page, also if sent as text or as `1.0`, which adds a notice. */
function wholeNumberOf(fields: Fields, field: string, { digitsOf, notices, came }: EnvelopeReading): number {
  const value = fields[field];
  const number = digitsOf(value);
  const digits = number ?? (typeof value === 'string' ? value : '');
  const plain = plainDecimal(digits);
  if (plain === null || !/^\d{1,15}(?:\.0+)?$/.test(plain)) {
    throw new PlatformReplyInvalid(`${field} is no whole number: ${came()}`);
  }
  if (number === null) notices.push(`${field} sent as text instead of a number`);
  else if (!/^\d+$/.test(number)) notices.push(`${field} not sent as plain digits`);
  return Number(plain);
}

function parseReply(text: string, came: () => string): ExactJson {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const kind = /^\s*</.test(text)
      ? 'HTML'
      : /^\s*[{[]/.test(text)
        ? 'broken off or garbled JSON'
        : 'no JSON';
    throw new PlatformReplyInvalid(`answered by ${kind}: ${came()}`);
  }
}

/** The entries as sent. Null counts as an empty list if the total is 0. */
function listOf(fields: Fields, total: number, notices: string[], came: () => string): readonly unknown[] {
  const list: unknown = fields['list'];
  if (Array.isArray(list)) return list;
  if (list !== null || total !== 0) throw new PlatformReplyInvalid(`list is no array: ${came()}`);
  notices.push('an empty list sent as null');
  return [];
}

function pageOf(
  text: string,
  excerpt: Excerpt,
  query: LedgerPageQuery,
  { zone, currencies, pageSize }: LedgerReading,
): LedgerPage {
  const came = () => (text.trim() === '' ? '(nothing)' : excerpt(text));
  const { value, digitsOf } = parseReply(text, came);
  const { fields, within } = envelopeOf(value, came);
  const asked = { pageNum: query.pageNum, pageSize };
  const notices: string[] = [];
  const envelope = { digitsOf, notices, came };
  const total = wholeNumberOf(fields, 'total', envelope);
  const list = listOf(fields, total, notices, came);
  for (const [field, wanted] of Object.entries(asked)) {
    const got = wholeNumberOf(fields, field, envelope);
    if (got === wanted) continue;
    if (field !== 'pageNum' || got !== 0 || list.length > 0)
      throw new PlatformReplyInvalid(`asked for ${field} ${wanted}, answered ${got}`);
    notices.push('an empty page sent as page 0');
  }
  if (list.length > pageSize) {
    throw new PlatformReplyInvalid(
      `the page holds ${list.length} entries, more than the ${pageSize} asked for`,
    );
  }
  const entries: LedgerEntry[] = [];
  const unreadable: UnreadableEntry[] = [];
  let raws: readonly string[] | null = null;
  const reading = {
    zone,
    currencies,
    window: query.bookedWithin ?? query.window,
    digitsOf,
    realDays: new Set<string>(),
    notices,
  };
  for (const [index, element] of list.entries()) {
    const outcome = readLedgerEntry(element, reading);
    if (outcome.ok) {
      entries.push(outcome.entry);
    } else {
      raws ??= elementTexts(text, 'list', within);
      const raw = raws[index];
      if (raw === undefined) throw new Error(`entry ${index} of ${list.length} has no text of its own`);
      unreadable.push({ raw, reason: outcome.reason, batchNo: outcome.batchNo });
    }
  }
  return { total, entries, unreadable, notices };
}

/**
 * Order of calls. The calls that prove the time zone come first, as all others wait for them. Then the oldest windows
 * come first: if the platform fails midway, the oldest windows are already complete.
 */
const rankOf = ({ window, isUrgent }: LedgerPageQuery): number => (isUrgent === true ? 0 : window.beginMs);

/**
 * Reads pages of a merchant's ledger. Throws `RangeError` if a query breaks the contract, which is a bug in daybook.
 */
export function createLedgerReader(transport: Transport, reading: LedgerReading): LedgerReader {
  return {
    page: async (query, signal) => {
      const body = requestOf(query, reading.pageSize);
      const read = (text: string, excerpt: Excerpt, clock: ClockReading | null): LedgerPage => ({
        ...pageOf(text, excerpt, query, reading),
        ...(clock === null ? {} : { clock }),
      });
      return transport.post(
        {
          operation: 'sp2404',
          access: { kind: 'merchant', merchant: query.merchant },
          repeatable: true,
          confidential: false,
          rank: rankOf(query),
          body,
          read,
        },
        signal,
      );
    },
  };
}
