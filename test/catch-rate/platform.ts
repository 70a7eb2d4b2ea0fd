/** A platform in memory that serves books over sp2404, and the ways in which it can lie about them. */
import { createCurrencies } from '../../src/ledger/money.ts';
import { createLedgerReader } from '../../src/platform/ledger-history.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { createTransportOver, systemTransportDeps, type Transport } from '../../src/platform/transport.ts';
import { PAGE_SIZE_MAX } from '../../src/platform/wire.ts';
import type { Random } from '../../src/plugins/sandbox/ledger.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { wallText } from '../simulation/history-platform.ts';
import { decimal, type Booking } from './books.ts';

/** An entry as the platform shows it. Amounts are JSON text, so that a lie may be any text. */
export interface Line {
  readonly batchNo: string;
  readonly currency: string;
  readonly type: string;
  readonly credit: string;
  readonly debit: string;
  readonly balance: string;
  /** The timestamp as the platform writes it. */
  readonly stamp: string;
  /** The time that the platform filters by. */
  readonly filterMs: number;
  /** When it was truly booked. It is not shown before that. */
  readonly atMs: number;
}

/** The answer to one call. */
export interface Reply {
  readonly total: number;
  readonly pageSize: number;
  readonly lines: readonly Line[];
  /** Sent in place of the page, as it is. */
  readonly text?: string;
}

export interface Call {
  /** How many calls for the merchant came before it in this run. */
  readonly nth: number;
  readonly merchantNo: string;
  readonly beginMs: number;
  readonly endMs: number;
  readonly batchNo: string | undefined;
  readonly currency: string | undefined;
  /** `1` for credits, `2` for debits. */
  readonly flowType: string | undefined;
  readonly busiType: string | undefined;
  readonly pageNum: number;
}

/**
 * The time of a run. `since` counts runs from the one in which the lie begins, and `night` nights; below 0 the platform
 * is honest.
 */
export interface Moment {
  readonly since: number;
  readonly night: number;
  readonly nowMs: number;
}

/** How a platform lies. Each function is called in every run and decides itself when it lies. */
export interface Lies {
  /** What the merchant's books now truly hold, if they change. */
  readonly books?: (books: readonly Booking[], at: Moment) => readonly Booking[];
  /** Which entries it shows, and how. */
  readonly lines?: (lines: readonly Line[], at: Moment, merchantNo: string) => readonly Line[];
  /** The reply to a call. `ask` gives the reply that any call would get from the lines shown. */
  readonly reply?: (reply: Reply, call: Call, at: Moment, ask: (call: Call) => Reply) => Reply;
  /** The zone that timestamps are written in, if it is not the right one. */
  readonly zoneOf?: (booking: Booking, at: Moment) => string;
  /** How old the state is that the platform shows. */
  readonly lagMs?: (at: Moment) => number;
  /** By how much the platform's clock, as in the Date header, is ahead of the true time; negative if it is behind. */
  readonly clockAheadMs?: (at: Moment) => number;
}

/** The orders in which a page may show its entries. */
export const ORDERS = ['ascending', 'descending', 'by batchNo', 'by amount', 'shuffled', 'changing'] as const;
export type Order = (typeof ORDERS)[number];

const hashOf = (text: string): number => {
  let hash = 7;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16_777_619);
  return hash >>> 0;
};

const byText = (a: Line, b: Line): number => (a.batchNo < b.batchNo ? -1 : 1);

function inOrder(lines: readonly Line[], order: Order, random: Random): Line[] {
  const sorted = [...lines];
  switch (order) {
    case 'ascending':
      return sorted.sort((a, b) => a.filterMs - b.filterMs || byText(a, b));
    case 'descending':
      return sorted.sort((a, b) => b.filterMs - a.filterMs || byText(b, a));
    case 'by batchNo':
      return sorted.sort(byText);
    case 'by amount':
      return sorted.sort((a, b) => (a.credit + a.debit < b.credit + b.debit ? -1 : 1));
    case 'shuffled':
      return sorted.sort((a, b) => hashOf(a.batchNo) - hashOf(b.batchNo));
    case 'changing':
      return sorted
        .map((line) => ({ line, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ line }) => line);
  }
}

/** An entry as an honest platform shows it. */
export const lineOf = (booking: Booking, zone: string): Line => ({
  batchNo: booking.batchNo,
  currency: booking.currency,
  type: booking.type,
  credit: booking.net > 0 ? decimal(booking.net, booking.currency) : 'null',
  debit: booking.net > 0 ? 'null' : decimal(-booking.net, booking.currency),
  balance: decimal(booking.balance, booking.currency),
  stamp: wallText(booking.stampMs, zone),
  filterMs: booking.stampMs,
  atMs: booking.atMs,
});

export interface PlatformOptions {
  /** The zone of the platform's timestamps. */
  readonly zone: string;
  /** The zone that daybook is set to. */
  readonly zoneSet: string;
  readonly order: Order;
  readonly random: Random;
  readonly lies: Lies;
  readonly booksOf: (merchantNo: string) => readonly Booking[];
}

export interface Served {
  readonly reader: LedgerReader;
  readonly calls: () => number;
}

/** What the platform serves in one run. The product's own reader reads it, including the text of each reply. */
export function serve(options: PlatformOptions, at: Moment): Served {
  const { zone, zoneSet, order, random, lies, booksOf } = options;
  const shown = new Map<string, readonly Line[]>();
  const linesOf = (merchantNo: string): readonly Line[] => {
    const known = shown.get(merchantNo);
    if (known !== undefined) return known;
    const untilMs = at.nowMs - (lies.lagMs?.(at) ?? 0);
    const lines = truthOf(booksOf(merchantNo), lies, at)
      .filter(({ atMs }) => atMs <= untilMs)
      .map((booking) => lineOf(booking, lies.zoneOf?.(booking, at) ?? zone));
    const reported = lies.lines?.(lines, at, merchantNo) ?? lines;
    shown.set(merchantNo, reported);
    return reported;
  };
  const ask = (call: Call): Reply => {
    const found = linesOf(call.merchantNo).filter((line) => isAskedFor(line, call));
    const sorted = inOrder(found, order, random);
    const first = (call.pageNum - 1) * PAGE_SIZE_MAX;
    return {
      total: found.length,
      pageSize: PAGE_SIZE_MAX,
      lines: sorted.slice(first, first + PAGE_SIZE_MAX),
    };
  };
  const calls = new Map<string, number>();
  const answer = (asked: Asked, merchantNo: string): string => {
    const nth = calls.get(merchantNo) ?? 0;
    calls.set(merchantNo, nth + 1);
    const { beginDate, endDate, batchNo, currency, flowType, busiType, pageNum } = asked;
    const filters = { batchNo, currency, flowType, busiType };
    const call: Call = { nth, merchantNo, beginMs: beginDate, endMs: endDate, ...filters, pageNum };
    const honest = ask(call);
    const reply = lies.reply?.(honest, call, at, ask) ?? honest;
    return reply.text ?? pageText(reply, pageNum);
  };
  const transport = transportTo(answer, lies.clockAheadMs?.(at) ?? 0);
  const currencies = createCurrencies({});
  return {
    reader: createLedgerReader(transport, { zone: zoneSet, currencies, pageSize: PAGE_SIZE_MAX }),
    calls: () => [...calls.values()].reduce((a, b) => a + b, 0),
  };
}

const isAskedFor = (line: Line, call: Call): boolean =>
  line.filterMs >= call.beginMs &&
  line.filterMs <= call.endMs &&
  (call.batchNo === undefined || line.batchNo === call.batchNo) &&
  (call.currency === undefined || line.currency === call.currency) &&
  (call.flowType === undefined || (call.flowType === '1') === (line.debit === 'null')) &&
  (call.busiType === undefined || line.type === call.busiType);

/** A request of sp2404 as it is on the wire. */
interface Asked {
  readonly beginDate: number;
  readonly endDate: number;
  readonly batchNo?: string;
  readonly currency?: string;
  readonly flowType?: string;
  readonly busiType?: string;
  readonly pageNum: number;
}

const WIRE = loadSettings({
  env: {
    PLATFORM_BASE_URL: 'http://127.0.0.1:9',
    PLATFORM_TIME_ZONE: 'UTC',
    PLATFORM_MERCHANT_NO: 'made-up',
    PLATFORM_TOKEN: 'made-up',
    PLATFORM_HEADERS: JSON.stringify({ 'x-merchant': '{merchantNo}' }),
  },
  readFile: () => '',
}).platform;

/** The product's own transport, over connections that are functions. It waits for nothing. */
const transportTo = (answer: (asked: Asked, merchantNo: string) => string, aheadMs: number): Transport =>
  createTransportOver(
    {
      attempt: ({ body, headers }) =>
        Promise.resolve({
          ok: true,
          value: {
            text: answer(JSON.parse(body) as Asked, headers['x-merchant']!),
            clock: { aheadMinMs: aheadMs, aheadMaxMs: aheadMs + 999 },
          },
        }),
      close: () => Promise.resolve(),
    },
    WIRE,
    { ...systemTransportDeps, sleep: () => Promise.resolve() },
  );

/** What the books truly hold at a moment, shown or not. */
export const truthOf = (books: readonly Booking[], lies: Lies, at: Moment): readonly Booking[] =>
  lies.books?.(books, at) ?? books;

/** The text of a reply (docs/platform.md 2.1, 4.1). */
export function pageText({ total, pageSize, lines }: Reply, pageNum: number): string {
  const list = lines.map(
    ({ batchNo, currency, type, credit, debit, balance, stamp }) =>
      `{"batchNo":${JSON.stringify(batchNo)},"currency":${JSON.stringify(currency)},` +
      `"busiType":${JSON.stringify(type)},"inAmount":${credit},"outAmount":${debit},` +
      `"vailAmount":${balance},"busiDate":${JSON.stringify(stamp)}}`,
  );
  return `{"pageNum":${pageNum},"pageSize":${pageSize},"total":${total},"list":[${list.join()}]}`;
}
