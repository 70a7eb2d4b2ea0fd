/**
 * Measures what a night of a merchant costs of the processor, and where. `node bench/cpu.ts [merchants] [nights]`, by default 500
 * merchants with 20 entries a day, one night. Prints tables in Markdown: daybook's own by module, from a profile, and the
 * server's by statement, as it counts them itself.
 */
import '../src/plugins.ts';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { addDays } from '../src/ledger/business-day.ts';
import { addMerchants, manyMerchants, nightEnv, RESWEEP_DAYS } from './merchants.ts';
import { runDaybook, startSandbox } from './processes.ts';
import { startServer, type BenchDatabase } from './server.ts';

const MERCHANTS = Number(process.argv[2] ?? 500);
const NIGHTS = Number(process.argv[3] ?? 1);
const ENTRIES_PER_DAY = 20;
/** What costs less a merchant is left out. */
const SHOWN_FROM_MS = 0.05;
/** A tick of the clock by which Linux counts a process's time. */
const TICK_MS = 10;

/** Time of the processor that PostgreSQL took so far, all of its processes together. */
async function serverCpuMs({ db }: BenchDatabase): Promise<number> {
  const { rows } = await sql<{ file: string }>`SELECT pg_read_file('postmaster.pid') AS file`.execute(db);
  const postmaster = Number.parseInt(rows[0]!.file, 10);
  let ticks = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // After the name, which may hold anything: state, parent, ..., then the process's own time and that of ended children.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [own, ofEnded] = [fields.slice(11, 13), fields.slice(13, 15)].map((of) =>
      of.reduce((sum, field) => sum + Number(field), 0),
    ) as [number, number];
    if (Number(pid) === postmaster) ticks += own + ofEnded;
    else if (Number(fields[1]) === postmaster) ticks += own;
  }
  return ticks * TICK_MS;
}

interface Statement {
  readonly query: string;
  readonly calls: number;
  readonly planMs: number;
  readonly execMs: number;
}

async function statementsOf({ db }: BenchDatabase): Promise<Statement[]> {
  const { rows } = await sql<Statement>`
    SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS query, calls::float8, total_plan_time AS "planMs",
      total_exec_time AS "execMs"
    FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    ORDER BY total_plan_time + total_exec_time DESC`.execute(db);
  return rows;
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Where the thread was: a folder of ours, a package, Node, or what V8 and the system call do. */
function placeOf({ functionName, url }: Profile['nodes'][number]['callFrame']): string {
  const own = /\/(src\/(?:options\/)?[^/]+)\//.exec(url);
  if (own !== null && !url.includes('node_modules')) return own[1]!;
  const foreign = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url);
  return foreign?.[1] ?? (url.startsWith('node:') ? 'Node' : functionName);
}

async function placesIn(folder: string): Promise<(readonly [place: string, ms: number])[]> {
  const [file] = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile'));
  const profile = JSON.parse(await readFile(join(folder, file!), 'utf8')) as Profile;
  const places = new Map(profile.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const ms = new Map<string, number>();
  for (const [at, id] of profile.samples.entries()) {
    const place = places.get(id)!;
    ms.set(place, (ms.get(place) ?? 0) + profile.timeDeltas[at]! / 1_000);
  }
  ms.delete('(idle)');
  return [...ms].sort(([, a], [, b]) => b - a);
}

const many = manyMerchants({
  merchants: MERCHANTS,
  days: RESWEEP_DAYS + 1 + NIGHTS,
  entriesPerDay: ENTRIES_PER_DAY,
});
const server = await startServer([
  ...['-c', 'shared_preload_libraries=pg_stat_statements', '-c', 'pg_stat_statements.track_planning=on'],
]);
const sandbox = await startSandbox(many.scenario);
const folder = await mkdtemp(join(tmpdir(), 'daybook-cpu-'));
try {
  const database = await server.freshDatabase();
  await sql`CREATE EXTENSION pg_stat_statements`.execute(database.db);
  const places = {
    ...{ url: sandbox.url, database, statementsUrl: pathToFileURL(join(folder, 'files')).href },
    keys: await addMerchants(database, many),
  };
  const before = addDays(many.range.to, -NIGHTS);
  const night = { what: 'cpu', command: 'run' } as const;
  const range = { from: many.range.from, to: before };
  await runDaybook({ ...night, range, env: nightEnv(places, before) }, null);
  await database.settle();
  await sql`SELECT pg_stat_statements_reset()`.execute(database.db);
  const cpuBefore = await serverCpuMs(database);
  const work = { ...night, range: null, env: nightEnv(places, many.range.to) };
  const { elapsedMs, cpuMs } = await runDaybook(work, folder);
  const serverMs = (await serverCpuMs(database)) - cpuBefore;
  const each = (ms: number) => (ms / MERCHANTS).toLocaleString('en', { maximumFractionDigits: 2 });
  const isShown = (ms: number) => ms / MERCHANTS >= SHOWN_FROM_MS;
  const statements = await statementsOf(database);
  const lines = [
    `| ${NIGHTS === 1 ? 'a night' : `${NIGHTS} nights`} of ${MERCHANTS} merchants | ms a merchant |\n|---|---|`,
    `| by the clock, under a profile | ${each(elapsedMs)} |`,
    `| daybook's CPU | ${each(cpuMs)} |`,
    `| PostgreSQL's CPU | ${each(serverMs)} |`,
    `| both | ${each(cpuMs + serverMs)} |`,
    '\n| the thread is at work in | ms a merchant |\n|---|---|',
    ...(await placesIn(folder))
      .filter(([, ms]) => isShown(ms))
      .map(([place, ms]) => `| ${place} | ${each(ms)} |`),
    '\n| statement | calls a merchant | planned, ms | executed, ms |\n|---|---|---|---|',
    ...statements
      .filter(({ planMs, execMs }) => isShown(planMs + execMs))
      .map(
        ({ query, calls, planMs, execMs }) =>
          `| ${query.replaceAll('|', '\\|')} | ${each(calls)} | ${each(planMs)} | ${each(execMs)} |`,
      ),
    `| all | ${each(statements.reduce((sum, { calls }) => sum + calls, 0))} | | |`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
} finally {
  await sandbox.stop();
  await server.stop();
  await rm(folder, { recursive: true });
}
