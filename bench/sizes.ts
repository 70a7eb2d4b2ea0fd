/**
 * Measures what a merchant costs: rows, bytes, calls and time. `node bench/sizes.ts [merchants]`, by default 1,000, with 20
 * entries a day each. Prints tables in Markdown.
 */
import '../src/plugins.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { addDays, dayWindow } from '../src/ledger/business-day.ts';
import { addMerchants, manyMerchants } from './merchants.ts';
import { runDaybook, startSandbox } from './processes.ts';
import { ZONE } from './scenario.ts';
import { startServer, type BenchDatabase } from './server.ts';

const MERCHANTS = Number(process.argv[2] ?? 1_000);
const DAYS = 9;
const ENTRIES_PER_DAY = 20;

interface Size {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

/** The tables with their indexes; those of the platform's lists and the like are too small to count. */
async function sizes({ db }: BenchDatabase): Promise<Size[]> {
  await sql`VACUUM ANALYZE`.execute(db);
  const { rows } = await sql<Size>`
    SELECT relname AS name, reltuples::bigint AS rows, pg_total_relation_size(oid)::bigint AS bytes
    FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples >= ${MERCHANTS}::float8 / 2
    ORDER BY bytes DESC`.execute(db);
  return rows;
}

const many = manyMerchants({ merchants: MERCHANTS, days: DAYS, entriesPerDay: ENTRIES_PER_DAY });
const server = await startServer();
const sandbox = await startSandbox(many.scenario);
const folder = await mkdtemp(join(tmpdir(), 'daybook-sizes-'));
try {
  const database = await server.freshDatabase();
  const keys = await addMerchants(database, many);
  const run = (range: typeof many.range | null, yesterday: string) =>
    runDaybook(
      {
        what: 'sizes',
        command: 'run',
        range,
        env: {
          ...keys,
          PLATFORM_BASE_URL: sandbox.url,
          PLATFORM_TIME_ZONE: ZONE,
          PLATFORM_CONCURRENCY: '16',
          DATABASE_URL: database.url,
          STATEMENTS_URL: pathToFileURL(join(folder, 'files')).href,
          DAYBOOK_NOW: new Date(dayWindow(yesterday, ZONE).endMs + 3_600_000).toISOString(),
        },
      },
      null,
    );
  const last = many.range.to;
  await run({ from: many.range.from, to: addDays(last, -1) }, addDays(last, -1));
  await database.settle();
  const { elapsedMs, peakMegabytes, figures } = await run(null, last);
  const each = (figure: number) => (figure / MERCHANTS).toLocaleString('en', { maximumFractionDigits: 2 });
  const lines = [
    `| a night of ${MERCHANTS.toLocaleString('en')} merchants | |\n|---|---|`,
    `| time | ${Math.round(elapsedMs / 1_000)} s, ${each(elapsedMs)} ms a merchant |`,
    `| calls | ${each(figures.requests)} a merchant |`,
    `| peak memory | ${Math.round(peakMegabytes)} MB |`,
    `\n| table, after ${DAYS} days | rows a merchant | bytes a merchant |\n|---|---|---|`,
    ...(await sizes(database)).map(({ name, rows, bytes }) => `| ${name} | ${each(rows)} | ${each(bytes)} |`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
} finally {
  await sandbox.stop();
  await server.stop();
  await rm(folder, { recursive: true });
}
