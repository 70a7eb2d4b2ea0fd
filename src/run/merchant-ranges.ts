/** The days each merchant's ledger is read for: those asked for, or its nightly default from what is proven. */
import type { Kysely } from 'kysely';
import { dayOf } from '../ledger/business-day.ts';
import { certifiedWindows } from '../store/windows.ts';
import type { DB } from '../store/schema.ts';
import { coverageOf } from './coverage.ts';
import { nightlyRange, outerRange, type DayRange } from './range.ts';
import type { RunDeps, RunRequest, RunWork } from './work.ts';

/** All time, for questions about everything certified. */
export const ALL_TIME = { beginMs: 0, endMs: 9_999_999_999_999 } as const;

/** Range per merchant number. */
export async function merchantRanges(options: {
  readonly db: Kysely<DB>;
  readonly merchants: readonly string[];
  readonly asked: DayRange | null;
  readonly zone: string;
  readonly resweepDays: number;
  readonly now: Date;
}): Promise<ReadonlyMap<string, DayRange>> {
  const { db, merchants, asked, zone, resweepDays, now } = options;
  const today = dayOf(now.getTime(), zone);
  const ranges = await Promise.all(
    merchants.map(async (merchantNo): Promise<[string, DayRange]> => {
      if (asked !== null) return [merchantNo, asked];
      const { provenThroughMs } = coverageOf(await certifiedWindows(db, merchantNo, ALL_TIME), now.getTime());
      // A day counts as proven once its last instant is: the day of the first unproven instant is read again.
      const firstUnread = provenThroughMs === null ? null : dayOf(provenThroughMs + 1, zone);
      return [merchantNo, nightlyRange(today, resweepDays, firstUnread)];
    }),
  );
  return new Map(ranges);
}

/** What a run covers: the range of each merchant asked for, and the outer one for the record. */
export async function runRanges(
  { merchants, range }: Pick<RunRequest, 'merchants' | 'range'>,
  deps: Pick<RunDeps, 'db' | 'zone' | 'resweepDays' | 'now'>,
): Promise<Pick<RunWork, 'ranges' | 'from' | 'to'>> {
  const now = deps.now();
  const ranges = await merchantRanges({
    ...deps,
    merchants: merchants.map(({ merchantNo }) => merchantNo),
    asked: range,
    now,
  });
  return { ranges, ...outerRange(ranges, range, dayOf(now.getTime(), deps.zone)) };
}
