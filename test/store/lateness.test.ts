/** An entry counts as late if its instant was under certificate without it: checked against all readings, one by one. */
import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { latenessMeasured } from '../../src/store/lateness.ts';
import { storeWindow } from '../support/store-window.ts';
import type { WindowReading } from '../../src/store/compare-with-stored.ts';
import { emptyTables } from '../support/database.ts';
import { acquireLease } from '../../src/store/engine/lease.ts';
import { startRun } from '../../src/store/runs.ts';
import {
  certified,
  DAY,
  DAY_BEGIN_MS,
  entry,
  MERCHANT,
  NOW,
  onBothDatabases,
  uncertified,
  unreadable,
  type StoreUnderTest,
} from './support.ts';

const DAY_MS = 86_400_000;
const TODAY = '2026-03-10';
const at = (days: number): Date => new Date(DAY_BEGIN_MS + days * DAY_MS);

interface Read {
  readonly reading: WindowReading;
  readonly now: Date;
  readonly currency?: string | null;
  readonly runId?: number;
}
const RUN = { command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null } as const;

onBothDatabases((store) => {
  const startedRun = () => startRun(store().db, { ...RUN, now: NOW });
  /** Each reading is of a run of its own, unless one is given. */
  const read = async (
    { db, lease }: StoreUnderTest,
    { reading, now, currency = null, runId }: Read,
    window = DAY,
  ) =>
    storeWindow(db, lease, {
      ...{ merchantNo: MERCHANT, window, currency, reading, now },
      runId: runId ?? (await startedRun()),
    });
  const late = async () => (await latenessMeasured(store().db, [MERCHANT], TODAY)).get(MERCHANT)?.late ?? [];
  const [first, second] = [entry(1), entry(2)];

  it.each<[string, readonly Read[], unknown]>([
    [
      'found by the first reading of its time, however late',
      [{ reading: certified([first]), now: at(80) }],
      [],
    ],
    [
      'found by the first reading that was certified',
      [
        { reading: uncertified([first]), now: at(1.1) },
        { reading: certified([first, second]), now: at(5.1) },
      ],
      [],
    ],
    [
      'found after a certificate without it',
      [
        { reading: certified([first]), now: at(1.1) },
        { reading: certified([first, second]), now: at(3.1) },
      ],
      [{ daysMin: 1, daysMax: 4, entries: 1 }],
    ],
    [
      'found after a certificate without it, by a reading that was not certified',
      [
        { reading: certified([first]), now: at(1.1) },
        { reading: uncertified([first, second]), now: at(2.1) },
        { reading: certified([first, second]), now: at(9.1) },
      ],
      [{ daysMin: 1, daysMax: 3, entries: 1 }],
    ],
    [
      'gone and back again: it came when it came first',
      [
        { reading: certified([first, second]), now: at(1.1) },
        { reading: certified([first]), now: at(2.1) },
        { reading: certified([first]), now: at(3.1) },
        { reading: certified([first, second]), now: at(4.1) },
      ],
      [],
    ],
    [
      'there from the first reading on, but unreadable',
      [
        { reading: certified([first], [{ ...unreadable('{}'), batchNo: second.batchNo }]), now: at(1.1) },
        { reading: certified([first, second]), now: at(3.1) },
      ],
      [],
    ],
    [
      'perhaps there from the first reading on, unreadable and without its number',
      [
        { reading: certified([first], [unreadable('{}')]), now: at(1.1) },
        { reading: certified([first, second]), now: at(3.1) },
      ],
      [],
    ],
    [
      'together with others, in one transaction with an amendment',
      [
        { reading: certified([first]), now: at(1.1) },
        { reading: certified([{ ...first, balance: '7.00' }, second, entry(3)]), now: at(2.1) },
      ],
      [{ daysMin: 1, daysMax: 3, entries: 2 }],
    ],
  ])('an entry %s', async (_, readings, counted) => {
    for (const one of readings) await read(store(), one);
    expect(await late()).toEqual(counted);
  });

  it('late ones of one month and one lateness are one row, and storing them again adds nothing', async () => {
    await read(store(), { reading: certified([]), now: at(1.1) });
    const three = [first, second, entry(3)];
    await read(store(), { reading: certified(three), now: at(2.1) });
    await read(store(), { reading: certified(three), now: at(3.1) });
    expect(await store().db.selectFrom('lateness_count').selectAll().execute()).toEqual([
      { merchant_no: MERCHANT, month: '2026-03-01', days_min: 1, days_max: 3, entries: 3, sampled_on: null },
    ]);
  });

  it('an entry that the same run certified the lack of, and then read, says nothing of lateness', async () => {
    const runId = await startedRun();
    await read(store(), { reading: certified([first]), now: at(300.1), runId });
    await read(store(), { reading: certified([first, second]), now: at(300.2), runId });
    expect(await late()).toEqual([]);
    await read(store(), { reading: certified([first, second, entry(3)]), now: at(301.1) });
    expect(await late()).toEqual([{ daysMin: 300, daysMax: 302, entries: 1 }]);
  });

  it('late ones that were certified by a clock which ran ahead are one row, if they came within one day', async () => {
    const [morning, evening] = [bookedAt(1, 3_600), bookedAt(2, 82_800)];
    await read(store(), { reading: certified([]), now: at(12.5) });
    await read(store(), { reading: certified([morning, evening]), now: at(9.99) });
    expect(await late()).toEqual([{ daysMin: 10, daysMax: 10, entries: 2 }]);
  });

  it('what came late long ago no longer counts, and other merchants never did', async () => {
    await read(store(), { reading: certified([]), now: at(1.1) });
    await read(store(), { reading: certified([first]), now: at(2.1) });
    const on = async (day: string) =>
      (await latenessMeasured(store().db, [MERCHANT, 'M2'], day)).get(MERCHANT)?.late ?? [];
    expect(await on('2027-04-30')).toHaveLength(1);
    expect(await on('2027-05-01')).toEqual([]);
    expect((await latenessMeasured(store().db, ['M2'], TODAY)).size).toBe(0);
  });

  it('what a night reads of it is bounded, however long it was measured', async () => {
    const { db } = store();
    await sql`
      INSERT INTO lateness_count (merchant_no, month, days_min, days_max, entries, sampled_on)
      SELECT ${MERCHANT}, ('2026-03-01'::date - nth * interval '1 month')::date, 0, 0, 600, '2026-03-09'
      FROM generate_series(0, 99) nth`.execute(db);
    await sql`
      INSERT INTO lateness_count (merchant_no, month, days_min, days_max, entries)
      SELECT ${MERCHANT}, ('2026-03-01'::date - nth * interval '1 month')::date, 1, days_max, 1
      FROM generate_series(0, 99) nth, generate_series(1, 3) days_max`.execute(db);
    const { late: counts, watched } = (await latenessMeasured(db, [MERCHANT], TODAY)).get(MERCHANT)!;
    expect(counts).toEqual([1, 2, 3].map((daysMax) => ({ daysMin: 1, daysMax, entries: 14 })));
    expect([watched.length, watched[0]!.month, watched.at(-1)!.month]).toEqual([
      14,
      '2025-02-01',
      '2026-03-01',
    ]);
  });

  it('in any history of readings, counts those that a certificate lacked, with bounds that hold', async () => {
    const { database } = store();
    const { db } = database;
    const history = fc.record({
      entries: fc.array(fc.record({ second: fc.nat(86_399), appears: fc.nat(12) }), { maxLength: 12 }),
      readings: fc.array(fc.record({ isCertified: fc.boolean() }), { maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(history, async ({ entries, readings }) => {
        await emptyTables(db);
        const lease = await acquireLease(db, { name: 'merchant/M1', holder: 'test:1:-', ttlMs: 60_000 });
        const { runId } = store();
        const all = entries.map((one, n) => ({ ...one, entry: bookedAt(n, one.second) }));
        const truth: { readonly min: number; readonly max: number }[] = [];
        const seen = new Set<string>();
        let certificates: { readonly beginMs: number; readonly endMs: number; readonly atMs: number }[] = [];
        for (const [nth, { isCertified }] of readings.entries()) {
          const now = at(1 + nth * 0.7);
          const window = DAY;
          const shown = all
            .filter(({ appears, entry: { bookedMs } }) => appears <= nth && isIn(window, bookedMs))
            .map((one) => one.entry);
          for (const { batchNo, bookedMs } of shown) {
            const lacking = certificates.filter((one) => isIn(one, bookedMs));
            if (!seen.has(batchNo) && lacking.length > 0)
              truth.push({
                min: (Math.max(...lacking.map(({ atMs }) => atMs)) - bookedMs) / DAY_MS,
                max: (now.getTime() - bookedMs) / DAY_MS,
              });
            seen.add(batchNo);
          }
          const reading = isCertified ? certified(shown) : uncertified(shown);
          await read({ database, db, lease, runId }, { reading, now }, window);
          // A day whose last reading failed has no certificate.
          certificates = isCertified ? [...certificates, { ...window, atMs: now.getTime() }] : [];
        }
        const counted = (await late()).flatMap(({ daysMin, daysMax, entries: count }) =>
          Array.from({ length: count }, () => ({ daysMin, daysMax })),
        );
        const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b);
        expect(sorted(counted.map(({ daysMax }) => daysMax))).toEqual(
          sorted(truth.map(({ max }) => Math.max(1, Math.ceil(max)))),
        );
        // A certificate that says the same as the one before keeps its time, so the lower bound may be lower.
        const lowest = sorted(counted.map(({ daysMin }) => daysMin));
        sorted(truth.map(({ min }) => Math.floor(min))).forEach((min, nth) => {
          expect(lowest[nth]).toBeLessThanOrEqual(Math.max(0, min));
        });
      }),
      { numRuns: 12 },
    );
  });
});

const isIn = (
  { beginMs, endMs }: { readonly beginMs: number; readonly endMs: number },
  ms: number,
): boolean => ms >= beginMs && ms <= endMs;

function bookedAt(n: number, second: number): LedgerEntry {
  const bookedMs = DAY_BEGIN_MS + second * 1_000;
  return entry(n, { bookedMs, bookedAt: new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' ') });
}
