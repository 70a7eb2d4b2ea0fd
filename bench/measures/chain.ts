/** Chain and account days over stored entries, against `lag()` over the same rows, which cannot order ties. */
import { sql } from 'kysely';
import { createCurrencies } from '../../src/ledger/money.ts';
import { reconcileAccounts } from '../../src/reconcile/reconcile.ts';
import { openDatabase } from '../../src/store/connection.ts';
import { acquireLease } from '../../src/store/lease.ts';
import { thisHolder } from '../../src/store/process-identity.ts';
import { startRun } from '../../src/store/runs.ts';
import { runMeasure, timed } from '../measure.ts';
import { seedLedger } from '../seed.ts';

const MERCHANT = 'BENCH-CHAIN';

await runMeasure(async ({ databaseUrl, short }) => {
  const entries = short ? 50_000 : 1_000_000;
  const { db, close } = await openDatabase({ databaseUrl, dataDir: '' });
  await seedLedger(db, { merchantNo: MERCHANT, entries, days: 10, lastDay: '2026-03-31' });
  const now = new Date();
  const lease = await acquireLease(db, { name: 'ledger', holder: thisHolder(), ttlMs: 600_000, now });
  const runId = await startRun(db, {
    command: 'reconcile',
    holder: 'bench',
    fromDay: null,
    toDay: null,
    now,
  });

  const lag = () =>
    sql`
      SELECT day, sum(credit), count(credit), sum(debit), count(debit), count(*) FILTER (WHERE jump <> 0)
      FROM (
        SELECT booked_at::date AS day, credit, debit,
          balance - coalesce(credit, 0) + coalesce(debit, 0) - lag(balance) OVER (ORDER BY booked_ms, batch_no) AS jump
        FROM ledger_entry
        WHERE merchant_no = ${MERCHANT} AND currency = 'USD' AND vanished_at IS NULL
      ) AS chained GROUP BY day`.execute(db);
  await lag();
  const lagMs = Math.min(await timed(lag), await timed(lag));
  let broken = -1;
  const chainMs = await timed(async () => {
    const report = await reconcileAccounts({
      db,
      lease,
      zone: 'UTC',
      clockToleranceS: 2,
      currencies: createCurrencies({}),
      merchants: null,
      currenciesAsked: null,
      runId,
      now: () => now,
      signal: new AbortController().signal,
    });
    broken = report.opened.length;
  });
  if (broken !== 0) throw new Error(`the seeded ledger is consistent, yet ${broken} breaks were found`);
  await close();
  return [
    {
      what: `chain and account days over ${entries.toLocaleString('en')} stored entries`,
      figure: chainMs,
      limit: lagMs,
      limitIs: 'lag() over the same rows in SQL',
      unit: 'ms',
      ratio: chainMs / lagMs,
      target: { atMost: 2 },
    },
  ];
});
