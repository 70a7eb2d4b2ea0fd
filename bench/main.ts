/**
 * `npm run bench`: measures daybook. Each figure is compared with a limit measured on the same machine in the same
 * run. Prints a table and writes it as JSON to bench/results. `--help` has the flags.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type BenchFlags, FlagsWrong, readFlags, usage } from './flags.ts';
import { meets, type Bench, type Measure, type Measured, type MemoryPeak } from './measure.ts';
import { books } from './measures/books.ts';
import { booksImport } from './measures/books-import.ts';
import { brokenDay } from './measures/broken-day.ts';
import { calls } from './measures/calls.ts';
import { chain } from './measures/chain.ts';
import { downloads } from './measures/downloads.ts';
import { formats } from './measures/formats.ts';
import { latency } from './measures/latency.ts';
import { memory } from './measures/memory.ts';
import { monthEnd } from './measures/month-end.ts';
import { merchants } from './measures/merchants.ts';
import { merchantsHistory } from './measures/merchants-history.ts';
import { merchantsLatency } from './measures/merchants-latency.ts';
import { merchantsMemory } from './measures/merchants-memory.ts';
import { merchantsRate } from './measures/merchants-rate.ts';
import { naive } from './measures/naive.ts';
import { nightly } from './measures/nightly.ts';
import { notifications } from './measures/notifications.ts';
import { pages } from './measures/pages.ts';
import { publish } from './measures/publish.ts';
import { search } from './measures/search.ts';
import { sync } from './measures/sync.ts';
import { workers } from './measures/workers.ts';
import { workersMany } from './measures/workers-many.ts';
import { runDaybook, startSandbox } from './processes.ts';
import { startServer } from './server.ts';
import Table from 'cli-table3';

const MEASURES: readonly Measure[] = [
  calls,
  brokenDay,
  latency,
  sync,
  naive,
  chain,
  publish,
  formats,
  nightly,
  merchants,
  merchantsLatency,
  merchantsRate,
  merchantsHistory,
  merchantsMemory,
  workers,
  workersMany,
  notifications,
  pages,
  monthEnd,
  search,
  downloads,
  booksImport,
  books,
];
const RESULTS = fileURLToPath(new URL('./results/', import.meta.url));

const flags = givenFlags();

await mkdir(RESULTS, { recursive: true });
const { measured, failures } = await measureAll(flags);
const results = measured.map((one) => ({ ...one, verdict: flags.short ? null : meets(one) }));
const record = {
  at: new Date().toISOString(),
  node: process.version,
  cores: cpus().length,
  short: flags.short,
  results,
  failures,
};
const path = `${RESULTS}${record.at.replaceAll(/[:.]/g, '-')}.json`;
await writeFile(path, `${JSON.stringify(record, null, 2)}\n`);
process.stdout.write(`${tableOf(results)}\n${path}\n`);
process.exitCode = failures.length === 0 && results.every(({ verdict }) => verdict !== 'FAIL') ? 0 : 1;

interface Outcome {
  readonly measured: readonly Measured[];
  /** Measures that failed, and why. The results of the others still count. */
  readonly failures: readonly { readonly name: string; readonly why: string }[];
}

async function measureAll({ chosen, short, merchants: asked, profile }: BenchFlags): Promise<Outcome> {
  const server = await startServer();
  const peaks: MemoryPeak[] = [];
  const bench: Bench = {
    short,
    merchants: asked,
    server,
    sandbox: startSandbox,
    daybook: async (work) => {
      const run = await runDaybook(work, profile ? RESULTS : null);
      peaks.push({ what: work.what, megabytes: run.peakMegabytes });
      return run;
    },
    peaks,
  };
  try {
    const found: Measured[] = [];
    const failures: { name: string; why: string }[] = [];
    for (const { name, measure } of [...chosen, memory]) {
      process.stderr.write(`measuring ${name}\n`);
      const began = performance.now();
      try {
        found.push(...(await measure(bench)));
        process.stderr.write(`  took ${Math.round((performance.now() - began) / 1_000)} s\n`);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        failures.push({ name, why });
        process.stderr.write(`${name} failed: ${why}\n`);
      }
    }
    return { measured: found, failures };
  } finally {
    await server.stop();
  }
}

function tableOf(
  rows: readonly (Measured & { readonly verdict: ReturnType<typeof meets> | null })[],
): string {
  const table = new Table({
    head: ['measured', 'reached', 'limit', 'limit is', 'ratio', 'target', ''],
    style: { head: [], border: [] },
    colAligns: ['left', 'right', 'right', 'left', 'right', 'right', 'left'],
  });
  for (const { what, figure, limit, limitIs, unit, ratio, noise, target, verdict } of rows) {
    const shown = (value: number) => `${Math.round(value).toLocaleString('en')} ${unit}`;
    const bound = 'atMost' in target ? `<= ${target.atMost}` : `>= ${Number(target.atLeast.toFixed(2))}`;
    const apart = noise === undefined ? '' : ` ±${noise.toFixed(2)}`;
    const judged = verdict === null ? ['', ''] : [bound, verdict];
    table.push([what, shown(figure), shown(limit), limitIs, `${ratio.toFixed(2)}${apart}`, ...judged]);
  }
  return table.toString();
}

function givenFlags(): BenchFlags {
  try {
    const given = readFlags(process.argv.slice(2), MEASURES);
    if (!given.help) return given;
    process.stdout.write(usage(MEASURES));
    process.exit(0);
  } catch (error) {
    if (!(error instanceof FlagsWrong)) throw error;
    process.stderr.write(`${error.message}\n\n${usage(MEASURES)}`);
    process.exit(2);
  }
}
