/**
 * Times a night of many merchants with the platform and the object store some way off. The limit is the time that the
 * calls or the uploads take by themselves, with as many at once as daybook works on merchants.
 */
import { count, withSandbox, type Measure } from '../measure.ts';
import { AT_ONCE, lastNights, manyMerchants, RESWEEP_DAYS } from '../merchants.ts';
import { startObjectServer } from '../processes.ts';

const CALL_MS = 20;
const OBJECT_REQUEST_MS = 30;
const ENTRIES_PER_DAY = 20;

export const merchantsLatency: Measure = {
  name: 'merchants-latency',
  measure: async (bench) => {
    const many = manyMerchants({
      merchants: bench.short ? 20 : 500,
      days: RESWEEP_DAYS + 2,
      entriesPerDay: ENTRIES_PER_DAY,
      latencyMs: CALL_MS,
    });
    const what = `a night of ${count(many.merchants.length)} merchants, ${CALL_MS} ms a call, ${OBJECT_REQUEST_MS} ms an object request`;
    const objects = await startObjectServer({ latencyMs: OBJECT_REQUEST_MS });
    try {
      return await withSandbox(bench, many.scenario, async ({ url }) => {
        let uploadsBefore = 0;
        const { elapsedMs, figures } = await lastNights(bench, many, {
          ...{ what, url, nights: 1, entriesPerDay: ENTRIES_PER_DAY },
          statementsUrl: 's3://bench/statements',
          more: {
            AWS_ENDPOINT_URL_S3: objects.url,
            AWS_ACCESS_KEY_ID: 'bench-access',
            AWS_SECRET_ACCESS_KEY: 'bench-secret',
          },
          onReady: async () => {
            uploadsBefore = await objects.uploads();
          },
        });
        const uploads = (await objects.uploads()) - uploadsBefore;
        const callsMs = (figures.requests * CALL_MS) / AT_ONCE;
        const uploadsMs = (uploads * OBJECT_REQUEST_MS) / AT_ONCE;
        const [limit, limitIs] =
          callsMs > uploadsMs
            ? [callsMs, `${count(figures.requests)} calls x ${CALL_MS} ms / ${AT_ONCE}`]
            : [uploadsMs, `${count(uploads)} uploads x ${OBJECT_REQUEST_MS} ms / ${AT_ONCE}`];
        const ratio = elapsedMs / limit;
        return [{ what, figure: elapsedMs, limit, limitIs, unit: 'ms', ratio, target: { atMost: 1.25 } }];
      });
    } finally {
      await objects.stop();
    }
  },
};
