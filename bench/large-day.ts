/** One account's day with very many entries, ready to be published again and again into new folders. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { count, withDatabase, type Bench } from './measure.ts';
import { offlineEnv } from './scenario.ts';
import { seedLedger } from './seed.ts';
import type { BenchDatabase } from './server.ts';

const DAY = '2026-03-31';

export interface LargeDay {
  readonly database: BenchDatabase;
  readonly entries: number;
  /** Publishes the day as if nothing had been published before. Returns the ms it took. */
  readonly publish: (env?: Readonly<Record<string, string>>) => Promise<number>;
}

/** Runs `work` with such a day of a merchant in a new database. */
export const withLargeDay = <Result>(
  bench: Bench,
  merchantNo: string,
  work: (day: LargeDay) => Promise<Result>,
): Promise<Result> =>
  withDatabase(bench, async (database) => {
    const { url, db, settle } = database;
    const entries = bench.short ? 50_000 : 1_000_000;
    await seedLedger(db, { merchantNo, entries, days: 1, lastDay: DAY });
    await bench.daybook({
      what: `reconciling a day of ${count(entries)}`,
      command: 'reconcile',
      range: null,
      env: offlineEnv({ url }, merchantNo),
    });
    await settle();
    const publish = async (env: Readonly<Record<string, string>> = {}): Promise<number> => {
      const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
      try {
        const { DAYBOOK_STATEMENT_FORMATS: formats = 'csv' } = env;
        const run = await bench.daybook({
          what: `publishing a day of ${count(entries)} (${formats})`,
          command: 'publish',
          range: { from: DAY, to: DAY },
          env: { ...offlineEnv({ url }, merchantNo, { STATEMENTS_URL: pathToFileURL(folder).href }), ...env },
        });
        if (run.figures.published !== 1)
          throw new Error(`${run.figures.published} statements were published`);
        return run.elapsedMs;
      } finally {
        await rm(folder, { recursive: true, force: true });
        await sql`TRUNCATE statement, artifact, event`.execute(db);
        await sql`UPDATE account_day SET version = version + 1, revision = NULL`.execute(db);
      }
    };
    return work({ database, entries, publish });
  });
