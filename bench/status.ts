/**
 * Times `status`, a scrape of /metrics and the check of alerts with very many merchants: `node bench/status.ts [merchants]`,
 * by default 100,000, read last night and with nothing open. Prints tables in Markdown.
 */
import '../src/plugins.ts';
import { sql } from 'kysely';
import { jobs } from '../jobs/all.ts';
import { createMetrics } from '../src/plugins/observe/metrics.ts';
import { createState, type StateDeps } from '../src/plugins/observe/state.ts';
import { checkForMissedRun, checkForUnfinishedRuns } from '../src/plugins/alerts/watch.ts';
import { statusesOf } from '../src/run/status.ts';
import { activeMerchants } from '../src/store/merchants.ts';
import { fillMerchants } from '../test/store/many-merchants.ts';
import { NOW } from '../test/store/support.ts';
import { median, timed } from './measure.ts';
import { ZONE } from './scenario.ts';
import { startServer } from './server.ts';

const MERCHANTS = Number(process.argv[2] ?? 100_000);
const ROUNDS = 3;
const HOUR_MS = 3_600_000;
const SCHEDULE = { nightly: '30 1 * * *', resweep: '30 13 * * *', reference: '0 3 * * 1', zone: ZONE };

const server = await startServer();
try {
  const { db } = await server.freshDatabase();
  await fillMerchants(db, { merchants: MERCHANTS, troubled: false });
  await sql`VACUUM ANALYZE`.execute(db);
  const status = async () => {
    const merchants = await activeMerchants(db);
    let reported = 0;
    for await (const some of statusesOf(db, merchants, { zone: ZONE, now: NOW, maxAgeMs: null }))
      reported += some.length;
    if (reported !== MERCHANTS) throw new Error(`the status of ${reported} merchants came`);
  };
  const rounds: { readonly ms: number; readonly cpuMs: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const ms = await timed(status);
    const { user, system } = process.cpuUsage(before);
    rounds.push({ ms, cpuMs: (user + system) / 1_000 });
  }
  const of = (figure: 'ms' | 'cpuMs') => `${Math.round(median(rounds.map((round) => round[figure])))} ms`;
  const metrics = createMetrics();
  const ledger = {
    settings: { platform: { timeZone: ZONE, merchant: null }, schedule: SCHEDULE, workers: 'none' },
    jobs,
  } as unknown as NonNullable<StateDeps['ledger']>;
  const scrape = async () => {
    const state = await createState({
      db,
      ledger,
      now: () => NOW,
      withMerchants: false,
      answerMsMax: 600_000,
    })();
    if (!state.reads.every(({ isRead }) => isRead)) throw new Error(JSON.stringify(state.reads));
    await metrics.text(state);
  };
  const lookAt = (now: Date) => async () => {
    const raising = { targets: ['none'], now, zone: ZONE };
    await checkForMissedRun(db, [], { ...raising, maxAgeMs: 26 * HOUR_MS });
    await checkForUnfinishedRuns(db, {
      ...{ ...raising, ledgerJobs: ['nightly', 'resweep'], otherJobs: ['reference'] },
      merchants: () => activeMerchants(db),
    });
  };
  const timedOften = async (work: () => Promise<void>): Promise<string> => {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) times.push(await timed(work));
    return `${Math.round(median(times))} ms`;
  };
  const background = [
    ['a scrape of /metrics', await timedOften(scrape)],
    ['a look for missed nights and untold runs, all well', await timedOften(lookAt(NOW))],
    ['the same, every merchant missed', await timedOften(lookAt(new Date(NOW.getTime() + 48 * HOUR_MS)))],
  ] as const;
  process.stdout.write(
    `| ${MERCHANTS.toLocaleString('en')} merchants | |\n|---|---|\n${background.map(([what, time]) => `| ${what} | ${time} |\n`).join('')}\n` +
      `| status of ${MERCHANTS.toLocaleString('en')} merchants | |\n|---|---|\n| time | ${of('ms')} |\n` +
      `| of it daybook's own CPU | ${of('cpuMs')} |\n| memory at the end | ${Math.round(process.memoryUsage().rss / 2 ** 20)} MB |\n`,
  );
} finally {
  await server.stop();
}
