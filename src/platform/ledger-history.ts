/**
 * sp2404, transaction history: asks for one page, and accepts only a reply that is that page (docs/platform.md 4.1).
 */
import type { LedgerEntry, UnreadableEntry } from '../ledger/entry.ts';
import { plainDecimal, type Currencies } from '../ledger/money.ts';
import { extrasOf, createHabits } from './page-extras.ts';
import { PlatformReplyInvalid } from './errors.ts';
import { elementTexts, type ExactJson } from './exact-json.ts';
import { readLedgerEntry } from './ledger-entry.ts';
import type { PageExtras, LedgerPage, LedgerPageQuery, LedgerReader } from './ledger-reader.ts';
import { cameOf, readReply, refusedWithToken, type Layer } from './reply.ts';
import type { ReplyContext, Transport } from './transport.ts';
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
/** The object with the page, among all. Throws an error that describes a refusal or another shape. */
function pageLayer(
  text: string,
  context: ReplyContext,
): { readonly page: Layer; readonly layers: readonly Layer[] } {
  const { layers, refusal } = readReply(text, context, { expected: ENVELOPE, data: ['list'] });
  if (refusal !== null) throw refusedWithToken(refusal, text, context.excerpt);
  const page = layers.find(({ fields }) => ENVELOPE.every((field) => field in fields));
  if (page !== undefined) return { page, layers };
  const absent = ENVELOPE.filter((field) => !layers.some(({ fields }) => field in fields));
  const lacks = absent.length > 0 ? absent : ENVELOPE;
  throw new PlatformReplyInvalid(
    `the reply is without ${lacks.join(', ')}: ${cameOf(text, context.excerpt)}`,
  );
}

interface EnvelopeReading {
  readonly digitsOf: ExactJson['digitsOf'];
  readonly notices: string[];
  readonly received: () => string;
}

/** An integer of the page, also if sent as text or as `1.0`, which adds a notice. */
function integerOf(fields: Fields, field: string, { digitsOf, notices, received }: EnvelopeReading): number {
  const value = fields[field];
  const number = digitsOf(value);
  const digits = number ?? (typeof value === 'string' ? value : '');
  const plain = plainDecimal(digits);
  if (plain === null || !/^\d{1,15}(?:\.0+)?$/.test(plain)) {
    throw new PlatformReplyInvalid(`${field} is not an integer: ${received()}`);
  }
  if (number === null) notices.push(`${field} sent as text instead of a number`);
  else if (!/^\d+$/.test(number)) notices.push(`${field} not sent as plain digits`);
  return Number(plain);
}

/** The entries as sent. Null counts as an empty list if the total is 0. */
function listOf(
  fields: Fields,
  total: number,
  notices: string[],
  received: () => string,
): readonly unknown[] {
  const list: unknown = fields['list'];
  if (Array.isArray(list)) return list;
  if (list !== null || total !== 0) throw new PlatformReplyInvalid(`list is no array: ${received()}`);
  notices.push('an empty list sent as null');
  return [];
}

function pageOf(
  text: string,
  context: ReplyContext,
  query: LedgerPageQuery,
  { zone, currencies, pageSize, habits }: LedgerReading & { readonly habits: Habits },
): LedgerPage {
  const { page, layers } = pageLayer(text, context);
  const { fields, json } = page;
  const { digitsOf } = json;
  const received = () => cameOf(text, context.excerpt);
  const notices: string[] = [];
  const envelope = { digitsOf, notices, received };
  const total = integerOf(fields, 'total', envelope);
  const list = listOf(fields, total, notices, received);
  const pageNum = integerOf(fields, 'pageNum', envelope);
  if (pageNum !== query.pageNum) {
    const isEmpty = pageNum === 0 && list.length === 0;
    if (!isEmpty && query.isBeyondLast !== true)
      throw new PlatformReplyInvalid(`asked for pageNum ${query.pageNum}, answered ${pageNum}`);
    notices.push(
      isEmpty ? 'an empty page sent as page 0' : 'another page sent in place of one beyond the last',
    );
  }
  // What a page holds is judged by its entries and the total, not by what it says of its size.
  const statedSize = integerOf(fields, 'pageSize', envelope);
  if (statedSize !== pageSize) notices.push('pageSize is not the one asked for');
  if (list.length > pageSize && query.isBeyondLast !== true) {
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
      raws ??= elementTexts(page.text, [...page.path, 'list']);
      const raw = raws[index];
      if (raw === undefined) throw new Error(`entry ${index} of ${list.length} has no text of its own`);
      unreadable.push({ raw, reason: outcome.reason, batchNo: outcome.batchNo });
    }
  }
  const isFull = list.length > 0 && list.length < pageSize && list.length === statedSize;
  const extras = unusualExtras(list.length === 0, extrasOf(layers, page, ENVELOPE, context.isSuccess), {
    habits,
    excerpt: context.excerpt,
  });
  return {
    ...{ total, entries, unreadable, notices },
    ...(isFull && { fullAt: statedSize }),
    ...(extras !== null && { extras }),
  };
}

type Habits = ReturnType<typeof createHabits>;

/** Pages with entries show what is habit; null where nothing else is next to an empty one. */
function unusualExtras(
  isEmpty: boolean,
  extras: PageExtras,
  { habits, excerpt }: { readonly habits: Habits } & Pick<ReplyContext, 'excerpt'>,
): PageExtras | null {
  if (!isEmpty) habits.learn(extras.fields);
  const fields = isEmpty ? habits.unknown(extras.fields) : [];
  const shown = fields.map(({ name, value }) => ({ name: excerpt(name), value: excerpt(value) }));
  return shown.length === 0 ? null : { ...extras, fields: shown };
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
  const habits = createHabits();
  return {
    page: async (query, signal) => {
      const body = requestOf(query, reading.pageSize);
      const read = (text: string, context: ReplyContext): LedgerPage => ({
        ...pageOf(text, context, query, { ...reading, habits }),
        ...(context.clock === null ? {} : { clock: context.clock }),
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
