/** The days each merchant's ledger is read for: those asked for, or its nightly default from what is proven. */
import type { Kysely } from 'kysely';
import { accountsOf } from '../ledger/account-filter.ts';
import { addDays, dayOf, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { subtractWindows } from '../ledger/window.ts';
import { changedDays } from '../store/account-days.ts';
import { certifiedWindows } from '../store/windows.ts';
import type { DB } from '../store/engine/schema.ts';
import { coverageOf } from './coverage.ts';
import { nightlyRange, outerRange, type DayRange } from './range.ts';
import { openRanges, takenUpDays } from './requested.ts';
import type { RunDeps, RunRequest, ActiveRun } from './active-run.ts';

/** The days one merchant's ledger is read for. */
export interface MerchantDays extends DayRange {
  /** Days besides, of ranges asked for earlier and not finished. */
  readonly takenUp: readonly DayRange[];
  /**
   * Days of a nightly default that nothing proven lies before: were they not read whole, no gap would tell a later run of
   * them. Null where there are none.
   */
  readonly beforeProof: DayRange | null;
  /** What was proven and reconciled before the run, of all time or, where days were asked for, of those. */
  readonly knownBefore: readonly Window[];
}

/** All time, for questions about everything certified. */
export const ALL_TIME = { beginMs: 0, endMs: 9_999_999_999_999 } as const;

/** Days per merchant number. With `asked`, those and no others; without, what is left of earlier requests as well. */
async function merchantRanges(options: {
  readonly db: Kysely<DB>;
  readonly merchants: readonly string[];
  readonly asked: DayRange | null;
  readonly zone: string;
  readonly resweepDays: number;
  readonly lateSweepDays?: number | undefined;
  readonly now: Date;
}): Promise<ReadonlyMap<string, MerchantDays>> {
  const { db, merchants, asked, zone, resweepDays, now } = options;
  const today = dayOf(now.getTime(), zone);
  if (asked !== null) {
    const span = { beginMs: dayWindow(asked.from, zone).beginMs, endMs: dayWindow(asked.to, zone).endMs };
    const days = await Promise.all(
      merchants.map(async (merchantNo): Promise<[string, MerchantDays]> => {
        const certified = await certifiedWindows(db, merchantNo, span);
        const knownBefore = await reconciled(db, merchantNo, certified, zone);
        return [merchantNo, { ...asked, takenUp: [], beforeProof: null, knownBefore }];
      }),
    );
    return new Map(days);
  }
  const requested = Map.groupBy(
    await openRanges(db, merchants, { zone, now }),
    ({ merchantNo }) => merchantNo,
  );
  const ranges = await Promise.all(
    merchants.map(async (merchantNo): Promise<[string, MerchantDays]> => {
      const certified = await certifiedWindows(db, merchantNo, ALL_TIME);
      const { provenThroughMs } = coverageOf(certified, now.getTime());
      // A day counts as proven once its last instant is: the day of the first unproven instant is read again.
      const firstUnread = provenThroughMs === null ? null : dayOf(provenThroughMs + 1, zone);
      const lateFrom = addDays(today, -1 - (options.lateSweepDays ?? 0));
      const range = nightlyRange(today, resweepDays, firstUnread, firstRead(certified, lateFrom, zone));
      const own = requested.get(merchantNo) ?? [];
      const beforeProof = daysBeforeProof(range, certified, own, zone);
      const takenUp = takenUpDays(own, range);
      const knownBefore = await reconciled(db, merchantNo, certified, zone);
      return [merchantNo, { ...range, takenUp, beforeProof, knownBefore }];
    }),
  );
  return new Map(ranges);
}

/**
 * The first day from `day` on that was read before: a sweep for late entries reads no day that nobody asked for. Null
 * where there is none. Pure.
 */
export function firstRead(certified: readonly Window[], day: BusinessDay, zone: string): BusinessDay | null {
  const { beginMs } = dayWindow(day, zone);
  const begins = certified.filter(({ endMs }) => endMs >= beginMs).map((window) => window.beginMs);
  return begins.length === 0 ? null : dayOf(Math.max(beginMs, Math.min(...begins)), zone);
}

/** The windows without days whose entries are still to be reconciled. */
async function reconciled(
  db: Kysely<DB>,
  merchantNo: string,
  certified: readonly Window[],
  zone: string,
): Promise<Window[]> {
  const waiting = (await changedDays(db, accountsOf(merchantNo))).flatMap(({ days }) => days);
  return subtractWindows(
    certified,
    waiting.map((day) => dayWindow(day, zone)),
  );
}

/** Days of `range` up to the first instant under certificate, without those that `open` requests hold already. Pure. */
function daysBeforeProof(
  { from, to }: DayRange,
  certified: readonly Window[],
  open: readonly DayRange[],
  zone: string,
): DayRange | null {
  const firstMs = Math.min(...certified.map(({ beginMs }) => beginMs));
  const days = daysFromTo(from, to).filter(
    (day) =>
      dayWindow(day, zone).beginMs < firstMs && !open.some((range) => range.from <= day && day <= range.to),
  );
  return days.length === 0 ? null : { from: days[0]!, to: days.at(-1)! };
}

/** What a run covers: the range of each merchant asked for, and the outer one for the record. */
export async function runRanges(
  { merchants, range }: Pick<RunRequest, 'merchants' | 'range'>,
  deps: Pick<RunDeps, 'db' | 'zone' | 'resweepDays' | 'lateSweepDays' | 'now'>,
): Promise<Pick<ActiveRun, 'ranges' | 'from' | 'to'>> {
  const now = deps.now();
  const ranges = await merchantRanges({
    ...deps,
    merchants: merchants.map(({ merchantNo }) => merchantNo),
    asked: range,
    now,
  });
  return { ranges, ...outerRange(ranges, range, dayOf(now.getTime(), deps.zone)) };
}
