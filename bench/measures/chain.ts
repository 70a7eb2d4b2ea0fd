/**
 * Times the chain and account days over stored entries. The limit is SQL's `lag()` over the same rows, which cannot
 * put entries of one second in order.
 */
import { sql } from 'kysely';
import { count, ofRounds, roundsOf, timed, withDatabase, type Measure } from '../measure.ts';
import { offlineEnv } from '../scenario.ts';
import { seedLedger } from '../seed.ts';

const MERCHANT_NO = 'BENCH-CHAIN';

export const chain: Measure = {
  name: 'chain',
  measure: (bench) =>
    withDatabase(bench, async ({ url, db, settle }) => {
      const entries = bench.short ? 50_000 : 1_000_000;
      await seedLedger(db, { merchantNo: MERCHANT_NO, entries, days: 10, lastDay: '2026-03-31' });
      await settle();
      const lag = () =>
        sql`
          SELECT day, sum(credit), count(credit), sum(debit), count(debit), count(*) FILTER (WHERE jump <> 0)
          FROM (
            SELECT booked_at::date AS day, credit, debit, balance - coalesce(credit, 0) + coalesce(debit, 0)
              - lag(balance) OVER (ORDER BY booked_ms, batch_no) AS jump
            FROM ledger_entry
            WHERE merchant_no = ${MERCHANT_NO} AND currency = 'USD' AND vanished_at IS NULL
          ) AS chained GROUP BY day`.execute(db);
      await lag();
      const lagMs: number[] = [];
      const chainMs: number[] = [];
      for (let round = 0; round < roundsOf(bench); round += 1) {
        lagMs.push(await timed(lag));
        // Back to the state before the first reconcile.
        await sql`DELETE FROM account_day`.execute(db);
        await sql`UPDATE certificate SET chained = false`.execute(db);
        const run = await bench.daybook({
          what: `reconciling ${count(entries)}`,
          command: 'reconcile',
          range: null,
          env: offlineEnv({ url }, MERCHANT_NO),
        });
        chainMs.push(run.elapsedMs);
      }
      return [
        {
          what: `chain and account days over ${count(entries)} stored entries`,
          ...ofRounds(chainMs, lagMs),
          limitIs: 'lag() over the same rows in SQL',
          unit: 'ms',
          target: { atMost: 2 },
        },
      ];
    }),
};
