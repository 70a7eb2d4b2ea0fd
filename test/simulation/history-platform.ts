/** The platform of a history: a ledger in memory that knows what truly happened, what it shows, and when it fails. */
import { addDays, dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { PlatformUnreachable } from '../../src/platform/errors.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader } from '../../src/platform/ledger-reader.ts';
import { tzOffset } from '@date-fns/tz';
import { DAYS, PLACES, type Change, type Fault, type HistoryCase, type Seedling } from './history-cases.ts';

const PAGE_SIZE = 100;
export const CURRENCIES = ['USD', 'JPY'] as const;
const MINOR_UNITS: Readonly<Record<string, number>> = { USD: 2, JPY: 0 };

/** One line of the books. Amounts are complete units. */
interface Booking {
  readonly batchNo: string;
  currency: (typeof CURRENCIES)[number];
  type: string;
  net: number;
  balance: number;
  stampMs: number;
  shown: boolean;
  wrecked: boolean;
}

export interface HistoryPlatform {
  readonly zone: string;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly change: (change: Change) => void;
  /** What the platform shows at an instant. */
  readonly reader: (nowMs: number, fault: Fault | null) => LedgerReader;
  readonly entries: (nowMs: number) => LedgerEntry[];
  /** Entries that are shown but cannot be read. */
  readonly wrecks: (nowMs: number) => LedgerEntry[];
  readonly dayOf: (ms: number) => string;
  /** Makes every entry readable. */
  readonly mendAll: () => void;
}

const decimal = (units: number, currency: string): string =>
  MINOR_UNITS[currency] === 0 ? String(units) : `${units}.00`;

export function createHistoryPlatform(drawn: HistoryCase): HistoryPlatform {
  const { zone, firstDay } = PLACES[drawn.place]!;
  const lastDay = addDays(firstDay, DAYS - 1);
  const firstMs = dayWindow(firstDay, zone).beginMs;
  const lastMs = dayWindow(lastDay, zone).endMs;
  const sign = drawn.order === 'ascending' ? 1 : -1;
  const bookings: Booking[] = [];

  const msOf = ({ day, second }: Seedling): number => {
    const { beginMs, endMs } = dayWindow(addDays(firstDay, day), zone);
    return Math.min(beginMs + second * 1_000, endMs - 999);
  };
  const within = (ms: number): number => Math.min(Math.max(ms, firstMs), lastMs - 999);
  const later = (from: Booking): Booking[] =>
    bookings.slice(bookings.indexOf(from)).filter(({ currency }) => currency === from.currency);

  /** Books an entry at its place in time. All later balances of its account follow. */
  const book = (seedling: Seedling): void => {
    const trueMs = msOf(seedling);
    const currency = CURRENCIES[seedling.account]!;
    const found = bookings.findIndex(({ stampMs }) => stampMs > trueMs);
    const at = found === -1 ? bookings.length : found;
    const before = bookings.slice(0, at).findLast((booking) => booking.currency === currency);
    const booking: Booking = {
      batchNo: `${(bookings.length * 7) % 10}-${bookings.length}`,
      currency,
      type: 'T1',
      net: seedling.net,
      balance: (before?.balance ?? 0) + seedling.net,
      stampMs: trueMs,
      shown: true,
      wrecked: false,
    };
    bookings.splice(at, 0, booking);
    for (const next of later(booking).slice(1)) next.balance += booking.net;
  };
  for (const seedling of drawn.entries) book(seedling);
  const drifts = new Map(drawn.entries.map((seedling, at) => [`${(at * 7) % 10}-${at}`, seedling.drift]));
  for (const booking of bookings)
    booking.stampMs = within(booking.stampMs + (drifts.get(booking.batchNo) ?? 0) * 1_000);

  const change = (wanted: Change): void => {
    if ('entry' in wanted) book(wanted.entry);
    else if ('day' in wanted) {
      const day = addDays(firstDay, wanted.day);
      for (const booking of bookings.filter(({ stampMs }) => dayOf(stampMs, zone) === day))
        booking.shown = wanted.what === 'showDay';
    } else alter(bookings[wanted.pick % bookings.length]!, wanted);
  };

  const alter = (booking: Booking, wanted: Extract<Change, { pick: number }>): void => {
    switch (wanted.what) {
      case 'hide':
      case 'show':
        booking.shown = wanted.what === 'show';
        break;
      case 'wreck':
      case 'mend':
        booking.wrecked = wanted.what === 'wreck';
        break;
      case 'retype':
        booking.type = booking.type === 'T1' ? 'T2' : 'T1';
        break;
      case 'flip':
        booking.net = -booking.net;
        break;
      case 'recurrency':
        booking.currency = booking.currency === 'USD' ? 'JPY' : 'USD';
        break;
      case 'rebalance':
        booking.balance += wanted.by;
        break;
      case 'shift':
        for (const next of later(booking)) next.balance += wanted.by;
        break;
      case 'amount':
        if (booking.net + wanted.by === 0) break;
        booking.net += wanted.by;
        for (const next of later(booking)) next.balance += wanted.by;
        break;
      case 'seconds':
        booking.stampMs = within(booking.stampMs + wanted.by * 1_000);
        break;
      case 'days':
        booking.stampMs = within(booking.stampMs + wanted.by * 86_400_000);
        break;
    }
  };

  const entryOf = ({ batchNo, currency, type, net, balance, stampMs }: Booking): LedgerEntry => ({
    batchNo,
    currency,
    transactionType: type,
    credit: net > 0 ? decimal(net, currency) : null,
    debit: net > 0 ? null : decimal(-net, currency),
    balance: decimal(balance, currency),
    bookedAt: wallText(stampMs, zone),
    bookedMs: stampMs,
  });
  const shownAt = (nowMs: number): Booking[] =>
    bookings.filter(({ shown, stampMs }) => shown && stampMs <= nowMs);

  const page = (nowMs: number, { window, currency, batchNo, pageNum }: LedgerPageQuery): LedgerPage => {
    const found = shownAt(nowMs)
      .filter(
        (booking) =>
          booking.stampMs >= window.beginMs &&
          booking.stampMs <= window.endMs &&
          (currency === undefined || booking.currency === currency) &&
          (batchNo === undefined || booking.batchNo === batchNo),
      )
      .sort((a, b) => sign * (a.stampMs - b.stampMs || (a.batchNo < b.batchNo ? -1 : 1)));
    const shown = found.slice((pageNum - 1) * PAGE_SIZE, pageNum * PAGE_SIZE);
    return {
      total: found.length,
      entries: shown.filter(({ wrecked }) => !wrecked).map(entryOf),
      unreadable: shown
        .filter(({ wrecked }) => wrecked)
        .map((booking) => ({
          raw: JSON.stringify({ batchNo: booking.batchNo, busiDate: wallText(booking.stampMs, zone) }),
          reason: 'no amount',
          batchNo: booking.batchNo,
        })),
      notices: [],
    };
  };

  const reader = (nowMs: number, fault: Fault | null): LedgerReader => {
    let calls = 0;
    return {
      page: (query) => {
        const call = calls++;
        const answer = page(nowMs, query);
        switch (fault?.what) {
          case undefined:
          case 'kill':
            return Promise.resolve(answer);
          case 'failFrom':
            return call >= fault.call
              ? Promise.reject(new PlatformUnreachable('the platform is away'))
              : Promise.resolve(answer);
          case 'emptyOnce':
            return Promise.resolve(
              call === fault.call ? { ...answer, total: 0, entries: [], unreadable: [] } : answer,
            );
          case 'failDay':
          case 'wrongTotalDay': {
            const day = dayWindow(addDays(firstDay, fault.day), zone);
            if (query.window.endMs < day.beginMs || query.window.beginMs > day.endMs) break;
            return fault.what === 'failDay'
              ? Promise.reject(new PlatformUnreachable('the platform is away'))
              : Promise.resolve({ ...answer, total: answer.total + (answer.total > 0 ? 1 : 0) });
          }
        }
        return Promise.resolve(answer);
      },
    };
  };

  return {
    zone,
    firstDay,
    lastDay,
    change,
    reader,
    entries: (nowMs) =>
      shownAt(nowMs)
        .filter(({ wrecked }) => !wrecked)
        .map(entryOf),
    wrecks: (nowMs) =>
      shownAt(nowMs)
        .filter(({ wrecked }) => wrecked)
        .map(entryOf),
    dayOf: (ms) => dayOf(ms, zone),
    mendAll: () => {
      for (const booking of bookings) booking.wrecked = false;
    },
  };
}

/** An instant as the platform writes it, in the platform's zone. */
export const wallText = (ms: number, zone: string): string =>
  new Date(ms + Math.round(tzOffset(zone, new Date(ms)) * 60_000))
    .toISOString()
    .slice(0, 19)
    .replace('T', ' ');
