/** Works out how far a merchant's ledger is proven, from stored certificates, breaks and days without figures. */
import type { Kysely } from 'kysely';
import { accountsOf } from '../ledger/account-filter.ts';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { changedDays } from '../store/changed-days.ts';
import { brokenDays } from '../store/breaks/open-breaks.ts';
import { ALL_TIME } from '../ledger/window.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedWindows } from '../store/windows.ts';
import { coverageOf, provenStretch } from './coverage.ts';
import type { OpenRange } from './requested.ts';

export interface Proven {
  readonly merchantNo: string;
  /** First and last of the proven days without a gap; null if no day is proven. */
  readonly provenFrom: BusinessDay | null;
  readonly provenThrough: BusinessDay | null;
  /** Spans up to yesterday that a nightly run should have read. */
  readonly unread: readonly Window[];
}

/** `requested` are the merchant's open ranges. What is missing of them ends the proof, however long the gap is. */
export async function provenOf(
  db: Kysely<DB>,
  merchantNo: string,
  requested: readonly Pick<OpenRange, 'currency' | 'missing'>[],
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<Proven> {
  const yesterday = addDays(dayOf(now.getTime(), zone), -1);
  const certified = await certifiedWindows(db, merchantNo, ALL_TIME);
  const { missing: unread } = coverageOf(certified, dayWindow(yesterday, zone).endMs);
  const unreconciled = (await changedDays(db, accountsOf(merchantNo))).flatMap(({ days }) => days);
  const stretch = provenStretch(
    certified,
    [...unread, ...requested.filter(({ currency }) => currency === null).flatMap(({ missing }) => missing)],
    [...(await brokenDays(db, merchantNo, zone)), ...unreconciled],
    zone,
  );
  return { merchantNo, provenFrom: stretch?.from ?? null, provenThrough: stretch?.to ?? null, unread };
}
