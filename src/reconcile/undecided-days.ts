/**
 * Days whose closing is not certain: their entries fit several balances. It takes a later entry, an earlier day, or
 * the proof that the ledger begins there, to decide between them.
 */
import type { ChainStep } from '../ledger/chain/chain-link.ts';
import { createChain, type Chain } from '../ledger/chain/chain.ts';
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import { isLedgerBegin } from '../store/ledger-past.ts';
import type { AccountInZone, AccountView } from './account-view.ts';
import { beginsChoice, type ChainDaysOptions } from './chain-days.ts';

/** The days before `day` that are not decided, in order. */
export async function undecidedDaysBefore(
  day: BusinessDay,
  { known: { before } }: AccountView,
): Promise<BusinessDay[]> {
  const days: BusinessDay[] = [];
  for (let earlier = await before(day); earlier !== undefined; earlier = await before(earlier.day)) {
    if (earlier.otherClosings === undefined) break;
    days.unshift(earlier.day);
    if (beginsChoice(earlier)) break;
  }
  return days;
}

export interface ToDecide extends Pick<ChainDaysOptions, 'days' | 'before' | 'joins' | 'read'> {
  readonly clockToleranceS: number;
}

/**
 * What the entries of some days say of the closing before them, where that is not certain. `decides`: the undecided days
 * have to be chained again together with these. Else they fit its closing, and `others` are what they may close on as well.
 */
export async function decisionOf({
  days,
  before,
  joins,
  read,
  clockToleranceS,
}: ToDecide): Promise<{ readonly decides: boolean; readonly others: readonly string[] }> {
  const nothing = { decides: false, others: [] };
  if (before?.otherClosings === undefined || before.lastBookedMs === null) return nothing;
  const { lastBatchNo, lastBookedMs, otherClosings } = before;
  let chain: Chain | null = null;
  let [closing, end] = [before.closing, before.closing];
  let breaks = 0;
  const take = (steps: readonly ChainStep[]): void => {
    for (const { entry, break: found } of steps) {
      const { credit, debit } = entry;
      closing = credit === null ? subtractAmounts(closing, debit!) : addAmounts(closing, credit);
      if (found !== null) breaks += 1;
      end = entry.balance;
    }
  };
  for (const day of days) {
    for await (const entries of read(day)) {
      if (entries[0] === undefined) continue;
      if (chain === null && !(await joins(before, entries[0].bookedMs))) return nothing;
      const known = { balance: before.closing, others: otherClosings };
      const start = { ...known, batchNo: lastBatchNo, bookedMs: lastBookedMs };
      chain ??= createChain({ clockToleranceS, start });
      take(chain.push(entries));
    }
  }
  if (chain === null) return nothing;
  take(chain.end());
  const ends = [end, ...chain.otherClosings()];
  const others = ends.filter((one) => compareAmounts(one, closing) !== 0);
  const isAsOpen = breaks === 0 && others.length < ends.length && others.length === otherClosings.length;
  return isAsOpen ? { decides: false, others } : { decides: true, others: [] };
}

/** The days as they are, or as decided ones if they begin the account's ledger: it begins on zero. */
export async function decidedByBegin(
  days: readonly DayFigures[],
  { db, account, zone }: AccountInZone,
): Promise<readonly DayFigures[]> {
  const first = days.find(({ lastBookedMs }) => lastBookedMs !== null);
  if (first?.restarted !== true || first.otherClosings === undefined) return days;
  if (compareAmounts(first.opening, '0') !== 0) return days;
  if (!(await isLedgerBegin(db, account, dayWindow(first.day, zone)))) return days;
  return days.map((day) => ({ ...day, otherClosings: undefined }));
}
