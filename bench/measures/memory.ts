/** Reports the most memory that any daybook process of this bench used. It should not grow with the size of a day. */
import type { Measure, Measured } from '../measure.ts';

const MEGABYTES_MAX = 300;

/** The row for the peak memory of a process. */
export const memoryPeak = (what: string, megabytes: number): Measured => ({
  what: `peak resident memory, at ${what}`,
  figure: megabytes,
  limit: MEGABYTES_MAX,
  limitIs: 'set',
  unit: 'MB',
  ratio: megabytes / MEGABYTES_MAX,
  target: { atMost: 1 },
});

export const memory: Measure = {
  name: 'memory',
  measure: ({ peaks }) => {
    if (peaks.length === 0) return Promise.resolve([]);
    const largest = peaks.reduce((a, b) => (a.megabytes >= b.megabytes ? a : b));
    return Promise.resolve([memoryPeak(largest.what, largest.megabytes)]);
  },
};
