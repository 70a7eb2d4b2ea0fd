/** Over random histories of readings and doubts, the proven days are those that a model of the law says. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { mergeWindows } from '../../src/ledger/window.ts';
import { certifiedWindows, storeDays } from '../../src/store/certificates.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { startRun } from '../../src/store/runs.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { NOW } from './support.ts';
import '../support/each-file.ts';

const CURRENCIES = ['USD', 'EUR'] as const;
const DAYS = [0, 1, 2, 3].map((nth) => addDays('2026-03-09', nth));
const windowOf = (day: string) => dayWindow(day, 'UTC');
const WITHIN = { beginMs: windowOf(DAYS[0]!).beginMs, endMs: windowOf(DAYS.at(-1)!).endMs };

const step = fc.record({
  day: fc.constantFrom(...DAYS),
  currency: fc.constantFrom(...CURRENCIES),
  what: fc.constantFrom(
    'certified',
    'certified',
    'failed',
    'part failed',
    'part certified',
    'absent',
    'come again',
  ),
});

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

async function take({ day, currency, what }: Step, runId: number): Promise<void> {
  const { beginMs, endMs } = windowOf(day);
  await database.db.transaction().execute(async (trx) => {
    if (what === 'come again')
      await trx.deleteFrom('absent_entry').where('currency', '=', currency).execute();
    else if (what === 'absent')
      await trx
        .insertInto('absent_entry')
        .values({
          ...{
            merchant_no: 'M1',
            batch_no: `${currency} ${day}`,
            currency,
            booked_ms: beginMs,
            begin_ms: beginMs,
          },
          ...{ end_ms: endMs, absent_since: NOW, run_id: runId },
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    else {
      const read = what.startsWith('part')
        ? { beginMs: beginMs + 1_000, endMs: endMs - 1_000 }
        : { beginMs, endMs };
      const problem = what.endsWith('failed') ? 'total moved' : null;
      const reading = { day, ...read, total: 0, entries: 0, unreadable: 0, requests: 1, problem };
      await storeDays(trx, { merchantNo: 'M1', runId, now: NOW }, [reading]);
    }
  });
}

test(
  'a day is proven after its last whole reading was certified, no part failed since, and nothing of the account is absent',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        await emptyTables(database.db);
        const runId = await startRun(database.db, {
          ...{ command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW },
        });
        const complete = new Map<string, boolean>();
        const absent = new Set<string>();
        for (const one of steps) {
          await take(one, runId);
          const { day, currency, what } = one;
          if (what === 'certified') complete.set(day, true);
          if (what.endsWith('failed') && (what === 'failed' || complete.has(day))) complete.set(day, false);
          if (what === 'absent') absent.add(`${currency} ${day}`);
          if (what === 'come again')
            for (const known of absent) if (known.startsWith(currency)) absent.delete(known);
          for (const asked of [null, ...CURRENCIES]) {
            const isDoubted = (of: string) =>
              CURRENCIES.some((own) => (asked ?? own) === own && absent.has(`${own} ${of}`));
            const proven = DAYS.filter((of) => complete.get(of) === true && !isDoubted(of)).map(windowOf);
            const found = await certifiedWindows(database.db, 'M1', WITHIN, asked);
            // What was read of a part alone, and never as a day, is no whole day.
            expect(mergeWindows(found.filter(({ endMs }) => (endMs + 1) % 86_400_000 === 0))).toEqual(
              mergeWindows(proven),
            );
          }
        }
      }),
      { numRuns: Number(process.env['RUNS'] ?? 25) },
    );
  },
);

test('nothing is proven of a window that ends before it begins', async () => {
  expect(await certifiedWindows(database.db, 'M1', { beginMs: 5, endMs: 3 })).toEqual([]);
});
