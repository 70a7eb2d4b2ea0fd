/** Runs one account's chain over its stored days, from the first changed one to where nothing moves any more. */
import type { Kysely } from 'kysely';
import { foldDays, type ChainedDay, type DayFold } from '../ledger/account-days.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { createChain, type Chain, type ChainStart } from '../ledger/chain.ts';
import type { Account, BusinessDay, ContinuityBreak, Window } from '../ledger/entry.ts';
import { canonicalAmount, compareAmounts, type Currencies } from '../ledger/money.ts';
import { covers } from '../ledger/window.ts';
import {
  accountDay,
  dayAfter,
  dayBefore,
  type AccountDayRow,
  type DayFigures,
} from '../store/account-days.ts';
import { readAccount } from '../store/entries.ts';
import type { DB } from '../store/schema.ts';

/** Entries read from the database at a time. */
const READ_BATCH_ENTRIES = 5_000;

export interface FiguredDay {
  readonly figures: DayFigures;
  /** What was stored before. */
  readonly stored: AccountDayRow | undefined;
  readonly differs: boolean;
}

export interface ChainedAccount {
  readonly days: readonly FiguredDay[];
  readonly breaks: readonly ContinuityBreak[];
}

export interface ChainAccountOptions {
  readonly db: Kysely<DB>;
  readonly account: Account;
  /** Days to make anew, in any order. */
  readonly changed: readonly BusinessDay[];
  readonly certified: readonly Window[];
  readonly zone: string;
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  readonly signal: AbortSignal;
}

/** The chain at work: over one day nearly always, over several where entries trade places at midnight. */
interface Stretch {
  readonly chain: Chain;
  readonly fold: DayFold;
  readonly restarted: boolean;
  readonly days: BusinessDay[];
  readonly folded: ChainedDay[];
}

/** Figures of every day from the first change on, each pass ending where closing and last entry come out as stored. */
export async function chainAccount(options: ChainAccountOptions): Promise<ChainedAccount> {
  const { db, account, zone, signal } = options;
  const toleranceMs = options.clockToleranceS * 1_000;
  const minorUnits = options.currencies.minorUnits(account.currency);
  const waiting = [...new Set(options.changed)].sort();
  const days: FiguredDay[] = [];
  const breaks: ContinuityBreak[] = [];

  let carry: AccountDayRow | DayFigures | undefined;
  let moving = false;
  let at: BusinessDay | undefined;
  while (waiting.length > 0 || (moving && at !== undefined)) {
    signal.throwIfAborted();
    if (!moving) {
      at = waiting[0]!;
      carry = await dayBefore(db, account, at);
      // A day whose end is mixed with the next one's start can only be chained together with it.
      while (carry !== undefined && !(carry as AccountDayRow).clean_end) {
        at = (carry as AccountDayRow).day;
        carry = await dayBefore(db, account, at);
      }
    }
    const start = startFrom(carry, at!, options);
    const stretch: Stretch = {
      chain: createChain({ clockToleranceS: options.clockToleranceS, start }),
      fold: foldDays({ opening: start?.balance ?? null, minorUnits }),
      restarted: start === null,
      days: [],
      folded: [],
    };
    let day: BusinessDay | undefined = at;
    let lastMs = Number.NEGATIVE_INFINITY;
    while (day !== undefined) {
      stretch.days.push(day);
      while (waiting[0] !== undefined && waiting[0] <= day) waiting.shift();
      lastMs = Math.max(lastMs, await feed(stretch, dayWindow(day, zone), options));
      if (dayWindow(day, zone).endMs - lastMs > toleranceMs) break;
      const following = await nextDay(db, account, day, waiting);
      const adjacent =
        following !== undefined && dayWindow(following, zone).beginMs === dayWindow(day, zone).endMs + 1;
      if (!adjacent) break;
      day = following;
    }
    stretch.folded.push(...stretch.fold.push(stretch.chain.end()), ...stretch.fold.end());
    breaks.push(...stretch.fold.breaks());
    const figured = await figuresOf(stretch, carry, options, minorUnits);
    days.push(...figured);
    const last = figured.at(-1)!;
    carry = last.figures;
    moving = movesOn(last);
    at = await nextDay(db, account, stretch.days.at(-1)!, waiting);
    if (!moving) carry = undefined;
  }
  return { days, breaks };
}

/** The next day with figures or changes after `day`. */
async function nextDay(
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
  waiting: readonly BusinessDay[],
): Promise<BusinessDay | undefined> {
  const stored = (await dayAfter(db, account, day))?.day;
  const changed = waiting[0];
  if (stored === undefined || changed === undefined) return stored ?? changed;
  return stored < changed ? stored : changed;
}

/** Where the chain takes up: the closing before, if all that lies between is under certificate; else it begins anew. */
function startFrom(
  carry: AccountDayRow | DayFigures | undefined,
  day: BusinessDay,
  { certified, zone }: ChainAccountOptions,
): ChainStart | null {
  if (carry === undefined) return null;
  const batchNo = 'last_batch_no' in carry ? carry.last_batch_no : carry.lastBatchNo;
  const bookedMs = 'last_booked_ms' in carry ? carry.last_booked_ms : carry.lastBookedMs;
  const between = { beginMs: dayWindow(carry.day, zone).beginMs, endMs: dayWindow(day, zone).beginMs };
  if (!covers(certified, between)) return null;
  return { balance: carry.closing, batchNo, bookedMs: bookedMs ?? dayWindow(carry.day, zone).beginMs };
}

/** Feeds one day's entries; returns the last instant seen. */
async function feed(stretch: Stretch, window: Window, options: ChainAccountOptions): Promise<number> {
  let lastMs = Number.NEGATIVE_INFINITY;
  for await (const entries of readAccount(options.db, options.account, window, {
    batchSize: READ_BATCH_ENTRIES,
  })) {
    options.signal.throwIfAborted();
    lastMs = entries.at(-1)?.bookedMs ?? lastMs;
    stretch.folded.push(...stretch.fold.push(stretch.chain.push(entries)));
  }
  return lastMs;
}

/** Figures of the stretch's days, those without any entry left included, beside what was stored. */
async function figuresOf(
  stretch: Stretch,
  carry: AccountDayRow | DayFigures | undefined,
  options: ChainAccountOptions,
  minorUnits: number | null,
): Promise<FiguredDay[]> {
  const figured: FiguredDay[] = [];
  let before = carry;
  for (const day of [...new Set([...stretch.days, ...stretch.folded.map((one) => one.day)])].sort()) {
    const stored = await accountDay(options.db, options.account, day);
    const folded = stretch.folded.find((candidate) => candidate.day === day);
    const restarted = stretch.restarted && figured.length === 0;
    const figures: DayFigures =
      folded === undefined
        ? emptyDay(day, options.account.currency, before, stored, minorUnits, restarted)
        : { ...folded, currency: options.account.currency, restarted };
    figured.push({ figures, stored, differs: stored === undefined || differ(figures, stored) });
    before = figures;
  }
  return figured;
}

/** A day all of whose entries vanished: it passes on what it got. */
function emptyDay(
  day: BusinessDay,
  currency: string,
  before: AccountDayRow | DayFigures | undefined,
  stored: AccountDayRow | undefined,
  minorUnits: number | null,
  restarted: boolean,
): DayFigures {
  const balance = canonicalAmount(before?.closing ?? stored?.opening ?? '0', minorUnits)!.amount;
  const zero = canonicalAmount('0', minorUnits)!.amount;
  const known = before === undefined ? null : before;
  return {
    currency,
    day,
    opening: balance,
    creditTotal: zero,
    creditCount: 0,
    debitTotal: zero,
    debitCount: 0,
    closing: balance,
    verdict: 'continuous',
    breakCount: 0,
    lastBatchNo: known === null ? null : 'last_batch_no' in known ? known.last_batch_no : known.lastBatchNo,
    lastBookedMs:
      known === null ? null : 'last_booked_ms' in known ? known.last_booked_ms : known.lastBookedMs,
    cleanEnd: true,
    restarted,
  };
}

const differ = (figures: DayFigures, stored: AccountDayRow): boolean =>
  compareAmounts(figures.opening, stored.opening) !== 0 ||
  compareAmounts(figures.creditTotal, stored.credit_total) !== 0 ||
  figures.creditCount !== stored.credit_count ||
  compareAmounts(figures.debitTotal, stored.debit_total) !== 0 ||
  figures.debitCount !== stored.debit_count ||
  compareAmounts(figures.closing, stored.closing) !== 0 ||
  figures.verdict !== stored.verdict ||
  figures.breakCount !== stored.break_count ||
  figures.lastBatchNo !== stored.last_batch_no ||
  figures.lastBookedMs !== stored.last_booked_ms ||
  figures.cleanEnd !== stored.clean_end ||
  figures.restarted !== stored.restarted;

/** Whether the days after see anything else than before: another closing, or another entry to follow. */
const movesOn = ({ figures, stored }: FiguredDay): boolean =>
  stored === undefined ||
  compareAmounts(figures.closing, stored.closing) !== 0 ||
  figures.lastBatchNo !== stored.last_batch_no ||
  figures.lastBookedMs !== stored.last_booked_ms;
