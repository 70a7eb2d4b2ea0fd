/** Balances that follow one late, vanished or amended entry are told apart from balances that changed each on its own. */
import { expect, test } from 'vitest';
import { balanceSteps } from '../../src/ledger/moved-balances.ts';
import { addAmounts } from '../../src/ledger/money.ts';
import { accountEntries } from '../support/ledger-entries.ts';

const LEDGER = accountEntries(50_000, [
  ['2026-03-01 09:00:00', 10_050],
  ['2026-03-01 10:00:00', -2_525],
  ['2026-03-01 11:00:00', 6_110],
  ['2026-03-02 12:00:00', -737],
]);
const movedBy = (...by: readonly string[]) =>
  LEDGER.map((before, at) => ({
    before,
    after: { ...before, balance: addAmounts(before.balance, by[at]!) },
  })).filter((_, at) => by[at] !== '0');

test('balances off by one amount from an entry on are one step there', () => {
  const steps = balanceSteps(movedBy('0', '5.00', '5.00', '5.00'));
  expect(steps).toMatchObject([
    { first: { batchNo: LEDGER[1]!.batchNo }, by: '5.00', isOwn: false, moved: 3 },
  ]);
});

test('an entry whose own amount changed does not count among those that follow it', () => {
  const [first, ...later] = movedBy('0', '-5.00', '-5.00', '-5.00');
  const own = {
    before: first!.before,
    after: { ...first!.after, debit: addAmounts(first!.before.debit!, '5.00') },
  };
  expect(balanceSteps([own, ...later])).toMatchObject([{ by: '-5.00', isOwn: true, moved: 2 }]);
});

test('two entries make two steps, and one changed amount alone makes none', () => {
  expect(balanceSteps(movedBy('3.00', '3.00', '1.00', '1.00'))).toMatchObject([
    { by: '3.00', moved: 2 },
    { by: '-2.00', moved: 2 },
  ]);
  const [own] = movedBy('0', '-5.00', '0', '0');
  const debit = addAmounts(own!.before.debit!, '5.00');
  expect(balanceSteps([{ before: own!.before, after: { ...own!.after, debit } }])).toEqual([]);
});

test('balances that each moved by another amount follow nothing', () => {
  expect(balanceSteps(movedBy('1.00', '2.00', '3.00', '4.00'))).toEqual([]);
});
