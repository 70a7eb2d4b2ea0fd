/** Works out how far a merchant's ledger is proven, from stored certificates, breaks and days without figures. */
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { changedDaysOfEach } from '../store/account-days.ts';
import { certifiedOfEach } from '../store/certificates.ts';
import { unprovenSpans } from '../store/breaks/breaks.ts';
import { ALL_TIME } from '../ledger/window.ts';
import type { DB } from '../store/engine/schema.ts';
import { coverageOf, provenStretch } from './coverage.ts';
import { askInParts } from '../store/account-filter.ts';
import type { OpenRange } from './requested.ts';

export interface Proven {
  readonly merchantNo: string;
  /** First and last of the proven days without a gap; null if no day is proven. */
  readonly provenFrom: BusinessDay | null;
  readonly provenThrough: BusinessDay | null;
  /** Spans up to yesterday that a nightly run should have read. */
  readonly unread: readonly Window[];
}

/**
 * What is proven of each merchant, in their order. `requested` are open ranges of these merchants: what is missing of
 * them ends the proof, however long the gap is. A few statements for some hundred merchants.
 */
export function provenOf(
  db: Kysely<DB>,
  merchants: readonly string[],
  requested: readonly Pick<OpenRange, 'merchantNo' | 'currency' | 'missing'>[],
  clock: { readonly zone: string; readonly now: Date },
): Promise<Proven[]> {
  const ofAllCurrencies = requested.filter(({ currency }) => currency === null);
  const requestedOf = Map.groupBy(ofAllCurrencies, ({ merchantNo }) => merchantNo);
  const proofOf = createProof(clock);
  return askInParts(merchants, async (some) => {
    const certifiedOf = await certifiedOfEach(db, some, ALL_TIME);
    const unreconciledOf = await changedDaysOfEach(db, some);
    const openOf = await unprovenSpans(db, some);
    return some.map((merchantNo, nth) => ({
      merchantNo,
      ...proofOf(certifiedOf[nth]!, unreconciledOf.get(merchantNo) ?? [], [
        ...(requestedOf.get(merchantNo) ?? []).flatMap(({ missing }) => missing),
        ...(openOf.get(merchantNo) ?? []).map(({ beginMs, endMs }) => ({ beginMs, endMs })),
      ]),
    }));
  });
}

/**
 * What is proven by `certified` windows, less the `unproven` days (without figures) and each day of `open` spans: where breaks
 * or unreadable entries lie, and what is missing of ranges asked for by date. Equal questions are worked out once, as most merchants are read at the same times.
 */
export function createProof({
  zone,
  now,
}: {
  readonly zone: string;
  readonly now: Date;
}): (
  certified: readonly Window[],
  unproven: readonly BusinessDay[],
  open: readonly Window[],
) => Omit<Proven, 'merchantNo'> {
  const readBeforeMs = dayWindow(addDays(dayOf(now.getTime(), zone), -1), zone).endMs;
  const stretchOf = eachOnce(provenStretch);
  return (certified, unproven, open) => {
    const { missing: unread } = coverageOf(certified, readBeforeMs);
    const stretch = stretchOf(certified, [...unread, ...open], unproven, zone);
    return { provenFrom: stretch?.from ?? null, provenThrough: stretch?.to ?? null, unread };
  };
}

/** The same function, which works out equal questions once: most merchants are read at the same times. */
function eachOnce<Asked extends readonly unknown[], Answer>(
  answer: (...asked: Asked) => Answer,
): (...asked: Asked) => Answer {
  const known = new Map<string, Answer>();
  return (...asked) => {
    const key = JSON.stringify(asked);
    const held = known.get(key);
    if (held !== undefined) return held;
    const made = answer(...asked);
    known.set(key, made);
    return made;
  };
}
