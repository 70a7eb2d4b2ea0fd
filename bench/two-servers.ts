/**
 * `node bench/two-servers.ts MERCHANTS RATE`: two PostgreSQL servers, each with half of the merchants and a daybook of its own,
 * that has half of the platform's calls a second. Prints how many calls a second began in all, and what each server holds.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { addMerchants, manyMerchants, nightEnv, type ManyMerchants } from './merchants.ts';
import { runDaybook, startSandbox } from './processes.ts';
import { startServer } from './server.ts';

const [merchants, rate] = [Number(process.argv[2] ?? 400), Number(process.argv[3] ?? 40)];
const all = manyMerchants({ merchants, days: 1, entriesPerDay: 20 });
const sandbox = await startSandbox(all.scenario);
const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));

async function half(
  nth: number,
): Promise<{ readonly from: number; readonly to: number; readonly held: object }> {
  const server = await startServer();
  const many: ManyMerchants = { ...all, merchants: all.merchants.filter((_, at) => at % 2 === nth) };
  try {
    const database = await server.freshDatabase();
    const keys = await addMerchants(database, many);
    const statementsUrl = pathToFileURL(join(folder, String(nth))).href;
    const more = { PLATFORM_RATE_LIMIT: String(rate / 2) };
    const env = nightEnv({ url: sandbox.url, database, statementsUrl, keys, more }, all.range.to);
    const from = performance.now();
    const what = `server ${nth + 1}`;
    const { exitCode, figures } = await runDaybook({ what, command: 'run', range: all.range, env }, null);
    const to = performance.now();
    const { rows } = await sql<{ merchants: number; entries: number }>`
      SELECT count(DISTINCT merchant_no) AS merchants, count(*) AS entries FROM ledger_entry`.execute(
      database.db,
    );
    await database.drop();
    return { from, to, held: { ...rows[0], exitCode, published: figures.published } };
  } finally {
    await server.stop();
  }
}

try {
  const halves = await Promise.all([half(0), half(1)]);
  const began = Math.min(...halves.map(({ from }) => from));
  const seconds = (Math.max(...halves.map(({ to }) => to)) - began) / 1_000;
  const calls = await sandbox.requests();
  const figures = { calls, seconds: Math.round(seconds), callsASecond: calls / seconds, allowed: rate };
  process.stdout.write(
    `${JSON.stringify({ ...figures, halves: halves.map(({ held }) => held) }, null, 2)}\n`,
  );
} finally {
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true });
}
