/** Per merchant: the last good run, up to which day its ledger is proven, and what is missing. */
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { listBreaks } from '../store/breaks.ts';
import { listMerchants } from '../store/merchants.ts';
import { latestRuns } from '../store/runs.ts';
import type { DB } from '../store/schema.ts';
import { certifiedWindows, uncertifiedWindows } from '../store/windows.ts';
import { coverageOf } from './coverage.ts';
import { isGoodEnd } from './exit-codes.ts';
import { ALL_TIME } from './merchant-ranges.ts';

/** Runs looked through for a merchant's last good one. */
const RUNS_LOOKED_AT_MAX = 500;

export interface MerchantStatus {
  readonly merchantNo: string;
  readonly lastGoodRunAt: Date | null;
  /** Whole days up to this one are under certificate. */
  readonly provenThrough: BusinessDay | null;
  readonly missing: readonly (Window & { readonly why: string })[];
  readonly openBreaks: number;
  readonly tooOld: boolean;
}

export async function statusOf(
  db: Kysely<DB>,
  merchants: readonly string[],
  options: { readonly zone: string; readonly now: Date; readonly maxAgeMs: number | null },
): Promise<MerchantStatus[]> {
  const { zone, now, maxAgeMs } = options;
  const good = (await latestRuns(db, { limit: RUNS_LOOKED_AT_MAX })).filter(
    ({ exitCode, figures }) => isGoodEnd(exitCode) && Array.isArray(figures['merchants']),
  );
  // One that is known only has no good run yet, and is given as long to join.
  const knownAt = new Map(
    (await listMerchants(db))
      .filter(({ joinedAt }) => joinedAt === null)
      .map(({ merchantNo, addedAt }) => [merchantNo, addedAt]),
  );
  const yesterday = addDays(dayOf(now.getTime(), zone), -1);
  return Promise.all(
    merchants.map(async (merchantNo) => {
      const certified = await certifiedWindows(db, merchantNo, ALL_TIME);
      const { provenThroughMs, missing } = coverageOf(certified, dayWindow(yesterday, zone).endMs);
      const uncertified = await uncertifiedWindows(db, merchantNo, ALL_TIME);
      const run = good.find(({ figures }) => (figures['merchants'] as string[]).includes(merchantNo));
      const lastGoodRunAt = run?.finishedAt ?? null;
      const since = lastGoodRunAt ?? knownAt.get(merchantNo) ?? null;
      return {
        merchantNo,
        lastGoodRunAt,
        provenThrough: provenThroughMs === null ? null : addDays(dayOf(provenThroughMs + 1, zone), -1),
        missing: [
          ...uncertified.map(({ beginMs, endMs, problem }) => ({ beginMs, endMs, why: problem })),
          ...missing
            .filter((span) => !uncertified.some((u) => u.beginMs <= span.beginMs && u.endMs >= span.endMs))
            .map((span) => ({ ...span, why: 'not read yet' })),
        ],
        openBreaks: (await listBreaks(db, { merchants: [merchantNo] })).length,
        tooOld: maxAgeMs !== null && (since === null || now.getTime() - since.getTime() > maxAgeMs),
      };
    }),
  );
}
