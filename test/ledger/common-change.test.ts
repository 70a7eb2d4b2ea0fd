/** Many entries that the platform changed in one way are recognized by their contents before and after. */
import { expect, test } from 'vitest';
import { commonChange } from '../../src/ledger/common-change.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { subtractAmounts } from '../../src/ledger/money.ts';
import { accountEntries } from '../support/ledger-entries.ts';

const LEDGER = accountEntries(50_000, [
  ['2026-03-01 09:00:00', 10_050],
  ['2026-03-01 10:00:00', -2_525],
  ['2026-03-01 11:00:00', 6_110],
  ['2026-03-02 12:00:00', -737],
]);
const hundredfold = (amount: string): string => subtractAmounts(`${BigInt(amount.replace('.', ''))}.00`, '0');
const perhaps = (amount: string | null, change: (amount: string) => string): string | null =>
  amount === null ? null : change(amount);
const amounts = ({ credit, debit }: LedgerEntry, change: (amount: string) => string) => ({
  credit: perhaps(credit, change),
  debit: perhaps(debit, change),
});
const found = (change: (entry: LedgerEntry) => Partial<LedgerEntry>, count = LEDGER.length) =>
  commonChange(LEDGER.slice(0, count).map((before) => ({ before, after: { ...before, ...change(before) } })));
const whole = (amount: string): string => amount.replace(/\..*/, '.00');

test.each<[string, (entry: LedgerEntry) => Partial<LedgerEntry>]>([
  ['have another transaction type', () => ({ transactionType: 'X' })],
  ['have another currency code', () => ({ currency: 'EUR' })],
  [
    'have a timestamp 1 h later',
    (one) => ({ bookedAt: one.bookedAt.replace(':00:00', ':00:01'), bookedMs: one.bookedMs + 3_600_000 }),
  ],
  [
    'have a timestamp at midnight, without the time of day',
    (one) => ({ bookedAt: `${one.bookedAt.slice(0, 10)} 00:00:00` }),
  ],
  [
    'have amounts and balances 100 times as large',
    (one) => ({ ...amounts(one, hundredfold), balance: hundredfold(one.balance) }),
  ],
  ['have amounts 100 times as large, and the balances as before', (one) => amounts(one, hundredfold)],
  [
    'have amounts and balances rounded to fewer decimals',
    (one) => ({ ...amounts(one, whole), balance: whole(one.balance) }),
  ],
  ['have credit and debit swapped', (one) => ({ credit: one.debit, debit: one.credit })],
  ['have a balance of 0 now, with the amounts as before', () => ({ balance: '0.00' })],
  [
    'have the balance with the opposite sign, with the amounts as before',
    (one) => ({ balance: `-${one.balance}` }),
  ],
  [
    'have the balance before the entry now, where it was the one after it',
    (one) => ({ balance: subtractAmounts(one.balance, one.credit ?? `-${one.debit!}`) }),
  ],
])('%s', (what, change) => {
  expect(found(change)).toEqual({ count: LEDGER.length, what });
});

test('rounding is one change, also of entries whose amounts have no decimals to lose', () => {
  const ledger = accountEntries(50_033, [
    ['2026-03-01 09:00:00', 10_000],
    ['2026-03-01 10:00:00', -2_525],
    ['2026-03-01 11:00:00', 6_110],
    ['2026-03-02 12:00:00', -700],
  ]);
  const rounded = (before: LedgerEntry) => ({
    before,
    after: { ...before, ...amounts(before, whole), balance: whole(before.balance) },
  });
  expect(commonChange(ledger.map(rounded))).toEqual({
    count: 4,
    what: 'have amounts and balances rounded to fewer decimals',
  });
});

test('few entries, or entries that changed each in its own way, have nothing in common', () => {
  expect(found(() => ({ transactionType: 'X' }), 2)).toBeNull();
  let nth = 0;
  expect(
    found(
      (one) =>
        [{ transactionType: 'X' }, { balance: '0.00' }, amounts(one, whole), { currency: 'EUR' }][nth++]!,
    ),
  ).toBeNull();
});
