/**
 * Times the first nights of many merchants against a platform that allows so many calls a second, on a new database that has no
 * statistics yet. The limit is the time that the night's calls take at that rate. The last night is after an ANALYZE.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { addDays } from '../../src/ledger/business-day.ts';
import { count, withDatabase, withSandbox, type Bench, type Measure, type Measured } from '../measure.ts';
import { addMerchants, expectFigures, manyMerchants, nightEnv, RESWEEP_DAYS } from '../merchants.ts';
import type { BenchDatabase } from '../server.ts';

const CALL_MS = 20;
const CALLS_PER_SECOND = 100;
const ENTRIES_PER_DAY = 20;
const MERCHANTS = 2_000;

/** The first night reads the days of the lookback as well. */
const NIGHTS = [
  { name: 'first night', newDays: RESWEEP_DAYS + 1 },
  { name: 'second night', newDays: 1 },
  { name: 'third night', newDays: 1 },
  { name: 'night after ANALYZE', newDays: 1 },
] as const;
const NIGHTS_SHORT = 2;

export const merchantsRate: Measure = {
  name: 'merchants-rate',
  isLong: true,
  measure: async (bench) => {
    const many = manyMerchants({
      merchants: bench.short ? 60 : (bench.merchants ?? MERCHANTS),
      days: RESWEEP_DAYS + NIGHTS.length,
      entriesPerDay: ENTRIES_PER_DAY,
      latencyMs: CALL_MS,
    });
    const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
    try {
      return await withSandbox(bench, many.scenario, ({ url }) =>
        withDatabase(bench, async (database) => {
          const more = { PLATFORM_RATE_LIMIT: String(CALLS_PER_SECOND) };
          const statementsUrl = pathToFileURL(folder).href;
          const places = { url, statementsUrl, database, more, keys: await addMerchants(database, many) };
          const measured: Measured[] = [];
          for (const [at, night] of NIGHTS.slice(0, bench.short ? NIGHTS_SHORT : undefined).entries()) {
            if (night.name === 'night after ANALYZE') await analyze(database);
            const env = nightEnv(places, addDays(many.range.from, RESWEEP_DAYS + at));
            measured.push(await oneNight(bench, { ...night, env, merchants: many.merchants.length }));
          }
          return measured;
        }),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Night {
  readonly name: string;
  readonly newDays: number;
  readonly merchants: number;
  readonly env: Readonly<Record<string, string>>;
}

const analyze = ({ db }: BenchDatabase) => sql`ANALYZE`.execute(db);

async function oneNight(bench: Bench, { name, newDays, merchants, env }: Night): Promise<Measured> {
  const what = `the ${name} of ${count(merchants)} merchants, ${CALL_MS} ms a call, ${CALLS_PER_SECOND} calls a second`;
  const run = await bench.daybook({ what, command: 'run', range: null, env });
  expectFigures(what, run, { published: merchants * newDays });
  const limit = (run.figures.requests / CALLS_PER_SECOND) * 1_000;
  const ratio = run.elapsedMs / limit;
  return {
    ...{ what, figure: run.elapsedMs, limit, unit: 'ms', ratio, target: { atMost: 1.05 } },
    limitIs: `${count(run.figures.requests)} calls / ${CALLS_PER_SECOND} a second`,
  };
}
