/** Reports the most memory that one process uses for ten thousand merchants: their first day, with statements to a folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { count, withDatabase, withSandbox, type Measure } from '../measure.ts';
import { addMerchants, expectFigures, manyMerchants, nightEnv } from '../merchants.ts';
import { memoryPeak } from './memory.ts';

const ENTRIES_PER_DAY = 20;

export const merchantsMemory: Measure = {
  name: 'merchants-memory',
  isLong: true,
  measure: async (bench) => {
    const many = manyMerchants({
      merchants: bench.short ? 200 : 10_000,
      days: 1,
      entriesPerDay: ENTRIES_PER_DAY,
    });
    const { range, merchants, scenario } = many;
    const what = `a day of ${count(merchants.length)} merchants`;
    const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
    try {
      return await withSandbox(bench, scenario, ({ url }) =>
        withDatabase(bench, async (database) => {
          const keys = await addMerchants(database, many);
          const statementsUrl = pathToFileURL(folder).href;
          const env = nightEnv({ url, database, statementsUrl, keys }, range.to);
          const run = await bench.daybook({ what, command: 'run', range, env });
          const expected = { inserted: merchants.length * ENTRIES_PER_DAY, published: merchants.length };
          expectFigures(what, run, expected);
          return [memoryPeak(`${what}, one process`, run.peakMegabytes)];
        }),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
