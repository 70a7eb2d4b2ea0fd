/**
 * The law of what is to be chained: an account's certified days, from its first one on, less the days with up-to-date figures.
 *
 * Figures are up to date if they were made of the entries that are stored, and open on what is known of the time before them.
 * Days that are not certified and hold entries are chained as well; they are not published.
 */
import { addDays, beginsTwice, dayWindow, hasDay, zoneDays } from '../ledger/business-day.ts';
import { otherClosingsText } from '../ledger/chain/figures.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import { type ChainFacts, daysToChain, type AccountToChain } from '../store/chaining.ts';
import {
  knownDaysOf,
  firstBookedMs,
  isProvenUpToDay,
  type AccountInZone,
  createCertifiedCheck,
  readAround,
} from './account-view.ts';
import type { Kysely } from 'kysely';
import type { MerchantAccounts } from '../ledger/account-filter.ts';
import type { DB } from '../store/engine/schema.ts';

export async function daysOutOfDate(own: AccountInZone, known: ChainFacts): Promise<BusinessDay[]> {
  const facts = { ...known, changed: withDaysBefore(known.changed, own.zone) };
  const { changed, derived } = facts;
  const found = [...changed, ...(await daysWithoutFigures(own, facts))];
  const { stored, storedBefore } = knownDaysOf(own);
  for (const day of derived.filter((one) => !changed.includes(one))) {
    const [next, before] = [await stored(day), await storedBefore(day)];
    if (next !== undefined && (await opensOtherwise(next, before, before, own))) found.push(day);
  }
  return found.sort();
}

/** Entries with the date of a day that begins twice may belong to the day before it. */
function withDaysBefore(changed: readonly BusinessDay[], zone: string): readonly BusinessDay[] {
  const twice = changed.filter((day) => beginsTwice(day, zone));
  return twice.length === 0 ? changed : [...new Set([...changed, ...twice.map((day) => addDays(day, -1))])];
}

/**
 * The certified days from the account's first one on that have no figures; `changed` are about to get some.
 * A day without entries passes a balance on, so it counts only if all time since the begin of the day before that has
 * figures is certified, or is about to be filled. A day with a statement of another database and no entry counts by itself.
 */
async function daysWithoutFigures(
  { zone, isCertified }: AccountInZone,
  { begun, figured, stated, changed }: ChainFacts,
): Promise<BusinessDay[]> {
  const spanOf = (from: BusinessDay, to = from) => ({
    beginMs: dayWindow(from, zone).beginMs,
    endMs: dayWindow(to, zone).endMs,
  });
  const known = new Set([...figured, ...changed, ...(begun === null ? [] : [begun])]);
  const isInRow = (day: BusinessDay): boolean => begun !== null && begun <= day && day < figured[0]!;
  const mayCount = stated.filter((day) => !known.has(day));
  const all = [...known, ...mayCount].filter((day) => !isInRow(day)).sort();
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined || last === undefined) return [];
  // One question about all of it reads every certificate that the questions below need.
  await isCertified(spanOf(first, last));
  const found: BusinessDay[] = [];
  for (const day of mayCount) if (await isCertified(spanOf(day))) found.push(day);
  const held = [...known, ...found].sort();
  for (const [at, day] of held.entries()) {
    if (isInRow(day)) continue;
    const next = held[at + 1];
    for (let empty = addDays(day, 1); next === undefined || empty < next; empty = addDays(empty, 1)) {
      if (!(await isCertified(spanOf(day, empty)))) break;
      if (hasDay(empty, zone)) found.push(empty);
    }
  }
  return found;
}

/**
 * Whether a stored day would open on another balance, or after another entry, with `now` before it than with `then`, from
 * which it was chained. An opening that was derived gives way to any that is known.
 */
export async function opensOtherwise(
  next: DayFigures,
  now: DayFigures | undefined,
  then: DayFigures | undefined,
  own: AccountInZone,
): Promise<boolean> {
  if (now === undefined) return false;
  if (next.restarted)
    return (await isProvenUpToDay(now, next.day, own)) || (await givesItsBalance(next, now, own));
  return (
    then === undefined ||
    compareAmounts(now.closing, then.closing) !== 0 ||
    otherClosingsText(now.otherClosings) !== otherClosingsText(then.otherClosings) ||
    now.lastBatchNo !== then.lastBatchNo ||
    now.lastBookedMs !== then.lastBookedMs ||
    now.isOrderFinal !== then.isOrderFinal
  );
}

async function givesItsBalance(next: DayFigures, before: DayFigures, own: AccountInZone): Promise<boolean> {
  if (before.lastBookedMs !== null || compareAmounts(next.opening, before.closing) === 0) return false;
  const firstMs = await firstBookedMs(next.day, own);
  if (firstMs === undefined) return false;
  return own.isCertified({ beginMs: dayWindow(before.day, own.zone).beginMs, endMs: firstMs });
}

/** The most days whose entries may be read at once, counted from the last one. */
const DAYS_MAX = 100;

export interface ToChainOptions {
  readonly db: Kysely<DB>;
  readonly zone: string;
  readonly accounts: MerchantAccounts;
  /** Where most changed days are expected: what they need is read at once. Other days take statements of their own. */
  readonly days: { readonly from: BusinessDay; readonly to: BusinessDay };
  readonly known?: { readonly hasBreaks: boolean };
}

export interface AccountWork extends AccountInZone {
  readonly read: AccountToChain;
  readonly days: readonly BusinessDay[];
}

export async function accountsToChain(options: ToChainOptions): Promise<{
  readonly accounts: readonly AccountToChain[];
  readonly work: readonly AccountWork[];
}> {
  const { db, zone } = options;
  const { accounts, within } = await readAccounts(options);
  const work: AccountWork[] = [];
  for (const read of accounts) {
    const { account, certified } = read;
    const isCertified = createCertifiedCheck(db, account, { within, certified });
    const own = { db, account, zone, isCertified, read };
    const days = await daysOutOfDate(own, read);
    if (days.length > 0) work.push({ ...own, days });
  }
  return { accounts, work };
}

async function readAccounts({ db, zone, accounts, days: { from, to } }: ToChainOptions) {
  const earliest = addDays(to, 1 - DAYS_MAX);
  const days = zoneDays(from < earliest ? earliest : from, to, zone);
  const within = readAround({ beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs });
  const asked = {
    ...accounts,
    zone,
    within,
    days: days.map((day) => ({ day, window: dayWindow(day, zone) })),
  };
  return { within, accounts: await daysToChain(db, asked) };
}
