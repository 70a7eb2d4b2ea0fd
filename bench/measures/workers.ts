/**
 * Compares a night that four workers do with one that a single worker does, each worker a process of its own. Every
 * worker has one merchant at a time, so that it mostly waits for the platform: the machine's cores are shared by all
 * workers, PostgreSQL and the sandbox, and this is about what workers have to wait for from each other.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { addDays } from '../../src/ledger/business-day.ts';
import { installQueue } from '../../src/options/queue/queue.ts';
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
import { startCommand } from '../processes.ts';
import type { BenchDatabase } from '../server.ts';

const WORKERS = 4;
const LATENCY_MS = 50;
const ENTRIES_PER_DAY = 20;
const LOOK_EVERY_MS = 20;

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
            const ms = await nightMs(database, nightEnv(places, addDays(before, night)), of, number);
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

/** How many ms it takes from the night on the queue to its end, with so many workers that are ready. */
async function nightMs(
  { db }: BenchDatabase,
  env: Readonly<Record<string, string>>,
  of: number,
  merchants: number,
): Promise<number> {
  const started = Array.from({ length: of }, () => startCommand(['worker'], env));
  const schedule = startCommand(['schedule'], env);
  try {
    await Promise.all(started.map((worker) => worker.tells('worker began')));
    await schedule.tells('job is on the queue');
    const startedMs = performance.now();
    await schedule.stop();
    const { id } = await db
      .selectFrom('run')
      .select('id')
      .where('command', '=', 'nightly')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow();
    for (;;) {
      const end = await db
        .selectFrom('run')
        .select(['exit_code', 'figures'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      if (end.exit_code !== null) {
        const elapsedMs = performance.now() - startedMs;
        const { merchantsDone } = end.figures as { merchantsDone?: readonly string[] };
        if (end.exit_code === 0 && merchantsDone?.length === merchants) return elapsedMs;
        throw new Error(`the night of ${of} workers ended: ${JSON.stringify(end.figures)}`);
      }
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    await Promise.all([schedule, ...started].map((one) => one.stop()));
  }
}
