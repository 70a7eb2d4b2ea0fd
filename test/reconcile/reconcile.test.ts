import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { createCurrencies } from '../../src/ledger/money.ts';
import { reconcileAccounts, type ReconcileReport } from '../../src/reconcile/reconcile.ts';
import { listAccountDays } from '../../src/store/account-days.ts';
import { listBreaks, resolveBreak } from '../../src/store/breaks.ts';
import type { Database } from '../../src/store/connection.ts';
import { acquireLease, type Lease } from '../../src/store/lease.ts';
import { thisHolder } from '../../src/store/process-identity.ts';
import { startRun } from '../../src/store/runs.ts';
import { storeWindow } from '../../src/store/windows.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries, type Line } from '../support/ledger-entries.ts';

const NOW = new Date('2026-04-01T00:00:00Z');
const MERCHANT = 'M-TEST';
let database: Database;
let lease: Lease;
let runId: number;

beforeEach(async () => {
  database = await freshDatabase();
  lease = await acquireLease(database.db, {
    name: 'ledger',
    holder: thisHolder(),
    ttlMs: 600_000,
    now: new Date(),
  });
  runId = await startRun(database.db, {
    command: 'run',
    holder: 'test',
    fromDay: null,
    toDay: null,
    now: NOW,
  });
});
afterEach(() => database.close());

/** Stores what the platform holds of whole days, each under certificate. */
async function synced(entries: readonly LedgerEntry[], days: readonly string[]): Promise<void> {
  for (const day of days) {
    const window = dayWindow(day, 'UTC');
    const held = entries.filter(({ bookedMs }) => bookedMs >= window.beginMs && bookedMs <= window.endMs);
    await storeWindow(database.db, lease, {
      merchantNo: MERCHANT,
      window,
      reading: {
        entries: held,
        rejected: [],
        total: held.length,
        requests: 1,
        certified: true,
        problem: null,
      },
      runId,
      now: NOW,
    });
  }
}

const reconciled = (): Promise<ReconcileReport> =>
  reconcileAccounts({
    db: database.db,
    lease,
    zone: 'UTC',
    clockToleranceS: 2,
    currencies: createCurrencies({}),
    merchants: null,
    currenciesAsked: null,
    runId,
    now: () => NOW,
    signal: new AbortController().signal,
  });

const figures = async () =>
  (await listAccountDays(database.db, {})).map((d) => [d.day, d.opening, d.closing, d.verdict]);
const changed = (report: ReconcileReport) => report.daysChanged.map(({ day }) => day);

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05'];
const LINES: Line[] = [
  ['2026-03-01 09:00:00', 10_000],
  ['2026-03-01 10:00:00', -2_500],
  ['2026-03-02 09:00:00', 700],
  ['2026-03-02 23:00:00', -300],
  ['2026-03-04 09:00:00', 50],
  ['2026-03-05 09:00:00', 60],
];
const LEDGER = accountEntries(5_000, LINES);
const without = (...batchNos: string[]) => LEDGER.filter(({ batchNo }) => !batchNos.includes(batchNo));

test('days take up from one another, over days without entries', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  expect(await figures()).toEqual([
    ['2026-03-01', '50.00', '125.00', 'continuous'],
    ['2026-03-02', '125.00', '129.00', 'continuous'],
    ['2026-03-04', '129.00', '129.50', 'continuous'],
    ['2026-03-05', '129.50', '130.10', 'continuous'],
  ]);
});

test('again without changes, nothing is chained and no row is written', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  const versions = () => sql`SELECT day, xmin::text FROM account_day ORDER BY day`.execute(database.db);
  const before = await versions();
  await synced(LEDGER, DAYS);
  const report = await reconciled();
  expect([report.accounts, report.daysChained]).toEqual([0, 0]);
  expect((await versions()).rows).toEqual(before.rows);
});

test('an entry missing in mid-day is one break of that day, and heals when it comes', async () => {
  await synced(without('B0001'), DAYS);
  const first = await reconciled();
  expect(first.opened.map((b) => [b.day, b.missing_net, b.after_batch_no, b.before_batch_no])).toEqual([
    ['2026-03-02', '-25.00', 'B0000', 'B0002'],
  ]);
  await synced(LEDGER, DAYS);
  const second = await reconciled();
  expect(second.healed.map(({ id }) => id)).toEqual(first.opened.map(({ id }) => id));
  expect(await listBreaks(database.db)).toEqual([]);
});

test('a late last entry moves the next opening, and the cascade stops where figures agree', async () => {
  await synced(without('B0003'), DAYS);
  await reconciled();
  expect((await figures())[2]).toEqual(['2026-03-04', '132.00', '129.50', 'broken']);
  await synced(LEDGER, DAYS);
  const report = await reconciled();
  expect(changed(report)).toEqual(['2026-03-02', '2026-03-04']);
  expect(report.daysChained).toBe(2);
  expect((await figures())[2]).toEqual(['2026-03-04', '129.00', '129.50', 'continuous']);
});

test('a day whose entries all vanished keeps its row and passes the balance on', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  await synced(without('B0004'), DAYS);
  await reconciled();
  expect((await figures()).slice(2)).toEqual([
    ['2026-03-04', '129.00', '129.00', 'continuous'],
    ['2026-03-05', '129.00', '130.10', 'broken'],
  ]);
});

test('over a stretch nobody read the chain begins anew, and joins once the stretch is read', async () => {
  await synced(LEDGER, ['2026-03-01', '2026-03-05']);
  await reconciled();
  expect(await figures()).toEqual([
    ['2026-03-01', '50.00', '125.00', 'continuous'],
    ['2026-03-05', '129.50', '130.10', 'continuous'],
  ]);
  await synced(without('B0004'), ['2026-03-02', '2026-03-03', '2026-03-04']);
  const report = await reconciled();
  expect(report.opened.map((b) => [b.day, b.missing_net])).toEqual([['2026-03-05', '0.50']]);
  expect((await figures()).at(-1)).toEqual(['2026-03-05', '129.00', '130.10', 'broken']);
});

test('a break a person resolved stays resolved while it is the same', async () => {
  await synced(without('B0001'), DAYS);
  const { opened } = await reconciled();
  await resolveBreak(database.db, opened[0]!.id, 'known to the bank', NOW);
  const late = accountEntries(0, [['2026-03-02 09:00:00', 0]], 'ZERO').map((entry) => ({
    ...entry,
    balance: '132.00',
  }));
  await synced([...without('B0001'), ...late], DAYS);
  const report = await reconciled();
  expect(report.opened).toEqual([]);
  expect((await listBreaks(database.db, { all: true })).map(({ status, note }) => [status, note])).toEqual([
    ['resolved', 'known to the bank'],
  ]);
});
