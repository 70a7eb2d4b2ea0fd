/**
 * Compares a night that four workers do with one that a single worker does, each worker a process of its own. Every
 * worker has one merchant at a time, so that it mostly waits for the platform: the machine's cores are shared by all
 * workers, PostgreSQL and the sandbox, and this is about what workers have to wait for from each other.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays } from '../../src/ledger/business-day.ts';
import { installQueue } from '../../src/plugins/queue/queue.ts';
import {
  count,
  ofRounds,
  roundsOf,
  withDatabase,
  withSandbox,
  type Bench,
  type Measure,
} from '../measure.ts';
import { addMerchants, manyMerchants, nightEnv, RESWEEP_DAYS, type NightPlaces } from '../merchants.ts';
import { nightOfWorkers } from '../worker-nights.ts';

const WORKERS = 4;
const LATENCY_MS = 50;
const ENTRIES_PER_DAY = 20;

export const workers: Measure = {
  name: 'workers',
  isLong: true,
  measure: async (bench) => {
    const rounds = roundsOf(bench);
    const many = manyMerchants({
      merchants: bench.short ? 8 : 150,
      days: RESWEEP_DAYS + 1 + 2 * rounds,
      entriesPerDay: ENTRIES_PER_DAY,
      latencyMs: LATENCY_MS,
    });
    const number = many.merchants.length;
    const rates = { one: [] as number[], all: [] as number[] };
    const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
    try {
      await withSandbox(bench, many.scenario, ({ url }) =>
        withDatabase(bench, async (database) => {
          const keys = await addMerchants(database, many);
          const statementsUrl = pathToFileURL(folder).href;
          const more = { DAYBOOK_WORKERS: 'queue', DAYBOOK_MERCHANTS_AT_ONCE: '1' };
          const places = { url, database, statementsUrl, keys, more };
          const before = addDays(many.range.to, -2 * rounds);
          await daysBefore(bench, places, { from: many.range.from, to: before });
          await installQueue(database.db);
          for (let night = 1; night <= 2 * rounds; night += 1) {
            const [of, found] = night % 2 === 1 ? [1, rates.one] : [WORKERS, rates.all];
            await database.settle();
            const env = nightEnv(places, addDays(before, night));
            const { ms } = await nightOfWorkers(database, env, { workers: of, merchants: number });
            found.push(number / (ms / 1_000));
          }
        }),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    return [
      {
        what: `a night of ${count(number)} merchants by ${WORKERS} workers, one merchant each at a time, ${LATENCY_MS} ms a call`,
        ...ofRounds(rates.all, rates.one),
        limitIs: 'the same by one worker',
        unit: 'merchants/s',
        target: { atLeast: 3.2 },
      },
    ];
  },
};

async function daysBefore(
  bench: Bench,
  places: NightPlaces,
  range: { readonly from: string; readonly to: string },
): Promise<void> {
  const env = nightEnv({ ...places, more: {} }, range.to);
  await bench.daybook({ what: 'the days before a night of workers', command: 'run', range, env });
}
