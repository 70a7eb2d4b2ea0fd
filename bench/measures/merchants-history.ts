/**
 * Times a night of many merchants with two years stored and with nine days stored, with all checks of older days. The
 * cost should depend only on the new entries. Days of the past have two entries each; those that a night reads have
 * twenty.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { count, type Bench, type Measure } from '../measure.ts';
import { lastNights, manyMerchants, RESWEEP_DAYS } from '../merchants.ts';
import { PAST_ENTRIES_A_DAY, seedPast } from '../past.ts';
import { startPastPlatform } from '../processes.ts';

const ENTRIES_PER_DAY = 20;
const FEW_DAYS = 9;

export const merchantsHistory: Measure = {
  name: 'merchants-history',
  isLong: true,
  measure: async (bench) => {
    const [merchants, days] = bench.short ? [10, 60] : [1_000, 730];
    const limit = await nightMs(bench, merchants, FEW_DAYS);
    const figure = await nightMs(bench, merchants, days);
    return [
      {
        what: `a night of ${count(merchants)} merchants with ${days} days stored, the old ones of ${PAST_ENTRIES_A_DAY} entries`,
        figure,
        limit,
        limitIs: `the same with ${FEW_DAYS} days stored`,
        unit: 'ms',
        ratio: figure / limit,
        target: { atMost: 1.2 },
      },
    ];
  },
};

/** How many ms a night takes with so many days stored before it. */
async function nightMs(bench: Bench, merchants: number, storedDays: number): Promise<number> {
  const many = manyMerchants({ merchants, days: RESWEEP_DAYS + 1, entriesPerDay: ENTRIES_PER_DAY });
  const past = { scenario: many.scenario, days: storedDays - RESWEEP_DAYS };
  const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
  try {
    const platform = await startPastPlatform(past);
    try {
      const { elapsedMs } = await lastNights(bench, many, {
        what: `a night of ${count(merchants)} merchants with ${storedDays} days stored`,
        url: platform.url,
        statementsUrl: pathToFileURL(folder).href,
        ...{ nights: 1, entriesPerDay: ENTRIES_PER_DAY },
        seed: ({ db }) => seedPast(db, past),
      });
      return elapsedMs;
    } finally {
      await platform.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
