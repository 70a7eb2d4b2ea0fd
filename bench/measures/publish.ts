/** Times publishing a large day to a folder. The limit is COPY of the same rows as sorted CSV that is thrown away. */
import { sql } from 'kysely';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { copyCsvAway } from '../copy.ts';
import { count, median, roundsOf, timed, withDatabase, type Measure } from '../measure.ts';
import { offlineEnv } from '../scenario.ts';
import { seedLedger } from '../seed.ts';

const MERCHANT_NO = 'BENCH-PUBLISH';
const DAY = '2026-03-31';
const ROWS = `SELECT batch_no, booked_at, currency, transaction_type, credit, debit, balance FROM ledger_entry
  WHERE merchant_no = '${MERCHANT_NO}' AND currency = 'USD' AND vanished_at IS NULL ORDER BY booked_ms, batch_no`;

export const publish: Measure = {
  name: 'publish',
  measure: (bench) =>
    withDatabase(bench, async ({ url, db, settle, withClient }) => {
      const entries = bench.short ? 50_000 : 1_000_000;
      await seedLedger(db, { merchantNo: MERCHANT_NO, entries, days: 1, lastDay: DAY });
      const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
      const publishMs: number[] = [];
      const copyMs: number[] = [];
      try {
        const reconcileEnv = offlineEnv({ url }, MERCHANT_NO);
        await bench.daybook({
          what: `reconciling a day of ${count(entries)}`,
          command: 'reconcile',
          range: null,
          env: reconcileEnv,
        });
        await settle();
        await withClient((client) => copyCsvAway(client, ROWS));
        for (let round = 0; round < roundsOf(bench); round += 1) {
          await withClient(async (client) => {
            copyMs.push(await timed(() => copyCsvAway(client, ROWS)));
          });
          const run = await bench.daybook({
            what: `publishing a day of ${count(entries)}`,
            command: 'publish',
            range: { from: DAY, to: DAY },
            env: offlineEnv({ url }, MERCHANT_NO, {
              STATEMENTS_URL: pathToFileURL(join(folder, String(round))).href,
            }),
          });
          if (run.figures.published !== 1)
            throw new Error(`${run.figures.published} statements were published`);
          publishMs.push(run.elapsedMs);
          // Back to the state before the first publish.
          await sql`TRUNCATE statement, statement_summary, untold_revision`.execute(db);
          await sql`UPDATE account_day SET publish_due = true, revision = NULL`.execute(db);
        }
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
      const figure = entries / (median(publishMs) / 1_000);
      const limit = entries / (median(copyMs) / 1_000);
      return [
        {
          what: `publishing a day of ${count(entries)} entries to a directory`,
          figure,
          limit,
          limitIs: 'COPY (SELECT .. ORDER BY ..) as CSV, thrown away',
          unit: 'entries/s',
          ratio: figure / limit,
          target: { atLeast: 0.25 },
        },
      ];
    }),
};
