/** The days each merchant's ledger is read for: those asked for, or its nightly default from what is proven. */
import type { Kysely } from 'kysely';
import { dayOf } from '../ledger/business-day.ts';
import { certifiedWindows } from '../store/windows.ts';
import type { DB } from '../store/schema.ts';
import { coverageOf } from './coverage.ts';
import { nightlyRange, outerRange, type DayRange } from './range.ts';
import { requestedStanding, takenUpDays } from './requested.ts';
import type { RunDeps, RunRequest, RunWork } from './work.ts';

/** The days one merchant's ledger is read for. */
export interface MerchantDays extends DayRange {
  /** Days besides, of ranges asked for earlier and not finished. */
  readonly takenUp: readonly DayRange[];
}

/** All time, for questions about everything certified. */
export const ALL_TIME = { beginMs: 0, endMs: 9_999_999_999_999 } as const;

/** Days per merchant number. With `asked`, those and no others; without, what is left of earlier requests as well. */
export async function merchantRanges(options: {
  readonly db: Kysely<DB>;
  readonly merchants: readonly string[];
  readonly asked: DayRange | null;
  readonly zone: string;
  readonly resweepDays: number;
  readonly now: Date;
}): Promise<ReadonlyMap<string, MerchantDays>> {
  const { db, merchants, asked, zone, resweepDays, now } = options;
  const today = dayOf(now.getTime(), zone);
  if (asked !== null) return new Map(merchants.map((merchantNo) => [merchantNo, { ...asked, takenUp: [] }]));
  const requested = await requestedStanding(db, merchants, { zone, now });
  const ranges = await Promise.all(
    merchants.map(async (merchantNo): Promise<[string, MerchantDays]> => {
      const { provenThroughMs } = coverageOf(await certifiedWindows(db, merchantNo, ALL_TIME), now.getTime());
      // A day counts as proven once its last instant is: the day of the first unproven instant is read again.
      const firstUnread = provenThroughMs === null ? null : dayOf(provenThroughMs + 1, zone);
      const range = nightlyRange(today, resweepDays, firstUnread);
      const own = requested.filter((one) => one.merchantNo === merchantNo);
      return [merchantNo, { ...range, takenUp: takenUpDays(own, range) }];
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
