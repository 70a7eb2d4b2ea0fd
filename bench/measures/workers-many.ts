/**
 * Many merchants, four workers: the first night of 100,000, each with a day of two entries in one currency. It says whether
 * merchants get more expensive where there are many, what the workers take of memory and of the server's connections, and
 * it fails where anything is left waiting or leased. Its limit is a night of a tenth as many in the same run.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installQueue } from '../../src/plugins/queue/queue.ts';
import { count, withDatabase, withSandbox, type Bench, type Measure } from '../measure.ts';
import { addMerchants, AT_ONCE, manyMerchants, nightEnv } from '../merchants.ts';
import { nightOfWorkers, type NightOfWorkers } from '../worker-nights.ts';
import { memoryPeak } from './memory.ts';

const WORKERS = 4;
const MERCHANTS = 100_000;
const ENTRIES_PER_DAY = 2;
/** `DATABASE_POOL_SIZE`. */
const CONNECTIONS_EACH = 7;

export const workersMany: Measure = {
  name: 'workers-many',
  isLong: true,
  measure: async (bench) => {
    const merchants = bench.short ? 40 : (bench.merchants ?? MERCHANTS);
    const few = Math.ceil(merchants / 10);
    const rateOf = (number: number, { ms }: NightOfWorkers): number => number / (ms / 1_000);
    const limit = rateOf(few, await firstNight(bench, few));
    const night = await firstNight(bench, merchants);
    const figure = rateOf(merchants, night);
    const what = `the first night of ${count(merchants)} merchants by ${WORKERS} workers`;
    return [
      {
        what,
        ...{ figure, limit, limitIs: `${count(few)} merchants`, unit: 'merchants/s', ratio: figure / limit },
        target: { atLeast: 0.8 },
      },
      memoryPeak(`${what}, the largest of them`, night.peakMegabytes),
      {
        what: `connections to the database, in ${what}`,
        ...{
          figure: night.connections,
          limit: WORKERS * CONNECTIONS_EACH,
          limitIs: 'docs/operations.md',
          unit: '',
        },
        ratio: night.connections / (WORKERS * CONNECTIONS_EACH),
        target: { atMost: 1 },
      },
    ];
  },
};

async function firstNight(bench: Bench, merchants: number): Promise<NightOfWorkers> {
  const many = manyMerchants({ merchants, days: 1, entriesPerDay: ENTRIES_PER_DAY });
  const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
  try {
    return await withSandbox(bench, many.scenario, ({ url }) =>
      withDatabase(bench, async (database) => {
        const keys = await addMerchants(database, many);
        await installQueue(database.db);
        const more = {
          DAYBOOK_WORKERS: 'queue',
          // The merchants' ledgers begin on the one day.
          DAYBOOK_RESWEEP_DAYS: '0',
          DAYBOOK_MERCHANTS_AT_ONCE: String(AT_ONCE / WORKERS),
        };
        const env = nightEnv(
          { url, database, statementsUrl: pathToFileURL(folder).href, keys, more },
          many.range.to,
        );
        return nightOfWorkers(database, env, { workers: WORKERS, merchants });
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
