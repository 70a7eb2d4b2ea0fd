/** Chooses the points from which the balance of a day is drawn. */
import type { ChainEntry } from '../../ledger/chain/chain-link.ts';
import { createChain, type ChainStart } from '../../ledger/chain/chain.ts';
import type { BusinessDay, Window } from '../../ledger/entry.ts';
import { compareAmounts } from '../../ledger/money.ts';
import type { BalanceDrawn } from '../../pages/chart.ts';
import type { AccountDayRow } from '../../store/account-days.ts';
import { readAccountToChain } from '../../store/entries.ts';
import { stretchEnds, type BalancePoint } from '../../store/pages/balance-points.ts';
import type { BreaksFound } from '../../store/pages/breaks-of-day.ts';
import type { DayOfAccount } from '../../store/pages/day-rows.ts';
import type { PagesContext } from './context.ts';

/** A day with more entries is drawn from some of them. */
const POINTS_MAX = 288;
const MINUTE_MS = 60_000;
/** Of each stretch the lowest, the highest and the last are drawn. An hour is a multiple of a stretch. */
const STRETCH_MS = 15 * MINUTE_MS;
/** A day with more entries is sampled: a page must load quickly. */
const READ_COMPLETELY_MAX = 5_000;
/** Of a large day the end of each stretch is drawn. */
const STRETCH_OF_LARGE_MS = 10 * MINUTE_MS;
/** Entries that determine the balance at the end of a stretch: mostly those of some seconds. */
const ENTRIES_A_STRETCH = 16;

export interface DayToDraw {
  readonly day: BusinessDay;
  readonly figures: AccountDayRow;
  /** Whether the figures are of the entries as they are now. */
  readonly isCurrent: boolean;
  readonly found: BreaksFound;
  /** How many entries the day has. */
  readonly total: number;
}

/** Null where there is nothing to draw. */
export async function balanceOf(
  context: PagesContext,
  here: DayOfAccount,
  asked: DayToDraw,
): Promise<BalanceDrawn | null> {
  const { day, figures, isCurrent, found, total } = asked;
  if (total === 0) return null;
  const drawn =
    total > READ_COMPLETELY_MAX ? await endsOf(context, here, day) : await completeDay(context, here, asked);
  const last = drawn.points.at(-1);
  const points =
    isCurrent && last !== undefined
      ? [...drawn.points.slice(0, -1), { ...last, balance: figures.closing }]
      : drawn.points;
  return {
    ...{ currency: here.account.currency, day, window: here.window, opening: figures.opening },
    ...{ points, drawnFrom: drawn.drawnFrom, breaks: found.breaks, breaksInAll: found.inAll },
  };
}

type Drawn = Pick<BalanceDrawn, 'points' | 'drawnFrom'>;

/** Every entry of the day in the order of the statement; of many, the extremes of the balance. */
async function completeDay(
  { db, settings: { clockToleranceS } }: PagesContext,
  { account, window }: DayOfAccount,
  { figures, isCurrent }: DayToDraw,
): Promise<Drawn> {
  const start: ChainStart = { balance: figures.opening, batchNo: null, bookedMs: window.beginMs - 1_000 };
  const chain = createChain({
    clockToleranceS,
    start: isCurrent && !figures.restarted ? start : null,
    preferred: { opening: figures.opening, closing: figures.closing },
  });
  const points: BalancePoint[] = [];
  const take = (steps: ReturnType<typeof chain.end>): void => {
    for (const { entry } of steps) points.push({ bookedMs: entry.bookedMs, balance: entry.balance });
  };
  for await (const entries of readAccountToChain(db, account, window)) take(chain.push(entries));
  take(chain.end());
  return points.length <= POINTS_MAX
    ? { points, drawnFrom: 'all' }
    : { points: extremesOf(points, window), drawnFrom: 'extremes' };
}

/** The lowest, the highest and the last point of each stretch, in their order: no balance of the day is beyond them. */
function extremesOf(points: readonly BalancePoint[], { beginMs }: Window): BalancePoint[] {
  const stretches = Map.groupBy(points, ({ bookedMs }) => Math.floor((bookedMs - beginMs) / STRETCH_MS));
  return [...stretches.values()].flatMap((own) => {
    const lowest = own.reduce((a, b) => (compareAmounts(b.balance, a.balance) < 0 ? b : a));
    const highest = own.reduce((a, b) => (compareAmounts(b.balance, a.balance) > 0 ? b : a));
    const kept = new Set([lowest, highest, own.at(-1)!]);
    return own.filter((point) => kept.has(point));
  });
}

/** A balance at the end of each stretch of a large day. */
async function endsOf(
  { db, settings: { clockToleranceS } }: PagesContext,
  here: DayOfAccount,
  day: BusinessDay,
): Promise<Drawn> {
  const limit = ENTRIES_A_STRETCH;
  const ends = await stretchEnds(db, here, day, { widthMs: STRETCH_OF_LARGE_MS, limit });
  const points = ends.map((own) => {
    const chain = createChain({ clockToleranceS, start: null });
    const steps = [...chain.push(own.length < limit ? own : fullSeconds(own)), ...chain.end()];
    const { bookedMs, balance } = steps.at(-1)!.entry;
    return { bookedMs, balance };
  });
  return { points, drawnFrom: 'ends' };
}

/** Without the first second, of which some entries may not have been read, unless there is no other. */
function fullSeconds(entries: readonly ChainEntry[]): readonly ChainEntry[] {
  const from = entries.findIndex(({ bookedMs }) => bookedMs !== entries[0]!.bookedMs);
  return from === -1 ? entries : entries.slice(from);
}
