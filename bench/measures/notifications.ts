/** How long a sender of notifications waits for its 200 while they come at a steady rate and nothing is processed. */
import { newNotifySecret } from '../../src/store/notify-path.ts';
import { median, roundsOf, withDatabase, type Measure } from '../measure.ts';
import { percentile, postAtRate } from '../post-at-rate.ts';
import { startReceiver } from '../processes.ts';

const RATE_PER_S = 200;
const ANSWER_MS_MAX = 100;
const WARM_UP_S = 2;
/** About what sp3101 with a long message has. */
const MESSAGE = 'm'.repeat(255);

export const notifications: Measure = {
  name: 'notifications',
  measure: async (bench) => {
    const seconds = bench.short ? 3 : 20;
    const rounds: number[] = [];
    for (let round = 0; round < roundsOf(bench); round += 1) {
      await withDatabase(bench, async ({ url: databaseUrl, db }) => {
        const receiver = await startReceiver(databaseUrl);
        const load = {
          url: receiver.url,
          path: () => `/notify/onboarding/${newNotifySecret()}`,
          body: (n: number) =>
            JSON.stringify({ bizFlow: `BF${n}`, code: 'S00000', message: MESSAGE, token: 'made-up' }),
          ratePerS: RATE_PER_S,
        };
        await postAtRate({ ...load, seconds: WARM_UP_S });
        const { latencies, refused } = await postAtRate({ ...load, seconds });
        await receiver.stop();
        const kept = await db
          .selectFrom('notification')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow();
        const posted = RATE_PER_S * (WARM_UP_S + seconds);
        if (refused > 0 || kept.count !== posted)
          throw new Error(`of ${posted} posts ${kept.count} are kept, ${refused} were refused`);
        rounds.push(percentile(latencies, 0.99));
      });
    }
    const figure = median(rounds);
    return [
      {
        what: `notification answered, 99th percentile at ${RATE_PER_S} a second, processing stopped`,
        figure,
        limit: ANSWER_MS_MAX,
        limitIs: 'set',
        unit: 'ms',
        ratio: figure / ANSWER_MS_MAX,
        target: { atMost: 1 },
      },
    ];
  },
};
