/**
 * How late entries come, from what can be known of it. Pure.
 *
 * That an entry is read late says little: nights read once a day, and a backfill reads what is months old. An entry came
 * late if its instant was under certificate without it. It came between that certificate and the time it was first seen,
 * so its lateness lies between two bounds. Every figure that something rests on is taken from the upper bounds.
 */
import { addDays } from './business-day.ts';
import type { BusinessDay } from './entry.ts';

/** Entries that came late, counted together because they have the same bounds. */
export interface LateCount {
  /** Complete days from the booked time to the certificate without the entry, rounded down. */
  readonly daysMin: number;
  /** Days from the booked time to when the entry was first seen, rounded up. At least 1. */
  readonly daysMax: number;
  readonly entries: number;
}

/** A month that is compared with the platform at each month end. */
export interface SampledMonth {
  /** Its first day. */
  readonly month: BusinessDay;
  /** Those of days that were read in time, so that a late one would have been reported. */
  readonly entries: number;
  /** The day on which it held last; the month's first day where it never did. */
  readonly sampledOn: BusinessDay;
}

/** What was measured of one merchant in the period that counts. */
export interface LatenessMeasured {
  readonly late: readonly LateCount[];
  readonly watched: readonly SampledMonth[];
}

export const NOTHING_MEASURED: LatenessMeasured = { late: [], watched: [] };

/** Bounds of a lateness, in days. */
export interface DaysLate {
  readonly atLeast: number;
  readonly atMost: number;
}

/** Months that count in addition to the present one. */
const PERIOD_MONTHS = 13;
/** A month counts for a lateness of k days once it was watched to an age of k days and these. */
const WATCHED_ON_DAYS = 31;
/** The share of entries that a day is called final with, and how sure that is. */
export const FINAL_SHARE = 0.999;
export const FINAL_CONFIDENCE = 0.95;
/** What part of the late entries the lookback is to find. */
export const SWEPT_SHARE = 0.99;

/** First day of the month of a day. */
const monthOf = (day: BusinessDay): BusinessDay => `${day.slice(0, 7)}-01`;

/** First day of the month so many months later; before, where `months` is below 0. */
export function addMonths(month: BusinessDay, months: number): BusinessDay {
  const at = new Date(`${monthOf(month)}T00:00:00Z`);
  at.setUTCMonth(at.getUTCMonth() + months);
  return at.toISOString().slice(0, 10);
}

/** First month that counts today: what is older is no longer measured by. */
export const periodFrom = (today: BusinessDay): BusinessDay => addMonths(monthOf(today), -PERIOD_MONTHS);

/**
 * The lateness within which this share of the late entries came, by nearest rank, each bound by itself. Null if none came
 * late. `share` is above 0 and at most 1.
 */
export function latenessAt(late: readonly LateCount[], share: number): DaysLate | null {
  const total = late.reduce((sum, { entries }) => sum + entries, 0);
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil(share * total));
  return { atLeast: atRank(late, rank, 'daysMin'), atMost: atRank(late, rank, 'daysMax') };
}

function atRank(late: readonly LateCount[], rank: number, bound: 'daysMin' | 'daysMax'): number {
  let seen = 0;
  for (const one of late.toSorted((a, b) => a[bound] - b[bound])) {
    seen += one.entries;
    if (seen >= rank) return one[bound];
  }
  throw new Error(`there are fewer than ${rank} late entries`);
}

/**
 * How many days before yesterday a night has to read again to find an entry that comes so late. One first seen k days after
 * it was booked lies on a day that is at most k - 1 days before yesterday.
 */
export const lookbackNeeded = ({ atMost }: DaysLate): number => atMost - 1;

/**
 * The days to read again: as many as find 99 % of the late entries, but not fewer than `least` and, where that is more, not
 * more than `most`.
 */
export function lookbackDaysNeeded(
  late: readonly LateCount[],
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const lateness = latenessAt(late, SWEPT_SHARE);
  return Math.max(least, lateness === null ? 0 : Math.min(most, lookbackNeeded(lateness)));
}

/** After how many days a day has 99.9 % of its entries, with a confidence of 95 %, and what that rests on. */
export interface Finality {
  readonly afterDays: number;
  /** Entries that were watched for at least a month longer. */
  readonly watchedEntries: number;
  /** Entries that may have come later than after these days. */
  readonly laterEntries: number;
}

/**
 * When days are final; null if too little was measured to say so. It is the first lateness k for which so few of the
 * entries watched came later than k that a share of 0.1 % or more is ruled out. Without a later entry, that takes 2,995
 * entries.
 */
export function finalityOf({ late, watched }: LatenessMeasured): Finality | null {
  const candidates = [...new Set([1, ...late.map(({ daysMax }) => daysMax)])].sort((a, b) => a - b);
  for (const afterDays of candidates) {
    const laterEntries = sumOf(late.filter(({ daysMax }) => daysMax > afterDays));
    const watchedEntries = sumOf(watched.filter((one) => isSampled(one, afterDays + WATCHED_ON_DAYS)));
    if (isRuledOut({ seen: watchedEntries, later: laterEntries, share: 1 - FINAL_SHARE }))
      return { afterDays, watchedEntries, laterEntries };
  }
  return null;
}

const sumOf = (counts: readonly { readonly entries: number }[]): number =>
  counts.reduce((sum, { entries }) => sum + entries, 0);

/** Whether all days of the month were watched to this age. */
const isSampled = ({ month, sampledOn }: SampledMonth, days: number): boolean =>
  sampledOn >= addDays(addMonths(month, 1), days - 1);

/**
 * Whether a share as large as this would show so few of `seen` entries with a chance of 5 % or less (the upper bound of
 * Clopper and Pearson lies below the share).
 */
export function isRuledOut({
  seen,
  later,
  share,
}: {
  readonly seen: number;
  readonly later: number;
  readonly share: number;
}): boolean {
  if (later >= seen * share) return false;
  // The binomial chances of 0, 1, ... later ones, from their logarithms: the first is too small a number for long ledgers.
  let logChance = seen * Math.log1p(-share);
  let chance = Math.exp(logChance);
  for (let k = 1; k <= later; k += 1) {
    logChance += Math.log((seen - k + 1) / k) + Math.log(share) - Math.log1p(-share);
    chance += Math.exp(logChance);
  }
  return chance <= 1 - FINAL_CONFIDENCE;
}

/** What is reported of a merchant's lateness. */
export interface Lateness {
  /** First month that counts. */
  readonly since: BusinessDay;
  /** Entries of the months that are watched. */
  readonly watchedEntries: number;
  /** Entries that came late. */
  readonly lateEntries: number;
  /** Of the late entries; null if none came late. */
  readonly median: DaysLate | null;
  readonly p99: DaysLate | null;
  readonly worst: DaysLate | null;
  /** When days are final; null if that is not known yet. */
  readonly final: Finality | null;
}

/** What was measured up to a day, reported. */
export const latenessOf = (measured: LatenessMeasured, today: BusinessDay): Lateness => ({
  since: periodFrom(today),
  watchedEntries: sumOf(measured.watched),
  lateEntries: sumOf(measured.late),
  median: latenessAt(measured.late, 0.5),
  p99: latenessAt(measured.late, 0.99),
  worst: latenessAt(measured.late, 1),
  final: finalityOf(measured),
});
