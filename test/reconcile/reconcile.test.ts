import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import { BREAKS_KEPT_MAX } from '../../src/ledger/chain/account-days.ts';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { addAmounts, subtractAmounts } from '../../src/ledger/money.ts';
import type { ReconcileReport } from '../../src/reconcile/reconcile.ts';
import { listAccountDays } from '../../src/store/account-days.ts';
import { resolveBreak } from '../../src/store/breaks/break-cases.ts';
import { listBreaks } from '../../src/store/breaks/breaks.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { LeaseLost, releaseLeases } from '../../src/store/engine/lease.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { accountEntries, type Line } from '../support/ledger-entries.ts';
import { openReadLedger, type ReadLedger } from '../support/read-ledger.ts';

const NOW = new Date('2026-04-01T00:00:00Z');
let database: Database;
let ledger: ReadLedger;

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

beforeEach(async () => {
  await emptyTables(database.db);
  ledger = await openReadLedger(database.db);
});

const synced: ReadLedger['synced'] = (...read) => ledger.synced(...read);
const reconciled: ReadLedger['reconciled'] = (change) => ledger.reconciled(change);

const figures = async () =>
  (await listAccountDays(database.db)).map((d) => [d.day, d.opening, d.closing, d.verdict]);
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

test('days continue from one another, across days without entries', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  expect(await figures()).toEqual([
    ['2026-03-01', '50.00', '125.00', 'continuous'],
    ['2026-03-02', '125.00', '129.00', 'continuous'],
    ['2026-03-03', '129.00', '129.00', 'continuous'],
    ['2026-03-04', '129.00', '129.50', 'continuous'],
    ['2026-03-05', '129.50', '130.10', 'continuous'],
  ]);
});

describe('days proven to hold no entry', () => {
  const LATER = ['2026-03-06', '2026-03-07', '2026-03-08'];
  const daysOf = async () => (await figures()).map(([day]) => day);

  test('get figures one by one as they are proven, each once', async () => {
    await synced(LEDGER, DAYS);
    await reconciled();
    for (const [at, day] of LATER.entries()) {
      await synced([], [day]);
      expect(changed(await reconciled())).toEqual([day]);
      expect((await figures()).at(-1)).toEqual([day, '130.10', '130.10', 'continuous']);
      expect(changed(await reconciled())).toEqual([]);
      expect(await daysOf()).toEqual([...DAYS, ...LATER.slice(0, at + 1)]);
    }
  });

  test('get no figures before the account’s first day, nor after a day that was not read', async () => {
    await synced(LEDGER, [...DAYS.slice(1, 3), ...LATER.slice(1)]);
    await synced([], ['2026-02-28']);
    await reconciled();
    expect(await daysOf()).toEqual(['2026-03-02', '2026-03-03']);
    await synced(LEDGER, [...DAYS.slice(3), LATER[0]!]);
    await reconciled();
    expect(await daysOf()).toEqual([...DAYS.slice(1), ...LATER]);
  });

  test('get no figures while a part of them is not read', async () => {
    await synced(LEDGER, DAYS);
    const { beginMs, endMs } = dayWindow(LATER[0]!, 'UTC');
    await ledger.certified({ beginMs, endMs: endMs - 1_000 }, []);
    await reconciled();
    expect(await daysOf()).toEqual(DAYS);
    await ledger.certified({ beginMs, endMs }, []);
    await reconciled();
    expect(await daysOf()).toEqual([...DAYS, LATER[0]]);
  });

  test('change with the day before them, and become ordinary days once an entry comes', async () => {
    await synced(LEDGER, [...DAYS, ...LATER]);
    await reconciled();
    const more = accountEntries(13_010, [['2026-03-05 23:00:00', 100]], 'LATE');
    await synced([...LEDGER, ...more], DAYS);
    expect(changed(await reconciled())).toEqual(['2026-03-05', ...LATER]);
    expect((await figures()).at(-1)).toEqual([LATER[2], '131.10', '131.10', 'continuous']);
    const third = accountEntries(13_110, [[`${LATER[1]!} 08:00:00`, -10]], 'THIRD');
    await synced(third, [LATER[1]!]);
    expect(changed(await reconciled())).toEqual(LATER.slice(1));
    expect((await figures()).slice(-2)).toEqual([
      [LATER[1], '131.10', '131.00', 'continuous'],
      [LATER[2], '131.00', '131.00', 'continuous'],
    ]);
  });
});

test('a late entry changes the openings of the empty days after it and of the next day, and of no later day', async () => {
  const quiet = ['2026-03-02', '2026-03-03', '2026-03-04'];
  const lines: Line[] = [
    ['2026-03-01 09:00:00', 100],
    ...quiet.map((day): Line => [`${day} 12:00:00`, 5]),
    ['2026-03-01 18:00:00', 1_000],
    ['2026-03-05 09:00:00', 1],
    ['2026-03-06 09:00:00', 1],
  ];
  const all = accountEntries(0, lines).sort((a, b) => a.bookedMs - b.bookedMs);
  const hidden = all.filter(
    ({ bookedAt }) => bookedAt === '2026-03-01 18:00:00' || quiet.includes(bookedAt.slice(0, 10)),
  );
  const days = [...DAYS, '2026-03-06'];
  await synced(all, days);
  await reconciled();
  await synced(
    all.filter((entry) => !hidden.includes(entry)),
    days,
  );
  await reconciled();
  const late = hidden.filter(({ bookedAt }) => bookedAt.startsWith('2026-03-01'));
  await synced([...all.filter((entry) => !hidden.includes(entry)), ...late], days);
  const report = await reconciled();
  expect(report.daysChanged.map(({ day, oldClosing, newClosing }) => [day, oldClosing, newClosing])).toEqual([
    ['2026-03-01', '1.00', '11.15'],
    ['2026-03-02', '1.00', '11.15'],
    ['2026-03-03', '1.00', '11.15'],
    ['2026-03-04', '1.00', '11.15'],
    ['2026-03-05', '11.16', '11.16'],
  ]);
  expect(report.daysChained).toBe(5);
});

test('a second time without changes chains nothing and writes no row', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  const versions = () => sql`SELECT day, xmin::text FROM account_day ORDER BY day`.execute(database.db);
  const before = await versions();
  await synced(LEDGER, DAYS);
  const report = await reconciled();
  expect([report.accounts, report.daysChained]).toEqual([0, 0]);
  expect((await versions()).rows).toEqual(before.rows);
});

test('an entry missing during a day is one break of that day, which heals when the entry comes', async () => {
  await synced(without('B0001'), DAYS);
  const first = await reconciled();
  expect(first.opened.map((b) => [b.day, b.missing_net, b.after_batch_no, b.before_batch_no])).toEqual([
    ['2026-03-02', '-25.00', 'B0000', 'B0002'],
  ]);
  expect([first.opened[0]!.expected_balance, first.opened[0]!.found_balance]).toEqual(['150.00', '125.00']);
  expect([first.opened[0]!.begin_ms, first.opened[0]!.end_ms]).toEqual([
    Date.UTC(2026, 2, 1, 9),
    Date.UTC(2026, 2, 2, 9, 0, 0, 999),
  ]);
  await synced(LEDGER, DAYS);
  const second = await reconciled();
  expect(second.healed.map(({ id }) => id)).toEqual(first.opened.map(({ id }) => id));
  expect(await listBreaks(database.db)).toEqual([]);
});

test('a missing last entry also breaks its own day, across days without entries, and both days heal when it comes', async () => {
  const counted = async () =>
    (await listAccountDays(database.db)).map((d) => [d.day, d.verdict, d.break_count, d.breaks_after]);
  await synced(without('B0003'), DAYS.slice(0, 3));
  await reconciled();
  expect((await counted()).at(-1)).toEqual(['2026-03-03', 'continuous', 0, 0]);
  await database.db
    .updateTable('account_day')
    .set({ published_version: sql`version` })
    .execute();
  await synced(LEDGER, DAYS.slice(3));
  const { opened } = await reconciled();
  expect(opened.map(({ day, missing_net: net }) => [day, net])).toEqual([['2026-03-04', '-3.00']]);
  expect(await counted()).toEqual([
    ['2026-03-01', 'continuous', 0, 0],
    ['2026-03-02', 'broken', 1, 1],
    // The missing entry may also belong to the day without entries.
    ['2026-03-03', 'broken', 1, 1],
    ['2026-03-04', 'broken', 1, 0],
    ['2026-03-05', 'continuous', 0, 0],
  ]);
  const due = database.db
    .selectFrom('account_day')
    .select('day')
    .where(sql<boolean>`version <> published_version`);
  expect((await due.orderBy('day').execute()).map(({ day }) => day)).toEqual(DAYS.slice(1));
  await synced(LEDGER, DAYS);
  const { healed } = await reconciled();
  expect(healed.map(({ day }) => day)).toEqual(['2026-03-04']);
  expect((await counted()).map(([day, verdict]) => [day, verdict])).toEqual(
    DAYS.map((day) => [day, 'continuous']),
  );
});

test('an earlier day that is not chained again keeps the break after it, until the next day no longer has it', async () => {
  const SHIFTED = LEDGER.filter(({ bookedAt }) => bookedAt >= '2026-03-04').map((entry) => ({
    ...entry,
    balance: addAmounts(entry.balance, '1.00'),
  }));
  await synced([...LEDGER.filter(({ bookedAt }) => bookedAt < '2026-03-04'), ...SHIFTED], DAYS);
  await reconciled();
  const counts = async () =>
    (await listAccountDays(database.db)).map((d) => [d.day, d.break_count, d.breaks_after]);
  const broken = [
    ['2026-03-01', 0, 0],
    ['2026-03-02', 1, 1],
    ['2026-03-03', 1, 1],
    ['2026-03-04', 1, 0],
    ['2026-03-05', 0, 0],
  ];
  expect(await counts()).toEqual(broken);
  // This change of its entries does not affect any later day.
  const FEE = LEDGER.map((entry) =>
    entry.batchNo === 'B0002' ? { ...entry, transactionType: 'FEE' } : entry,
  );
  await synced(FEE, [DAYS[1]!]);
  await reconciled();
  expect(await counts()).toEqual(broken);
  // All later entries vanish. So no entry is left that could start from another balance.
  await synced([], DAYS.slice(2));
  await reconciled();
  expect((await counts()).map(([, count]) => count)).toEqual([0, 0, 0, 0, 0]);
});

test('a late last entry changes the next opening, and the cascade stops where figures agree', async () => {
  await synced(without('B0003'), DAYS);
  await reconciled();
  expect((await figures())[3]).toEqual(['2026-03-04', '132.00', '129.50', 'broken']);
  await synced(LEDGER, DAYS);
  const report = await reconciled();
  expect(changed(report)).toEqual(['2026-03-02', '2026-03-03', '2026-03-04']);
  expect(report.daysChained).toBe(3);
  expect((await figures())[3]).toEqual(['2026-03-04', '129.00', '129.50', 'continuous']);
});

test('a day whose entries all vanished keeps its row and passes the balance on', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  await synced(without('B0004'), DAYS);
  await reconciled();
  expect((await figures()).slice(2)).toEqual([
    ['2026-03-03', '129.00', '129.00', 'broken'],
    ['2026-03-04', '129.00', '129.00', 'broken'],
    ['2026-03-05', '129.00', '130.10', 'broken'],
  ]);
});

test('after days that were not read the chain begins anew, and is joined once they are read', async () => {
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

test('a break that a person resolved stays resolved while it is the same', async () => {
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
  expect(
    (await listBreaks(database.db, { ...EVERY_ACCOUNT, all: true })).map(({ status, note }) => [
      status,
      note,
    ]),
  ).toEqual([['resolved', 'known to the bank']]);
});

test('a first day whose entries all vanished keeps its row, with the balance that the next day opens with', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  await synced(without('B0000', 'B0001'), DAYS);
  await reconciled();
  expect((await figures()).slice(0, 2)).toEqual([
    ['2026-03-01', '125.00', '125.00', 'continuous'],
    ['2026-03-02', '125.00', '129.00', 'continuous'],
  ]);
  expect((await listAccountDays(database.db))[0]).toMatchObject({
    ...{ credit_total: '0.00', credit_count: 0, debit_total: '0.00', debit_count: 0, break_count: 0 },
  });
  expect(await listBreaks(database.db)).toEqual([]);
});

test('a day whose entries vanished before it was chained gets no row', async () => {
  await synced(LEDGER.slice(0, 1), ['2026-03-01']);
  await synced([], ['2026-03-01']);
  await reconciled();
  expect(await figures()).toEqual([]);
});

test('entries that trade places over midnight chain, whichever of the two days was stored first', async () => {
  const around = accountEntries(0, [
    ['2026-03-01 12:00:00', 1_000],
    ['2026-03-02 00:00:01', 200],
    ['2026-03-01 23:59:59', -300],
    ['2026-03-02 12:00:00', 400],
  ]);
  const expected = [
    ['2026-03-01', '0.00', '7.00', 'reordered'],
    ['2026-03-02', '7.00', '13.00', 'reordered'],
  ];
  for (const order of [
    ['2026-03-01', '2026-03-02'],
    ['2026-03-02', '2026-03-01'],
  ]) {
    await emptyTables(database.db);
    ledger = await openReadLedger(database.db);
    for (const day of order) {
      await synced(around, [day]);
      await reconciled();
    }
    expect(await figures()).toEqual(expected);
    expect(await listBreaks(database.db)).toEqual([]);
  }
});

test('on an account with entries around every midnight, a late entry still costs only the days it changes', async () => {
  const days = Array.from({ length: 20 }, (_, index) => addDays('2026-03-01', index));
  const lines = days.flatMap((day): Line[] => [
    [`${day} 00:00:00`, 100],
    [`${day} 00:00:00`, 25],
    [`${day} 12:00:00`, 1],
    [`${day} 18:00:00`, 2],
    [`${day} 23:59:59`, -50],
    [`${day} 23:59:59`, 75],
  ]);
  const busy = accountEntries(0, lines);
  await synced(
    busy.filter(({ batchNo }) => batchNo !== 'B0014'),
    days,
  );
  await reconciled();
  await synced(busy, days);
  const report = await reconciled();
  expect(changed(report)).toEqual(['2026-03-03']);
  expect(report.daysChained).toBe(1);
});

test('a break found again with other balances around it keeps its id and shows the new ones', async () => {
  await synced(without('B0001'), DAYS);
  const { opened } = await reconciled();
  const lifted = LEDGER.map((entry) => ({ ...entry, balance: addAmounts(entry.balance, '1000.00') }));
  await synced(
    lifted.filter(({ batchNo }) => batchNo !== 'B0001'),
    DAYS,
  );
  const report = await reconciled();
  expect([report.opened, report.healed]).toEqual([[], []]);
  const [row] = await listBreaks(database.db);
  expect([row!.id, row!.expected_balance, row!.found_balance]).toEqual([opened[0]!.id, '1150.00', '1125.00']);
});

test('a hold placed on one day and released on another is recognized, until one of the two breaks is gone', async () => {
  const held = LEDGER.map((entry, index) =>
    index >= 2 && index < 4 ? { ...entry, balance: subtractAmounts(entry.balance, '40.00') } : entry,
  );
  await synced(held, DAYS.slice(0, 2));
  await reconciled();
  await synced(held, DAYS);
  await reconciled();
  const hints = async () =>
    (await listBreaks(database.db)).map((b) => [b.day, b.missing_net, b.hint, b.hint_batch_no]);
  expect(await hints()).toEqual([
    ['2026-03-02', '-40.00', 'offset-by-later-break', 'B0004'],
    ['2026-03-04', '40.00', 'offsets-earlier-break', 'B0002'],
  ]);
  await synced(
    held.filter(({ batchNo }) => batchNo !== 'B0004' && batchNo !== 'B0005'),
    DAYS,
  );
  await reconciled();
  expect(await hints()).toEqual([['2026-03-02', '-40.00', 'unexplained', null]]);
});

test('the same breaks have the same hints, whether found day by day, or before and after they were a pair', async () => {
  // Lower by the amount of B0001, the last entry of the day before.
  const short = LEDGER.map((entry, index) =>
    index >= 2 && index < 4 ? { ...entry, balance: subtractAmounts(entry.balance, '25.00') } : entry,
  );
  const hints = async () => (await listBreaks(database.db)).map((b) => [b.day, b.hint, b.hint_batch_no]);
  const atNeighbour = [['2026-03-02', 'equals-neighbour', 'B0001']];
  await synced(short, DAYS.slice(0, 2));
  await reconciled();
  expect(await hints()).toEqual(atNeighbour);
  await synced(short, DAYS);
  await reconciled();
  expect(await hints()).toEqual([
    ['2026-03-02', 'offset-by-later-break', 'B0004'],
    ['2026-03-04', 'offsets-earlier-break', 'B0002'],
  ]);
  await synced(
    short.filter(({ batchNo }) => batchNo !== 'B0004' && batchNo !== 'B0005'),
    DAYS,
  );
  await reconciled();
  expect(await hints()).toEqual(atNeighbour);
});

test(
  'of a day with very many breaks, all are counted and a limited number is kept',
  { tags: ['long'] },
  async () => {
    const shattered = Array.from({ length: BREAKS_KEPT_MAX + 200 }, (_, index) => ({
      ...LEDGER[0]!,
      batchNo: `S${String(index).padStart(5, '0')}`,
      balance: `${index * 1_000}.00`,
      bookedAt: new Date(Date.UTC(2026, 2, 1) + index * 10_000).toISOString().slice(0, 19).replace('T', ' '),
      bookedMs: Date.UTC(2026, 2, 1) + index * 10_000,
    }));
    await synced(shattered, ['2026-03-01']);
    const { opened } = await reconciled();
    expect(opened).toHaveLength(BREAKS_KEPT_MAX);
    const [day] = await listAccountDays(database.db);
    expect([day!.verdict, day!.break_count]).toEqual(['broken', BREAKS_KEPT_MAX + 199]);
  },
);

test('days whose entries trade places at every midnight are chained together, up to eight of them', async () => {
  const days = Array.from({ length: 12 }, (_, nth) => addDays('2026-03-01', nth));
  const atMidnight = days.slice(1).flatMap((day, nth): Line[] => [
    [`${days[nth]!} 12:00:00`, 100],
    [`${day} 00:00:01`, 200],
    [`${days[nth]!} 23:59:59`, 400],
  ]);
  await synced(accountEntries(0, atMidnight), days);
  await reconciled();
  const found = await listAccountDays(database.db);
  expect(found.map(({ clean_end }) => clean_end)).toEqual(days.map((_, nth) => nth === 7 || nth === 11));
  // Only where the chain is cut is something missing.
  expect(found.flatMap(({ verdict }, nth) => (verdict === 'broken' ? [nth] : []))).toEqual([7, 8]);
});

test('a long account needs several transactions, and all days stay on the list until the last one', async () => {
  const bounded = { passMax: { days: 2, breaks: 100 } };
  await synced(without('B0001'), DAYS);
  await reconciled(bounded);
  const once = await figures();
  expect(once.map(([day]) => day)).toEqual(DAYS);
  const stop = new AbortController();
  const stopping = { ...bounded, now: () => (stop.abort(new Error('stopped')), NOW), signal: stop.signal };
  await synced(
    LEDGER.map((entry) => ({ ...entry, balance: addAmounts(entry.balance, '1.00') })),
    DAYS,
  );
  await expect(reconciled(stopping)).rejects.toThrow('stopped');
  expect((await sql`SELECT day FROM changed_day ORDER BY day`.execute(database.db)).rows).toEqual([
    { day: '2026-03-01' },
    { day: '2026-03-02' },
    { day: '2026-03-04' },
    { day: '2026-03-05' },
  ]);
  await reconciled(bounded);
  expect((await figures()).at(-1)).toEqual(['2026-03-05', '130.50', '131.10', 'continuous']);
  expect(await listBreaks(database.db)).toEqual([]);
});

test('without the lease nothing is written, and the changed days stay on the list', async () => {
  await synced(LEDGER, DAYS);
  await releaseLeases(database.db, [ledger.lease]);
  await expect(reconciled()).rejects.toThrow(LeaseLost);
  expect(await figures()).toEqual([]);
  expect((await sql`SELECT * FROM changed_day`.execute(database.db)).rows).toHaveLength(4);
});

test('a change of an entry that affects no balance makes only its own day due', async () => {
  await synced(LEDGER, DAYS);
  await reconciled();
  await database.db
    .updateTable('account_day')
    .set({ published_version: sql`version` })
    .execute();
  await synced(
    LEDGER.map((entry) => (entry.batchNo === 'B0002' ? { ...entry, transactionType: 'FEE' } : entry)),
    DAYS,
  );
  const report = await reconciled();
  expect(report.daysChanged).toEqual([]);
  const due = await database.db
    .selectFrom('account_day')
    .select('day')
    .where(sql<boolean>`version <> published_version`)
    .execute();
  expect(due).toEqual([{ day: '2026-03-02' }]);
});
