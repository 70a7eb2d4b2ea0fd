/**
 * Published days obey the law, whatever came, went or was amended, and whichever stage was left out.
 *
 * @module-tag long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { addAmounts } from '../../src/ledger/money.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { accountEntries, type Line } from '../support/ledger-entries.ts';
import { lawlessIn, manifestsIn } from '../support/law.ts';
import { openBook } from './book.ts';
import fc from 'fast-check';

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05'];
const DAY_S = 86_400;
let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

/** Seconds on five days, many of them around midnight, so that entries trade places across it. */
const second = fc
  .oneof(
    fc.tuple(fc.nat(DAYS.length), fc.integer({ min: -3, max: 3 })).map(([day, s]) => day * DAY_S + s),
    fc.nat(DAYS.length * DAY_S - 1),
  )
  .map((at) => Math.min(Math.max(at, 0), DAYS.length * DAY_S - 1));
const spelled = (at: number): string =>
  new Date(Date.UTC(2026, 2, 1) + at * 1_000).toISOString().slice(0, 19).replace('T', ' ');
const ledgers = fc
  .array(fc.tuple(second, fc.constantFrom(100, 200, -100, 300, 1)), { minLength: 1, maxLength: 12 })
  .map((lines) => lines.sort((a, b) => a[0] - b[0]).map(([at, cents]): Line => [spelled(at), cents]));

/** One night: what the platform hides, whose balances it changed, what is read, and which stages run. */
const nights = fc.array(
  fc.record({
    hidden: fc.array(fc.nat(11), { maxLength: 4 }),
    emptied: fc.subarray(DAYS, { maxLength: 2 }),
    movedFrom: fc.option(fc.nat(11), { nil: null }),
    days: fc.subarray(DAYS, { minLength: 1 }),
    reconciles: fc.boolean(),
    published: fc.option(fc.tuple(fc.constantFrom(...DAYS), fc.constantFrom(...DAYS)), { nil: null }),
  }),
  { minLength: 1, maxLength: 5 },
);

test('after every night and at the end, the published days obey the law of openings and pass verify', async () => {
  await fc.assert(
    fc.asyncProperty(ledgers, nights, async (lines, each) => {
      await emptyTables(database.db);
      const folder = await mkdtemp(join(tmpdir(), 'daybook-law-'));
      const store = createDirectoryStore(folder);
      try {
        const book = await openBook(database);
        const publish = async (change = {}) => {
          const report = await book.published(store, change);
          expect(report.withheld.filter(({ cause }) => cause === 'misfit')).toEqual([]);
          const manifests = await manifestsIn(store);
          expect(lawlessIn(manifests)).toEqual([]);
          if (manifests.length > 0) expect((await verifyPaths([folder])).problems).toEqual([]);
          return report;
        };
        const ledger = accountEntries(500, lines);
        for (const night of each) {
          const shown = ledger
            .filter((entry, index) => !night.hidden.includes(index) && !isOn(entry, night.emptied))
            .map((entry) => moved(entry, ledger, night.movedFrom));
          await book.synced(shown, night.days);
          if (night.reconciles) await book.reconciled();
          const [from, to] = night.published ?? [];
          await publish(from === undefined ? {} : { fromDay: from, toDay: to });
        }
        await book.synced(ledger, DAYS);
        await book.reconciled();
        expect(await publish()).toMatchObject({ withheld: [], unlinked: [] });
        expect(await publish()).toMatchObject({ published: [], unchanged: 0, withheld: [], unlinked: [] });
      } finally {
        await rm(folder, { recursive: true });
      }
    }),
    { numRuns: Number(process.env['DAYBOOK_LAW_RUNS'] ?? 25) },
  );
}, 300_000);

const isOn = ({ bookedAt }: LedgerEntry, days: readonly string[]): boolean =>
  days.some((day) => bookedAt.startsWith(day));

/** The entry with another balance, as if the platform had booked a hidden entry before it. */
const moved = (entry: LedgerEntry, ledger: readonly LedgerEntry[], from: number | null): LedgerEntry =>
  from === null || ledger.indexOf(entry) < Math.min(from, ledger.length - 1)
    ? entry
    : { ...entry, balance: addAmounts(entry.balance, '10.00') };
