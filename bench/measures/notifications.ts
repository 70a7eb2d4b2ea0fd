/**
 * Measures how long a sender of notifications waits for its 200. First at a steady rate while nothing is processed.
 * Then with everything running, while out-of-scope records post to made-up paths as fast as this machine can.
 */
import { sql } from 'kysely';
import { acceptedApplications, BENCH_KEY } from '../applications.ts';
import { median, roundsOf, withDatabase, type Bench, type Measure, type Measured } from '../measure.ts';
import { percentile, postAtRate } from '../post-at-rate.ts';
import { runScript, startReceiver } from '../processes.ts';

const RATE_PER_S = 200;
const ANSWER_MS_MAX = 100;
const WARM_UP_S = 2;
/** Posts per path, within the number allowed per hour. */
const POSTS_A_PATH = 40;

const NOISE_PER_S = 5_000;
const GENUINE_PER_S = 10;
const ANSWER_UNDER_NOISE_MS_MAX = 1_000;
const APPLIED_UNDER_NOISE_MS_MAX = 5_000;

const KEY = BENCH_KEY.toString('base64');

export const notifications: Measure = {
  name: 'notifications',
  isLong: true,
  measure: async (bench) => [await atSteadyRate(bench), ...(await underNoise(bench))],
};

async function atSteadyRate(bench: Bench): Promise<Measured> {
  const seconds = bench.short ? 3 : 20;
  const posted = RATE_PER_S * (WARM_UP_S + seconds);
  const rounds: number[] = [];
  for (let round = 0; round < roundsOf(bench); round += 1) {
    await withDatabase(bench, async ({ url: databaseUrl, db }) => {
      const reported = await acceptedApplications(db, Math.ceil(posted / POSTS_A_PATH));
      const receiver = await startReceiver({ databaseUrl, key: KEY, processing: false });
      let next = 0;
      const load = {
        url: receiver.url,
        path: () => reported[(next += 1) % reported.length]!.path,
        body: (n: number) => reported[n % reported.length]!.result,
        ratePerS: RATE_PER_S,
      };
      await postAtRate({ ...load, seconds: WARM_UP_S });
      const { latencies, refused } = await postAtRate({ ...load, seconds });
      await receiver.stop();
      const kept = await db
        .selectFrom('notification')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      if (refused > 0 || kept.count !== posted)
        throw new Error(`of ${posted} posts ${kept.count} are kept, ${refused} were refused`);
      rounds.push(percentile(latencies, 0.99));
    });
  }
  const what = `notification answered, 99th percentile at ${RATE_PER_S} a second, processing stopped`;
  return within(what, median(rounds), ANSWER_MS_MAX);
}

/** Only one round: the slowest answers count, and the noise needs the entire machine. */
async function underNoise(bench: Bench): Promise<readonly Measured[]> {
  const seconds = bench.short ? 3 : 20;
  return withDatabase(bench, async ({ url: databaseUrl, db }) => {
    const reported = await acceptedApplications(db, GENUINE_PER_S * seconds);
    const { url, stop } = await startReceiver({ databaseUrl, key: KEY, processing: true });
    const noise = runScript<{ answeredPerS: number }>('./noise.ts', {
      url,
      ratePerS: NOISE_PER_S,
      seconds: seconds + 2 * WARM_UP_S,
    });
    let next = 0;
    await new Promise((resolve) => setTimeout(resolve, WARM_UP_S * 1_000));
    const { latencies, refused } = await postAtRate({
      url,
      path: () => reported[next++]!.path,
      body: (n) => reported[n]!.result,
      ratePerS: GENUINE_PER_S,
      seconds,
    });
    const { answeredPerS } = await noise;
    await stop();
    const { rows } = await sql<{ applied: number; unknown: number; ms: number }>`
      SELECT count(*) FILTER (WHERE outcome = 'applied')::int AS applied,
        count(*) FILTER (WHERE outcome = 'unknown')::int AS unknown,
        coalesce(max(extract(epoch FROM processed_at - received_at)) FILTER (WHERE outcome = 'applied'), 0)::float8
          * 1000 AS ms
      FROM notification`.execute(db);
    const { applied, unknown, ms } = rows[0]!;
    if (refused > 0 || applied !== reported.length)
      throw new Error(`of ${reported.length} genuine pushes ${applied} are applied, ${refused} were refused`);
    const among = `among ${Math.round(answeredPerS).toLocaleString('en')} posts of noise a second (${unknown} kept)`;
    return [
      within(
        `genuine push answered, 99th percentile ${among}`,
        percentile(latencies, 0.99),
        ANSWER_UNDER_NOISE_MS_MAX,
      ),
      within(
        'genuine push applied after it was received, slowest in the same noise',
        ms,
        APPLIED_UNDER_NOISE_MS_MAX,
      ),
    ];
  });
}

const within = (what: string, figure: number, limit: number): Measured => ({
  what,
  figure,
  limit,
  limitIs: 'set',
  unit: 'ms',
  ratio: figure / limit,
  target: { atMost: 1 },
});
