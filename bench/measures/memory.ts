/** Reports the most memory that any daybook process of this bench used. It should not grow with the size of a day. */
import type { Measure } from '../measure.ts';

const MEGABYTES_MAX = 300;

export const memory: Measure = {
  name: 'memory',
  measure: ({ peaks }) => {
    if (peaks.length === 0) return Promise.resolve([]);
    const largest = peaks.reduce((a, b) => (a.megabytes >= b.megabytes ? a : b), {
      what: 'nothing',
      megabytes: 0,
    });
    return Promise.resolve([
      {
        what: `peak resident memory, at ${largest.what}`,
        figure: largest.megabytes,
        limit: MEGABYTES_MAX,
        limitIs: 'set',
        unit: 'MB',
        ratio: largest.megabytes / MEGABYTES_MAX,
        target: { atMost: 1 },
      },
    ]);
  },
};
