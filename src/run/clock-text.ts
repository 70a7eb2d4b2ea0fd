/**
 * Puts into words how far the platform's clock differs from this machine's, and decides whether a person has to know.
 * Pure.
 */
import type { SyncReport } from '../sync/sync-report.ts';

/** A smaller difference is not reported, unless days had to wait because of it. */
const CLOCK_REPORTED_MS_MIN = 60_000;

/**
 * A larger difference than any settle delay puts entries near midnight on the wrong day. A person is notified when it
 * appears.
 */
const CLOCK_FOR_PERSON_MS_MIN = 300_000;

export type ClocksApart = Pick<SyncReport, 'platformBehindMs' | 'platformAheadMs'>;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** `90 s`, `10 min`, `8 h`, `3 days`: rounded as a person would say it. */
function lengthText(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.ceil(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / DAY_MS)} days`;
}

/** `the platform's clock is 10 min behind this machine's`. If its servers differ, the one furthest behind counts. */
export const clocksApartText = ({ platformBehindMs, platformAheadMs }: ClocksApart): string =>
  platformBehindMs > 0
    ? `the platform's clock is ${lengthText(platformBehindMs)} behind this machine's`
    : `the platform's clock is ${lengthText(platformAheadMs)} ahead of this machine's`;

/** The same if it is worth a line; null if the clocks differ by little. */
export const clockNews = (apart: ClocksApart): string | null =>
  Math.max(apart.platformBehindMs, apart.platformAheadMs) < CLOCK_REPORTED_MS_MIN
    ? null
    : clocksApartText(apart);

/** Whether the difference is so large that a person has to know. */
export const isForPerson = ({ platformBehindMs, platformAheadMs }: ClocksApart): boolean =>
  Math.max(platformBehindMs, platformAheadMs) >= CLOCK_FOR_PERSON_MS_MIN;

/** What to do about clocks that differ. */
export const SET_THE_CLOCK =
  'set the clock that is wrong: this machine’s by NTP, or ask the platform to set its own';
