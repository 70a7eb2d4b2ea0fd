import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import { explain, storiesOf } from '../../src/ledger/hints/stories.ts';
import type { LedgerEntry, UnreadableEntry } from '../../src/ledger/entry.ts';
import { addAmounts } from '../../src/ledger/money.ts';
import { readQuarantined } from '../../src/platform/ledger-entry.ts';
import { knownBreak, listBreaks } from '../../src/store/breaks/breaks.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { accountEntries, type Line } from '../support/ledger-entries.ts';
import { MERCHANT, openReadLedger, type ReadLedger } from '../support/read-ledger.ts';

const DAYS = ['2026-03-01', '2026-03-02'];
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

/** Stores what the platform holds of these days, and chains it. */
async function reconciled(
  entries: readonly LedgerEntry[],
  days: readonly string[] = DAYS,
  unreadable: readonly UnreadableEntry[] = [],
): Promise<void> {
  await ledger.synced(entries, days, { unreadable });
  await ledger.reconciled({ readQuarantined, accounts: { merchantNo: MERCHANT, currencies: null } });
}

const hints = async () =>
  (await listBreaks(database.db)).map((row) => [
    row.currency,
    row.after_batch_no,
    row.before_batch_no,
    row.hint,
    row.hint_batch_no,
  ]);
const causes = async () =>
  storiesOf((await listBreaks(database.db)).map(knownBreak)).map(({ breaks, cause }) => [
    breaks.length,
    cause,
  ]);

const LINES: readonly Line[] = [
  ['2026-03-01 09:00:00', 10_000],
  ['2026-03-01 10:00:00', -2_500],
  ['2026-03-01 11:00:00', 6_100],
  ['2026-03-01 12:00:00', -737],
  ['2026-03-02 09:00:00', 3_391],
  ['2026-03-02 10:00:00', 1_253],
  ['2026-03-02 11:00:00', -4_119],
  ['2026-03-02 12:00:00', 9_077],
];
const LEDGER = accountEntries(50_000, LINES);
const EUROS = accountEntries(7_000_000, LINES, 'E').map((entry) => ({ ...entry, currency: 'EUR' }));
const shown = (ledger: readonly LedgerEntry[], changes: Readonly<Record<string, Partial<LedgerEntry>>>) =>
  ledger.map((entry) => ({ ...entry, ...changes[entry.batchNo] }));
const amounts = ({ credit, debit }: LedgerEntry) => ({ credit, debit });
const stamp = (bookedAt: string) => ({ bookedAt, bookedMs: Date.parse(`${bookedAt.replace(' ', 'T')}Z`) });

test('an entry stamped a day early is one cause of the breaks at both places', async () => {
  await reconciled(shown(LEDGER, { B0005: stamp('2026-03-01 10:30:00') }));
  expect(await causes()).toEqual([
    [
      3,
      'The timestamp of B0005 is wrong: moved to where it fits exactly, between B0004 and B0006, the chain holds.',
    ],
  ]);
});

test('an entry stamped a day late is missing at first, and recognized as soon as its new day is read', async () => {
  const late = shown(LEDGER, { B0001: stamp('2026-03-02 10:30:00') });
  await reconciled(late, DAYS.slice(0, 1));
  expect(await hints()).toEqual([['USD', 'B0000', 'B0002', 'unexplained', null]]);
  await reconciled(late, DAYS.slice(1));
  expect(await causes()).toEqual([
    [
      3,
      'The timestamp of B0001 is wrong: moved to where it fits exactly, between B0000 and B0002, the chain holds.',
    ],
  ]);
  await reconciled(LEDGER);
  expect(await hints()).toEqual([]);
});

test('the last entry and the one before it are recognized, though nothing follows them', async () => {
  await reconciled(
    shown(LEDGER, { B0006: stamp('2026-03-02 12:00:00'), B0007: stamp('2026-03-02 11:00:00') }),
  );
  expect(await causes()).toEqual([
    [2, 'The timestamp of B0007 or of B0006 is wrong: in the other order the chain holds.'],
  ]);
});

test('swapped amounts are distinguished from a wrong balance', async () => {
  const [one, two] = [LEDGER[2]!, LEDGER[3]!];
  await reconciled(shown(LEDGER, { B0002: amounts(two), B0003: amounts(one) }));
  expect(await causes()).toEqual([
    [2, 'The amounts of B0002 and B0003 are wrong: each shows the other’s, and swapped the chain holds.'],
  ]);
  await reconciled(shown(LEDGER, { B0002: { balance: addAmounts(LEDGER[2]!.balance, '0.01') } }));
  expect(await causes()).toEqual([
    [
      2,
      'The balance of B0002 is wrong by 0.01 USD and every other figure fits, or the amounts of B0002 and of the entry after ' +
        'it are wrong.',
    ],
  ]);
});

test('an entry shown in another currency is recognized in both accounts, whichever is chained first', async () => {
  const expected = [
    [3, 'The currency of B0002 is wrong: it stands in EUR, and fits exactly in USD between B0001 and B0003.'],
  ];
  const mixed = [...shown(LEDGER, { B0002: { currency: 'EUR' } }), ...EUROS].map((entry) =>
    entry.batchNo === 'B0002' ? { ...entry, ...stamp('2026-03-01 11:00:05') } : entry,
  );
  await reconciled(mixed);
  expect(await causes()).toEqual(expected);
  const other = [...LEDGER, ...shown(EUROS, { E0002: { currency: 'USD', ...stamp('2026-03-01 11:00:05') } })];
  await reconciled(other);
  expect(await causes()).toEqual([
    [
      3,
      'Amended entry E0002 explains it: with the content that the platform showed before, the chain holds ' +
        '(`daybook amendments`).',
    ],
  ]);
  await reconciled([...LEDGER, ...EUROS]);
  expect(await hints()).toEqual([]);
});

test('an entry shown in a currency that nothing else has is recognized, though its own account has no break', async () => {
  await reconciled(shown(LEDGER, { B0002: { currency: 'QQQ' } }));
  expect(await causes()).toEqual([
    [
      1,
      'The currency of B0002 is wrong: it is the first in its account, and fits exactly in USD between B0001 and B0003.',
    ],
  ]);
  await reconciled(shown(LEDGER, { B0002: { currency: 'QQQ', balance: '636.01' } }));
  expect(await hints()).toEqual([['USD', 'B0001', 'B0003', 'unexplained', null]]);
});

test('a missing entry is not found in another currency if nothing fits there', async () => {
  const all = [...LEDGER, ...EUROS].filter(({ batchNo }) => !['B0002', 'E0005'].includes(batchNo));
  await reconciled(all);
  expect(await hints()).toEqual([
    ['USD', 'B0001', 'B0003', 'unexplained', null],
    ['EUR', 'E0004', 'E0006', 'unexplained', null],
  ]);
});

describe('an entry in quarantine', () => {
  const without = (...gone: readonly string[]) => LEDGER.filter(({ batchNo }) => !gone.includes(batchNo));
  const unreadable = (batchNo: string | null, fields: string): UnreadableEntry => ({
    raw: `{"batchNo":${JSON.stringify(batchNo)},"currency":"USD",${fields}}`,
    reason: 'cannot be read',
    batchNo,
  });

  test('with the amount of a break explains it, and wins over other causes', async () => {
    const both = unreadable('B0002', '"inAmount":61.00,"outAmount":61.00');
    await reconciled(without('B0002'), DAYS, [both]);
    expect(await hints()).toEqual([['USD', 'B0001', 'B0003', 'quarantined-entry', 'B0002']]);
    expect((await listBreaks(database.db)).map((row) => explain(knownBreak(row)))).toEqual([
      'After B0001 the balance is 575.00 USD, but B0003 starts from 636.00 USD: a net credit of 61.00 USD between these two entries is not in ' +
        'the chain. Quarantined entry B0002 explains it: the platform sends exactly that amount there, in an entry that ' +
        'cannot be read as one (`daybook quarantine`).',
    ]);
  });

  test('wins over a pair of opposite breaks, and leaves the other break alone', async () => {
    const ledger = accountEntries(10_000, [
      ['2026-03-01 09:00:00', 10_000],
      ['2026-03-01 10:00:00', -2_500],
      ['2026-03-01 11:00:00', 6_100],
      ['2026-03-01 11:30:00', 40],
      ['2026-03-01 12:00:00', 2_500],
      ['2026-03-01 13:00:00', 700],
    ]).filter(({ batchNo }) => batchNo !== 'B0001' && batchNo !== 'B0004');
    await reconciled(ledger);
    expect((await hints()).map(([, , , hint]) => hint)).toEqual([
      'offset-by-later-break',
      'offsets-earlier-break',
    ]);
    await reconciled(ledger, DAYS, [unreadable('B0001', '"inAmount":null,"outAmount":"25.00"')]);
    expect((await hints()).map(([, , , hint, batchNo]) => [hint, batchNo])).toEqual([
      ['quarantined-entry', 'B0001'],
      ['unexplained', null],
    ]);
  });

  test('without a readable amount, or with another, may explain a break, so nothing is said to be missing', async () => {
    await reconciled(without('B0002'), DAYS, [unreadable('B0002', '"inAmount":"sixty-one"')]);
    expect(await hints()).toEqual([['USD', 'B0001', 'B0003', 'quarantined-in-span', 'B0002']]);
    expect((await causes()).join()).not.toMatch(/missing/);
  });

  test('in another currency, or on another day, explains nothing', async () => {
    const other = { ...unreadable('X', '"inAmount":61.00'), raw: '{"currency":"EUR","inAmount":61.00}' };
    await reconciled(without('B0002'), DAYS, [other]);
    expect(await hints()).toEqual([['USD', 'B0001', 'B0003', 'unexplained', null]]);
    await reconciled(without('B0002'), [DAYS[1]!, DAYS[0]!], [unreadable('B0002', '"inAmount":61.00')]);
    expect(await hints()).toEqual([['USD', 'B0001', 'B0003', 'unexplained', null]]);
  });

  test('explains a break together with a second one in its span', async () => {
    const two = [unreadable('B0001', '"inAmount":0,"outAmount":25'), unreadable(null, '"inAmount":61')];
    await reconciled(without('B0001', 'B0002'), DAYS, two);
    expect(await hints()).toEqual([['USD', 'B0000', 'B0003', 'quarantined-entry', null]]);
    expect((await causes())[0]![1]).toMatch(/^What is quarantined there explains it: /);
  });

  test('explains one break only, and none when the platform no longer sends it', async () => {
    const ledger = accountEntries(10_000, [
      ['2026-03-01 09:00:00', 100],
      ['2026-03-01 10:00:00', 6_100],
      ['2026-03-01 11:00:00', 100],
      ['2026-03-01 12:00:00', 6_100],
      ['2026-03-01 13:00:00', 200],
    ]).filter(({ batchNo }) => batchNo !== 'B0001' && batchNo !== 'B0003');
    await reconciled(ledger, DAYS, [unreadable('B0001', '"inAmount":61')]);
    expect((await hints()).map(([, , , hint]) => hint)).toEqual(['quarantined-entry', 'unexplained']);
    await reconciled(ledger);
    expect((await hints()).map(([, , , hint]) => hint)).toEqual(['unexplained', 'unexplained']);
  });
});

test('of a healed break nothing is said to be missing any more', async () => {
  await reconciled(LEDGER.filter(({ batchNo }) => batchNo !== 'B0002'));
  await reconciled(LEDGER);
  expect(
    (await listBreaks(database.db, { ...EVERY_ACCOUNT, all: true })).map((row) => explain(knownBreak(row))),
  ).toEqual([
    'After B0001 the balance was 575.00 USD, but B0003 started from 636.00 USD: a net credit of 61.00 USD was unexplained ' +
      'between these two entries; the balance carries forward there now.',
  ]);
});

const without = (...gone: readonly string[]) => LEDGER.filter(({ batchNo }) => !gone.includes(batchNo));
const causeHints = async () => [...new Set((await hints()).map(([, , , hint, entry]) => `${hint} ${entry}`))];

describe('what is known of entries comes before what their balances suggest', () => {
  beforeEach(() => reconciled(LEDGER));

  test('an entry that vanished explains the break it leaves, also where its amount is small beside the next one', async () => {
    await reconciled(without('B0005'));
    expect(await causeHints()).toEqual(['vanished-entry B0005']);
    expect(await causes()).toEqual([
      [
        1,
        'Vanished entry B0005 explains it: the platform showed exactly that amount there, and shows it no longer ' +
          '(`daybook amendments`).',
      ],
    ]);
    await reconciled(LEDGER);
    expect(await hints()).toEqual([]);
  });

  test('entries that vanished explain a break together, and two breaks apart', async () => {
    await reconciled(without('B0001', 'B0002'));
    expect(await causeHints()).toEqual(['vanished-entry null']);
    await reconciled(LEDGER);
    await reconciled(without('B0001', 'B0005'));
    expect(await causeHints()).toEqual(['vanished-entry B0001', 'vanished-entry B0005']);
    expect(await causes()).toHaveLength(2);
  });

  test('a vanished entry is named where it is only part of the break', async () => {
    await reconciled(shown(without('B0005'), { B0006: { credit: null, debit: '41.20' } }));
    expect(await causeHints()).toEqual(['several-changes null']);
    await reconciled(LEDGER);
    await reconciled(without('B0005'), DAYS.slice(1));
    await reconciled([...without('B0005')].map((entry) => entry));
    expect(await causeHints()).toEqual(['vanished-entry B0005']);
  });

  test.each<[string, Partial<LedgerEntry>]>([
    ['amount', { credit: '12.54' }],
    ['side', { credit: null, debit: '12.53' }],
    ['balance', { balance: '655.21' }],
    ['amount and balance', { credit: '12.54', balance: addAmounts(LEDGER[5]!.balance, '0.01') }],
    ['currency', { currency: 'EUR' }],
    ['time', stamp('2026-03-01 10:30:00')],
    ['time and amount', { ...stamp('2026-03-01 10:30:00'), credit: '99.99' }],
  ])('an amended %s explains all breaks it makes', async (_, change) => {
    await reconciled(shown(LEDGER, { B0005: change }));
    const known = await hints();
    expect(known.length).toBeGreaterThan(0);
    expect(
      known.filter(([currency]) => currency === 'USD').map(([, , , hint, entry]) => `${hint} ${entry}`),
    ).toEqual(known.filter(([currency]) => currency === 'USD').map(() => 'amended-entry B0005'));
  });

  test('another type of the same entry explains nothing', async () => {
    await reconciled(shown(without('B0001'), { B0002: { transactionType: '99' } }));
    expect(await causeHints()).toEqual(['vanished-entry B0001']);
  });
});
