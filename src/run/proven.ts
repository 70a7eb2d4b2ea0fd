/** Works out how far a merchant's ledger is proven, from stored certificates, breaks and days without figures. */
import type { Kysely } from 'kysely';
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window, Account } from '../ledger/entry.ts';
import { changedDaysOfEach } from '../store/account-days.ts';
import { accountBalances, type AccountBalance } from '../store/account-balances.ts';
import { certifiedOfEach } from '../store/certificates.ts';
import { unprovenSpans } from '../store/breaks/breaks.ts';
import { ALL_TIME, overlaps } from '../ledger/window.ts';
import type { DB } from '../store/engine/schema.ts';
import {
  coverageOf,
  daysWithoutOpening,
  openRanges,
  provenStretch,
  type Clock,
  type OpenRange,
} from './coverage.ts';
import type { DayRange } from './range.ts';
import { askInParts } from '../store/account-filter.ts';
import { daysOutOfDate } from '../reconcile/up-to-date.ts';
import { lawFacts, type LawFacts } from '../store/chain-facts.ts';

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
  requested: readonly Pick<OpenRange, 'merchantNo' | 'missing'>[],
  clock: Clock,
): Promise<Proven[]> {
  const requestedOf = Map.groupBy(requested, ({ merchantNo }) => merchantNo);
  const proofOf = createProof(clock);
  return askInParts(merchants, async (some) => {
    const certifiedOf = await certifiedOfEach(db, some, ALL_TIME);
    const unreconciledOf = await changedDaysOfEach(db, some);
    const openOf = await unprovenSpans(db, some, clock.zone);
    return some.map((merchantNo, nth) => ({
      merchantNo,
      ...proofOf(certifiedOf[nth]!, unreconciledOf.get(merchantNo) ?? [], [
        ...(requestedOf.get(merchantNo) ?? []).flatMap(({ missing }) => missing),
        ...(openOf.get(merchantNo) ?? []).map(({ beginMs, endMs }) => ({ beginMs, endMs })),
      ]),
    }));
  });
}

/** An account's balance, and the last of its proven days without a gap; null if no day is proven. */
export interface ProvenBalance extends AccountBalance {
  readonly provenThrough: BusinessDay | null;
}

/** What each account holds and up to which day it is proven, in their order: two statements, and one more where ranges of days were asked for. */
export async function provenBalances(
  db: Kysely<DB>,
  accounts: readonly Account[],
  clock: Clock,
): Promise<ProvenBalance[]> {
  const merchants = [...new Set(accounts.map(({ merchantNo }) => merchantNo))];
  const [balances, requested] = await Promise.all([
    accountBalances(db, accounts),
    openRanges(db, merchants, clock),
  ]);
  const proofOf = createProof(clock);
  return balances.map((balance) => {
    const { merchantNo } = balance.account;
    const missing = requested
      .filter((range) => range.merchantNo === merchantNo)
      .flatMap((range) => range.missing);
    const { provenThrough } = proofOf(balance.certified, balance.changed, [...missing, ...balance.open]);
    return { ...balance, provenThrough };
  });
}

/**
 * What is proven by `certified` windows, less the `unproven` days (without figures) and each day of `open` spans: where breaks
 * or unreadable entries lie, and what is missing of ranges asked for by date. Equal questions are worked out once, as most merchants are read at the same times.
 */
export function createProof({ zone, now }: Clock) {
  const readBeforeMs = dayWindow(addDays(dayOf(now.getTime(), zone), -1), zone).endMs;
  const stretchOf = eachOnce(provenStretch);
  return (
    certified: readonly Window[],
    unproven: readonly BusinessDay[],
    open: readonly Window[],
  ): Omit<Proven, 'merchantNo'> => {
    const { missing: unread } = coverageOf(certified, readBeforeMs);
    const stretch = stretchOf(certified, [...unread, ...open], unproven, zone);
    return { provenFrom: stretch?.from ?? null, provenThrough: stretch?.to ?? null, unread };
  };
}

/** The same function, which works out equal questions once: most merchants are read at the same times. */
function eachOnce<Asked extends readonly unknown[], Answer>(answer: (...asked: Asked) => Answer) {
  const known = new Map<string, Answer>();
  return (...asked: Asked): Answer => {
    const key = JSON.stringify(asked);
    if (!known.has(key)) known.set(key, answer(...asked));
    return known.get(key)!;
  };
}

/** Days of an account that are not in all three sets. */
export interface Discrepancy extends Account {
  /**
   * `no-figures`: proven, and without up-to-date figures. `no-statement`: proven, with figures, and without a statement of them and their entries.
   * `not-read`: with a statement that was adopted, of days that this database has not read. `in-doubt`: published, and not proven
   * any more, as a later reading failed or entries are absent. `no-opening`: proven to have no entries, and withheld, as the balance that
   * they open on is not known: the days `unread` before them are not proven. `unreadable`: withheld, as entries of them cannot be read.
   */
  readonly what: 'no-figures' | 'no-statement' | 'not-read' | 'in-doubt' | 'no-opening' | 'unreadable';
  /** In order; at least one. */
  readonly days: readonly BusinessDay[];
  /** Of `no-opening` alone. */
  readonly unread?: DayRange;
}

/** Of these merchants, by merchant and currency; nothing where all three sets of days are the same. */
export const discrepanciesOf = (
  db: Kysely<DB>,
  merchants: readonly string[],
  zone: string,
): Promise<Discrepancy[]> =>
  askInParts(merchants, async (some) => {
    const found = [];
    for (const facts of await lawFacts(db, some, zone)) found.push(...discrepanciesIn(facts, zone));
    return found;
  });

function discrepanciesIn(facts: LawFacts, zone: string): Discrepancy[] {
  const { merchantNo, currency, certified, stated, changed, unpublished, doubted } = facts;
  const isProven = certified.isComplete;
  const isWithheld = (day: BusinessDay): boolean =>
    facts.complete.includes(day) && facts.unreadable.some((span) => overlaps(span, dayWindow(day, zone)));
  const outOfDate = daysOutOfDate(facts, zone);
  const differing: Omit<Discrepancy, keyof Account>[] = [
    { what: 'no-figures', days: outOfDate.filter(isProven) },
    { what: 'no-statement', days: unpublished.filter((day) => isProven(day) && !isWithheld(day)) },
    { what: 'unreadable', days: unpublished.filter((day) => isProven(day) && isWithheld(day)) },
    ...daysWithoutOpening({ ...facts, certified: certified.windows }, outOfDate, zone).map((one) => ({
      what: 'no-opening' as const,
      ...one,
    })),
    { what: 'not-read', days: stated.filter((day) => !isProven(day) && !changed.includes(day)) },
    { what: 'in-doubt', days: doubted.filter((day) => !isProven(day)) },
  ];
  return differing.filter(({ days }) => days.length > 0).map((one) => ({ merchantNo, currency, ...one }));
}
