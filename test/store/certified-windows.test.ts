/**
 * The proven spans are kept joined. Over random histories they have to be what the single rows of readings say: what
 * is certified, without what failed since and without the spans of absent entries.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Window } from '../../src/ledger/entry.ts';
import { mergeWindows, subtractWindows } from '../../src/ledger/window.ts';
import {
  cutFailedSpans,
  storeCertificates,
  certifiedWindows,
  certifiedWindowsOf,
} from '../../src/store/certificates.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { startRun } from '../../src/store/runs.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { certified, NOW, uncertified } from './support.ts';
import '../support/each-file.ts';

const MERCHANTS = ['M1', 'M2'] as const;
const CURRENCIES = [null, 'USD', 'EUR'] as const;
const LAST_MS = 12;

const instant = fc.integer({ min: 0, max: LAST_MS });
const window = fc
  .tuple(instant, instant)
  .map(([a, b]): Window => ({ beginMs: Math.min(a, b), endMs: Math.max(a, b) }));
const step = fc.record({
  merchantNo: fc.constantFrom(...MERCHANTS),
  currency: fc.constantFrom(...CURRENCIES),
  window,
  what: fc.constantFrom('certified', 'certified', 'failed', 'absent', 'come again'),
});

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

async function take(one: typeof step extends fc.Arbitrary<infer Step> ? Step : never, runId: number) {
  const { merchantNo, currency, window: span, what } = one;
  await database.db.transaction().execute(async (trx) => {
    if (what === 'come again') {
      await trx.deleteFrom('absent_entry').where('merchant_no', '=', merchantNo).execute();
    } else if (what === 'absent') {
      const row = {
        merchant_no: merchantNo,
        batch_no: `B${span.beginMs}`,
        currency: currency ?? 'GBP',
        booked_ms: span.beginMs,
        begin_ms: span.beginMs,
        end_ms: span.endMs,
        absent_since: NOW,
        run_id: runId,
      };
      await trx
        .insertInto('absent_entry')
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    } else {
      const reading = what === 'certified' ? certified([]) : uncertified([]);
      const sent = { merchantNo, currency, window: span, reading, runId, now: NOW };
      await storeCertificates(trx, [sent]);
      if (what === 'certified') await cutFailedSpans(trx, sent);
    }
  });
}

/** What is proven, worked out from every single row. */
async function byRows(merchantNo: string, within: Window, currency: string | null): Promise<Window[]> {
  const { db } = database;
  const windowOf = (row: { begin_ms: number; end_ms: number }) => ({
    beginMs: Math.max(row.begin_ms, within.beginMs),
    endMs: Math.min(row.end_ms, within.endMs),
  });
  const isInside = ({ beginMs, endMs }: Window) => beginMs <= endMs;
  const rows = await db.selectFrom('sync_window').selectAll().where('merchant_no', '=', merchantNo).execute();
  const absent = await db
    .selectFrom('absent_entry')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .execute();
  const isAbout = (stored: string) => stored === '' || stored === currency;
  const proven = rows.filter((row) => row.problem === null && isAbout(row.currency));
  const failed = rows.filter(
    (row) =>
      row.problem !== null &&
      (currency === null || (isAbout(row.currency) && !row.proven_currencies.includes(currency))),
  );
  const missed = absent.filter((row) => currency === null || row.currency === currency);
  return subtractWindows(
    mergeWindows(proven.map(windowOf).filter(isInside)),
    [...failed, ...missed].map(windowOf).filter(isInside),
  );
}

test(
  'what is proven is what every single reading ever stored says',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 14 }),
        fc.array(window, { minLength: 1, maxLength: 3 }),
        async (steps, windows) => {
          await emptyTables(database.db);
          const runId = await startRun(database.db, {
            ...{ command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW },
          });
          for (const one of steps) {
            await take(one, runId);
            const asked = MERCHANTS.flatMap((merchantNo) =>
              CURRENCIES.flatMap((currency) => windows.map((within) => ({ merchantNo, currency, within }))),
            );
            const expected: Window[][] = [];
            for (const { merchantNo, within, currency } of asked)
              expected.push(await byRows(merchantNo, within, currency));
            expect(await certifiedWindowsOf(database.db, asked)).toEqual(expected);
          }
        },
      ),
      { numRuns: Number(process.env['RUNS'] ?? 25) },
    );
  },
);

test('nothing is proven of a window that ends before it begins, and no question has no answer', async () => {
  expect(await certifiedWindows(database.db, 'M1', { beginMs: 5, endMs: 3 })).toEqual([]);
  expect(await certifiedWindowsOf(database.db, [])).toEqual([]);
});
