/** Works out the days for which each merchant's ledger is read: the days asked for, or those that a night reads. */
import type { Kysely } from 'kysely';
import { accountsOf } from '../ledger/account-filter.ts';
import { addDays, dayOf, daysFromTo, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { ALL_TIME, subtractWindows } from '../ledger/window.ts';
import { changedDays } from '../store/changed-days.ts';
import { certifiedWindows } from '../store/windows.ts';
import type { DB } from '../store/engine/schema.ts';
import { coverageOf } from './coverage.ts';
import { nightlyRange, outerRange, type DayRange, type MerchantDays } from './range.ts';
import { openRanges, takenUpDays } from './requested.ts';
import type { RunDeps, RunRequest } from './active-run.ts';

/**
 * The days of each merchant, by number. With `asked`: these days only. Without: also what is left of earlier
 * requests.
 */
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
      // A day is proven once its last instant is. So the day of the first unproven instant is read again.
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
 * The earliest day, not before `day`, that an earlier run has read. The sweep for late entries begins there, so that it
 * reads no day that nobody asked for. Null if there is none. Pure.
 */
export function firstRead(certified: readonly Window[], day: BusinessDay, zone: string): BusinessDay | null {
  const { beginMs } = dayWindow(day, zone);
  const begins = certified.filter(({ endMs }) => endMs >= beginMs).map((window) => window.beginMs);
  return begins.length === 0 ? null : dayOf(Math.max(beginMs, Math.min(...begins)), zone);
}

/** The certified windows, without the days whose entries are still to be reconciled. */
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

/** The days of `range` before the first certified instant, without those that an open request covers already. Pure. */
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

/** The days of a run: the range of each merchant, and one range around all of them to store with the run. */
export async function runRanges(
  { merchants, range }: Pick<RunRequest, 'merchants' | 'range'>,
  deps: Pick<RunDeps, 'db' | 'zone' | 'resweepDays' | 'lateSweepDays' | 'now'>,
): Promise<{ readonly ranges: ReadonlyMap<string, MerchantDays> } & DayRange> {
  const now = deps.now();
  const ranges = await merchantRanges({
    ...deps,
    merchants: merchants.map(({ merchantNo }) => merchantNo),
    asked: range,
    now,
  });
  return { ranges, ...outerRange(ranges, range, dayOf(now.getTime(), deps.zone)) };
}
