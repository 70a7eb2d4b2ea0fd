/**
 * Times what others get while people ask for months as XLSX, all at once: the page of a month, and a post to the receiver,
 * which runs in the same process; and weighs the process. What is refused counts as answered. What is made has to be complete.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { sha256Of } from '../../src/host/sha256.ts';
import { acceptedApplications, BENCH_KEY } from '../applications.ts';
import { withDatabase, withSandbox, type Measure, type Measured } from '../measure.ts';
import { percentile, postAtRate } from '../post-at-rate.ts';
import { startServing, type Serving } from '../processes.ts';
import { benchLedger, MERCHANT, syncEnv } from '../scenario.ts';

const DOWNLOADS = 200;
const PEOPLE = 20;
const DAYS = 31;
const PAGE_EVERY_MS = 100;
const POSTS_PER_S = 10;
/** Of the two that are made at once, and of all that wait. */
const SECONDS = 20;
const MONTH = '2026-03';

export const downloads: Measure = {
  name: 'downloads',
  isLong: true,
  measure: async (bench) => {
    const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
    try {
      const ledger = benchLedger({ days: DAYS, entriesPerDay: bench.short ? 200 : 2_000 });
      return await withSandbox(bench, ledger.scenario, (sandbox) =>
        withDatabase(bench, async (database) => {
          const env = syncEnv(sandbox, database, { STATEMENTS_URL: pathToFileURL(folder).href });
          await bench.daybook({ what: 'a month, published', command: 'run', range: ledger.range, env });
          const seconds = bench.short ? SECONDS / 4 : SECONDS;
          const reported = await acceptedApplications(database.db, POSTS_PER_S * seconds);
          const key = BENCH_KEY.toString('base64');
          const serving = await startServing({ databaseUrl: database.url, key, folder });
          try {
            return await measured(serving, reported, { seconds, entriesADay: ledger.entries / DAYS });
          } finally {
            await serving.stop();
          }
        }),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function measured(
  { url, pagesUrl, stop }: Serving,
  reported: Awaited<ReturnType<typeof acceptedApplications>>,
  { seconds, entriesADay }: { readonly seconds: number; readonly entriesADay: number },
): Promise<Measured[]> {
  const pool = new Pool(pagesUrl, { connections: DOWNLOADS + 1, bodyTimeout: 0, headersTimeout: 0 });
  const get = async (person: string, path: string) => {
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers: { 'x-person': person } });
    return { statusCode, bytes: Buffer.from(await body.arrayBuffer()) };
  };
  const zip = `/download/${MERCHANT.merchantNo}/${MONTH}.zip?format=xlsx`;
  const alone = await get('first', zip);
  if (alone.statusCode !== 200) throw new Error(`a month as XLSX: ${alone.statusCode}`);
  const whole = sha256Of(alone.bytes);
  const answers = { made: 0, refused: 0 };
  const download = async (nth: number): Promise<void> => {
    const { statusCode, bytes } = await get(`person-${nth % PEOPLE}`, zip);
    if (statusCode === 429) answers.refused += 1;
    else if (statusCode === 200 && sha256Of(bytes) === whole) answers.made += 1;
    else throw new Error(`a month as XLSX: ${statusCode}, ${bytes.byteLength} bytes`);
  };
  let next = 0;
  const asked = Promise.all(Array.from({ length: DOWNLOADS }, (_, nth) => download(nth)));
  const [pages, { latencies, refused }] = await Promise.all([
    readEvery(() => get('reader', `/m/${MERCHANT.merchantNo}/${MONTH}`), seconds),
    postAtRate({
      url,
      path: () => reported[next++]!.path,
      body: (n) => reported[n]!.result,
      ratePerS: POSTS_PER_S,
      seconds,
    }),
  ]);
  await asked;
  await pool.close();
  if (refused > 0) throw new Error(`${refused} posts were refused`);
  const { peakMegabytes, blockedMs } = await stop();
  const of =
    `while ${DOWNLOADS} months of ${DAYS} days of ${entriesADay} entries are asked for as XLSX ` +
    `(${answers.made} made, ${answers.refused} refused)`;
  return [
    row(`the page of a month ${of}, 99th percentile`, percentile(pages, 0.99), 1_000, 'ms'),
    row('a post to the receiver meanwhile, the slowest', Math.max(...latencies), 1_000, 'ms'),
    row('memory of the process, at its peak', peakMegabytes, 400, 'MB'),
    row('the longest time in which it answered no one', blockedMs, 500, 'ms'),
  ];
}

/** How long each took, in ms, from when it was to be asked for. */
async function readEvery(
  get: () => Promise<{ readonly statusCode: number }>,
  seconds: number,
): Promise<number[]> {
  const beganMs = performance.now();
  const read = async (_: unknown, nth: number): Promise<number> => {
    const dueMs = beganMs + nth * PAGE_EVERY_MS;
    await sleep(Math.max(0, dueMs - performance.now()));
    const { statusCode } = await get();
    if (statusCode !== 200) throw new Error(`the page of a month: ${statusCode}`);
    return performance.now() - dueMs;
  };
  return Promise.all(Array.from({ length: (seconds * 1_000) / PAGE_EVERY_MS }, read));
}

const row = (what: string, figure: number, limit: number, unit: string): Measured => ({
  ...{ what, figure, limit, unit },
  limitIs: 'set',
  ratio: figure / limit,
  target: { atMost: 1 },
});
