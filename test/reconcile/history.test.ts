import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries, type Line } from '../support/ledger-entries.ts';
import { openReadLedger, type ReadLedger } from '../support/read-ledger.ts';

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04'];
let database: Database;
let ledger: ReadLedger;
let merchants = 0;

beforeAll(async () => {
  database = await freshDatabase();
  ledger = await openReadLedger(database.db);
});
afterAll(() => database.close());

const synced = (merchantNo: string, day: string, entries: readonly LedgerEntry[]) =>
  ledger.synced(entries, [day], { merchantNo });
const reconciled = (merchantNo: string) => ledger.reconciled({ accounts: { merchantNo, currencies: null } });

/**
 * Everything that reconcile made of a merchant's ledger. Days without entries are left out: only a past one had rows. So
 * are hints: one that names an entry which vanished is known from the past alone.
 */
async function outcome(merchantNo: string) {
  const days = await sql`
    SELECT day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count,
      breaks_after, jumps_in, last_batch_no, last_booked_ms, clean_end
    FROM account_day WHERE merchant_no = ${merchantNo} AND credit_count + debit_count > 0 ORDER BY day`.execute(
    database.db,
  );
  const breaks = await sql`
    SELECT day, after_batch_no, before_batch_no, expected_balance, found_balance, missing_net, begin_ms, end_ms
    FROM continuity_break WHERE merchant_no = ${merchantNo} AND status = 'open'
    ORDER BY begin_ms, before_batch_no`.execute(database.db);
  const waiting = await sql`SELECT * FROM changed_day WHERE merchant_no = ${merchantNo}`.execute(database.db);
  return { days: days.rows, breaks: breaks.rows, waiting: waiting.rows };
}

/** Seconds on four days, mostly around midnight, so that entries share seconds and trade places across midnight. */
const second = fc
  .oneof(
    {
      weight: 3,
      arbitrary: fc.tuple(fc.nat(4), fc.integer({ min: -3, max: 3 })).map(([d, s]) => d * 86_400 + s),
    },
    { weight: 1, arbitrary: fc.nat(4 * 86_400 - 1) },
  )
  .map((at) => Math.min(Math.max(at, 0), 4 * 86_400 - 1));
const spelled = (at: number): string =>
  new Date(Date.UTC(2026, 2, 1) + at * 1_000).toISOString().slice(0, 19).replace('T', ' ');

const ledgers = fc
  .array(fc.tuple(second, fc.constantFrom(100, 200, -100, 300, 1)), { minLength: 1, maxLength: 14 })
  .map((lines) => lines.sort((a, b) => a[0] - b[0]).map(([at, cents]): Line => [spelled(at), cents]));

/** One visit: the days that are read, and the entries that the platform does not show at that time. */
const visits = fc.array(
  fc.record({
    days: fc.subarray(DAYS, { minLength: 1 }),
    hidden: fc.array(fc.nat(13), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 4 },
);

test(
  'the same ledger gives the same figures, in whatever order entries came, went and came back',
  { tags: ['long'], timeout: 240_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(ledgers, visits, async (lines, sequence) => {
        const ledger = accountEntries(1_000, lines);
        const grown = `grown-${(merchants += 1)}`;
        const made = `made-${merchants}`;
        const lastSeen = new Map<string, readonly LedgerEntry[]>();
        for (const { days, hidden } of sequence) {
          const shown = ledger.filter((_, index) => !hidden.includes(index));
          for (const day of days) {
            await synced(grown, day, shown);
            lastSeen.set(day, shown);
          }
          await reconciled(grown);
        }
        for (const [day, shown] of lastSeen) await synced(made, day, shown);
        await reconciled(made);
        expect(await outcome(grown)).toEqual(await outcome(made));
      }),
      { numRuns: 60 },
    );
  },
);
