/** How it is told that the platform's clock and this machine's differ. Pure. */
import type { SyncReport } from '../sync/sync.ts';

/** A smaller difference is no news where nothing was held back because of it. */
const CLOCK_TOLD_MS_MIN = 60_000;

/** A difference beyond any settle delay books entries near midnight on another day: told to a person once, as it appears. */
const CLOCK_FOR_PERSON_MS_MIN = 300_000;

export type ClocksApart = Pick<SyncReport, 'platformBehindMs' | 'platformAheadMs'>;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** `90 s`, `10 min`, `8 h`, `3 days`: as coarse as a person wants to know it. */
function lengthText(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.ceil(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / DAY_MS)} days`;
}

/** `the platform's clock is 10 min behind this machine's`. Where its servers differ, the one furthest behind counts. */
export const clocksApartText = ({ platformBehindMs, platformAheadMs }: ClocksApart): string =>
  platformBehindMs > 0
    ? `the platform's clock is ${lengthText(platformBehindMs)} behind this machine's`
    : `the platform's clock is ${lengthText(platformAheadMs)} ahead of this machine's`;

/** The same where it is worth a line; null where the clocks are in step. */
export const clockNews = (apart: ClocksApart): string | null =>
  Math.max(apart.platformBehindMs, apart.platformAheadMs) < CLOCK_TOLD_MS_MIN ? null : clocksApartText(apart);

/** Whether it is so much that a person has to know. */
export const isForPerson = ({ platformBehindMs, platformAheadMs }: ClocksApart): boolean =>
  Math.max(platformBehindMs, platformAheadMs) >= CLOCK_FOR_PERSON_MS_MIN;

/** What to do about a platform that is behind. */
export const SET_THE_CLOCK =
  'set the clock that is wrong: this machine’s by NTP, or ask the platform to set its own';
