/**
 * Times `status` with very many merchants: `node bench/status.ts [merchants]`, by default 100,000, read last night and with
 * nothing open. Prints a table in Markdown.
 */
import { sql } from 'kysely';
import { statusesOf } from '../src/run/status.ts';
import { activeMerchants } from '../src/store/merchants.ts';
import { fillMerchants } from '../test/store/many-merchants.ts';
import { NOW } from '../test/store/support.ts';
import { median, timed } from './measure.ts';
import { ZONE } from './scenario.ts';
import { startServer } from './server.ts';

const MERCHANTS = Number(process.argv[2] ?? 100_000);
const ROUNDS = 3;

const server = await startServer();
try {
  const { db } = await server.freshDatabase();
  await fillMerchants(db, { merchants: MERCHANTS, troubled: false });
  await sql`VACUUM ANALYZE`.execute(db);
  const status = async () => {
    const merchants = await activeMerchants(db);
    let told = 0;
    for await (const some of statusesOf(db, merchants, { zone: ZONE, now: NOW, maxAgeMs: null }))
      told += some.length;
    if (told !== MERCHANTS) throw new Error(`the status of ${told} merchants came`);
  };
  const rounds: { readonly ms: number; readonly cpuMs: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const ms = await timed(status);
    const { user, system } = process.cpuUsage(before);
    rounds.push({ ms, cpuMs: (user + system) / 1_000 });
  }
  const of = (figure: 'ms' | 'cpuMs') => `${Math.round(median(rounds.map((round) => round[figure])))} ms`;
  process.stdout.write(
    `| status of ${MERCHANTS.toLocaleString('en')} merchants | |\n|---|---|\n| time | ${of('ms')} |\n` +
      `| of it daybook's own CPU | ${of('cpuMs')} |\n| memory at the end | ${Math.round(process.memoryUsage().rss / 2 ** 20)} MB |\n`,
  );
} finally {
  await server.stop();
}
